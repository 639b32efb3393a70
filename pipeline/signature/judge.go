package signature

import "fmt"

// Thresholds decide what counts as a copy; see DefaultThresholds.
type Thresholds struct {
	Near           float64 `koanf:"near" help:"Least similarity of a copy: the share of word pairs in common, 0 to 1."`
	Possible       float64 `koanf:"possible" help:"Least similarity of an article that is marked as a possible copy."`
	Contradictions float64 `koanf:"contradictions" help:"Share of different numbers in the same places from which an article is no copy."`
	Values         float64 `koanf:"values" help:"Least share of numbers in common."`
	Sure           float64 `koanf:"sure" help:"Similarity from which one different number in the same place is forgiven, as a correction, unless the text is short."`
	SureValues     float64 `koanf:"sure_values" help:"Similarity from which one number that the other lacks is forgiven, if no numbers in the same place differ."`
	ShortPairs     float64 `koanf:"short_pairs" help:"A text with fewer pairs of words is short: nothing is forgiven, and the next two are asked of it."`
	ShortNear      float64 `koanf:"short_near" help:"Least similarity of short texts."`
	ShortValues    float64 `koanf:"short_values" help:"Least share of numbers in common of short texts."`
}

// Validate reports the first threshold that makes no sense.
func (t Thresholds) Validate() error {
	for _, f := range []struct {
		name string
		val  float64
	}{
		{"near", t.Near},
		{"possible", t.Possible},
		{"contradictions", t.Contradictions},
		{"values", t.Values},
		{"sure", t.Sure},
		{"sure_values", t.SureValues},
		{"short_near", t.ShortNear},
		{"short_values", t.ShortValues},
	} {
		if !(f.val >= 0 && f.val <= 1) {
			return fmt.Errorf("%s is %v, must be between 0 and 1", f.name, f.val)
		}
	}
	if t.Possible > t.Near {
		return fmt.Errorf("possible is %v, must not be above near, %v", t.Possible, t.Near)
	}
	if !(t.ShortPairs >= 0) {
		return fmt.Errorf("short_pairs is %v, must not be negative", t.ShortPairs)
	}
	return nil
}

// DefaultThresholds returns thresholds chosen on labelled pairs of Chinese and English news articles.
func DefaultThresholds() Thresholds {
	return Thresholds{
		Near: 0.435, Possible: 0.3, Contradictions: 0.14, Values: 0.6, Sure: 0.85, SureValues: 0.75,
		ShortPairs: 80, ShortNear: 0.62, ShortValues: 0.8,
	}
}

// Verdict says whether two articles are copies of each other.
type Verdict uint8

// The verdicts. Only Near is a copy; Possible is for people to look at.
const (
	Different Verdict = iota
	Possible
	Near
)

// Reason names the test that decided.
type Reason string

// The reasons.
const (
	ReasonUnknown Reason = "unknown" // no signature to compare
	ReasonOverlap Reason = "overlap" // too few or enough common word bigrams
	ReasonNumbers Reason = "numbers" // other numbers in the same places
	ReasonValues  Reason = "values"  // too few numbers in common
	ReasonShort   Reason = "short"   // a copy, were it not short
)

// manyValues is the number of numbers in common that outweigh one that differs, even in a short text: results and
// dividends are short and full of figures.
const manyValues = 8

// Judge decides by a comparison. Both articles are taken to be candidates: their fingerprints are near. Without
// information the verdict is Different.
func Judge(c Comparison, t Thresholds) (Verdict, Reason) {
	short := c.Bigrams < t.ShortPairs
	contradictions, common, leastValues := c.Contradictions, c.CommonValues, t.Values
	if short {
		leastValues = t.ShortValues
	}
	// In texts nearly the same, one other number is rather a correction, or the date of another edition, than another
	// report.
	others := c.SharedContexts-contradictions >= 2 && !short && c.J >= t.Sure
	many := common >= manyValues && common >= c.LeastValues-1 && c.J >= t.SureValues
	if contradictions > 0 && (others || many) {
		contradictions--
	}
	if c.J >= t.SureValues && c.Contradictions == 0 && common == c.LeastValues-1 && (!short || common > 0) {
		common++
	}
	switch {
	case !c.Known:
		return Different, ReasonUnknown
	case c.J < t.Possible:
		return Different, ReasonOverlap
	case contradictions > 0 && float64(contradictions) >= t.Contradictions*float64(c.SharedContexts):
		return Different, ReasonNumbers
	case float64(common) < leastValues*float64(c.LeastValues):
		return Possible, ReasonValues
	case c.J < t.Near:
		return Possible, ReasonOverlap
	case short && c.J < t.ShortNear:
		return Possible, ReasonShort
	}
	return Near, ReasonOverlap
}
