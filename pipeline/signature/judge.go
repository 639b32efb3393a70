package signature

import "fmt"

// Thresholds decide what counts as a copy; see DefaultThresholds.
type Thresholds struct {
	Near           float64 `koanf:"near" help:"Least similarity of a copy: the share of word pairs in common, 0 to 1."`
	Possible       float64 `koanf:"possible" help:"Least similarity of an article that is marked as a possible copy."`
	Contradictions float64 `koanf:"contradictions" help:"Share of different numbers in the same places from which an article is no copy."`
	Values         float64 `koanf:"values" help:"Least share of numbers in common."`
	LittleBigrams  float64 `koanf:"little_bigrams" help:"A text with fewer pairs of words is short: no number may differ, and the next two are asked of it."`
	LittleNear     float64 `koanf:"little_near" help:"Least similarity of short texts."`
	LittleValues   float64 `koanf:"little_values" help:"Least share of numbers in common of short texts."`
}

// Validate reports the first threshold that makes no sense.
func (t Thresholds) Validate() error {
	for _, f := range []struct {
		name string
		val  float64
	}{
		{"near", t.Near}, {"possible", t.Possible}, {"contradictions", t.Contradictions}, {"values", t.Values},
		{"little_near", t.LittleNear}, {"little_values", t.LittleValues},
	} {
		if !(f.val >= 0 && f.val <= 1) {
			return fmt.Errorf("%s is %v, must be between 0 and 1", f.name, f.val)
		}
	}
	if t.Possible > t.Near {
		return fmt.Errorf("possible is %v, must not be above near, %v", t.Possible, t.Near)
	}
	if !(t.LittleBigrams >= 0) {
		return fmt.Errorf("little_bigrams is %v, must not be negative", t.LittleBigrams)
	}
	return nil
}

// DefaultThresholds returns thresholds chosen on labelled pairs of Chinese and English news articles.
func DefaultThresholds() Thresholds {
	return Thresholds{
		Near: 0.42, Possible: 0.3, Contradictions: 0.25, Values: 0.6,
		LittleBigrams: 40, LittleNear: 0.7, LittleValues: 0.75,
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

// Reason names the test that decided. Its values are part of the product's output and do not change.
type Reason string

// The reasons.
const (
	ReasonUnknown Reason = "unknown" // no signature to compare
	ReasonOverlap Reason = "overlap" // too few or enough common word bigrams
	ReasonNumbers Reason = "numbers" // other numbers in the same places
	ReasonValues  Reason = "values"  // too few numbers in common
	ReasonLittle  Reason = "little"  // a copy, were it not little text
)

// Judge decides by a comparison. Both articles are taken to be candidates: their fingerprints are near. Without
// information the verdict is Different.
func Judge(c Comparison, t Thresholds) (Verdict, Reason) {
	little := c.Bigrams < t.LittleBigrams
	switch {
	case !c.Known:
		return Different, ReasonUnknown
	case c.J < t.Possible:
		return Different, ReasonOverlap
	case c.Contradictions > 0 && (little || float64(c.Contradictions) >= t.Contradictions*float64(c.SharedContexts)):
		return Different, ReasonNumbers
	case c.Values < t.Values || little && c.Values < t.LittleValues:
		return Possible, ReasonValues
	case c.J < t.Near:
		return Possible, ReasonOverlap
	case little && c.J < t.LittleNear:
		return Possible, ReasonLittle
	}
	return Near, ReasonOverlap
}
