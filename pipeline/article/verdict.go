package article

// Kind is a verdict's kind.
type Kind uint8

// The kinds of verdict. The zero Kind is not a verdict. Their numbers are stored and their names published: neither changes.
const (
	Unique   Kind = iota + 1 // nobody published this article before within the window
	Near                     // a copy of another article, as far as the recipe's rule can tell
	Exact                    // another article has the same normalised text
	Possible                 // looks like another article but is treated as unique: people may want to look at both
)

// IsCopy says whether the verdict is that of a copy: Near or Exact.
func (k Kind) IsCopy() bool { return k == Near || k == Exact }

// String returns the kind as it stands in headers and metrics: "unique", "near", "exact" or "possible".
func (k Kind) String() string {
	switch k {
	case Unique:
		return "unique"
	case Near:
		return "near"
	case Exact:
		return "exact"
	case Possible:
		return "possible"
	default:
		return "none"
	}
}

// Reason names the test that decided about two articles. Its numbers are stored and its names published: neither changes.
type Reason uint8

// The reasons.
const (
	ReasonNone     Reason = iota // nothing to decide
	ReasonDigest                 // the normalised texts are equal
	ReasonDistance               // the distance between the fingerprints
	ReasonOverlap                // the share of word pairs in common
	ReasonNumbers                // different numbers stand in the same places
	ReasonValues                 // the share of numbers in common
	ReasonLittle                 // little text: only an equal text is a copy, or, of a flash, one that contains it
	ReasonShort                  // would be a copy, but the text is too short for this much overlap to prove it
	ReasonUnknown                // one of the signatures is missing or has an unknown version
	ReasonLead                   // the texts begin differently and have no number in common
	ReasonOpposite               // something rises in one text that falls in the other
	reasonCount
)

var reasonNames = [reasonCount]string{"none", "digest", "distance", "overlap", "numbers", "values", "little", "short", "unknown", "lead", "opposite"}

// String returns the reason as it stands in headers and metrics; "unknown" for a number that is none of ours.
func (r Reason) String() string {
	if r >= reasonCount {
		r = ReasonUnknown
	}
	return reasonNames[r]
}

// Verdict is what an index answers about an article.
type Verdict struct {
	Kind Kind
	// Reason is the test that decided; ReasonNone for Unique.
	Reason Reason
	// Original is the earlier article that this one repeats, or, if Possible, looks like; of several, the one with
	// the lowest ticket. Zero for Unique.
	Original Ref
	// Root is the article at the end of the chain of originals, which is no copy, as far as known when the
	// verdict was reached. For Unique and Possible it is the article itself.
	Root Ref
	// Distance is the Hamming distance to the original, in bits; 0 for Unique and Exact.
	Distance int
}
