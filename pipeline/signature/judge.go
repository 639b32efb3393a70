package signature

// Thresholds decide what counts as a copy; see DefaultThresholds.
type Thresholds struct {
	Near           float64 // least J of a copy
	Possible       float64 // least J of a look-alike that may be a copy
	Contradictions float64 // share of shared contexts with different numbers from which it is no copy
	Values         float64 // least Values of a copy
	LittleBigrams  float64 // a shorter text than this is little text, which must
	LittleNear     float64 // have at least this J,
	LittleValues   float64 // at least these Values and no contradiction at all
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
