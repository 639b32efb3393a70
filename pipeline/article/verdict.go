package article

import (
	"fmt"
	"slices"
)

// Kind is the kind of a verdict.
type Kind uint8

// The kinds of verdict. The zero Kind is no verdict. Neither their numbers, which are stored, nor their names, which are published, ever
// change.
const (
	Unique   Kind = iota + 1 // repeats no earlier article in the window
	Near                     // a copy of an earlier article by the recipe's rule
	Exact                    // has the same normalised text as an earlier article
	Possible                 // resembles an earlier article, but not enough: published as unique, with a mark for people
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

// ParseKind returns the kind that has the name.
func ParseKind(name string) (Kind, error) {
	for k := Unique; k <= Possible; k++ {
		if k.String() == name {
			return k, nil
		}
	}
	return 0, fmt.Errorf("%q is no kind of verdict", name)
}

// Reason names the test that decided about two articles. Neither its numbers, which are stored, nor its names, which are published, ever
// change.
type Reason uint8

// The reasons.
const (
	ReasonNone     Reason = iota // no test: the verdict is Unique, or a text is empty
	ReasonDigest                 // the normalised texts are equal
	ReasonDistance               // the distance between the fingerprints
	ReasonOverlap                // the share of word pairs in common
	ReasonNumbers                // different numbers in the same context
	ReasonValues                 // the share of numbers in common
	ReasonLittle                 // too little text: a copy must be equal or, of a flash, contain it
	ReasonUnknown                // one of the signatures is missing or has an unknown version
	ReasonLead                   // the texts begin differently, and main words differ
	ReasonSubject                // each text is about a word that is no main word of the other, or many main words differ
	reasonCount
)

var reasonNames = [reasonCount]string{"none", "digest", "distance", "overlap", "numbers", "values", "little", "unknown", "lead", "subject"}

// String returns the reason as it stands in headers and metrics. It returns "unknown" for a number that this version does not know.
func (r Reason) String() string {
	if r >= reasonCount {
		r = ReasonUnknown
	}
	return reasonNames[r]
}

// ParseReason returns the reason that has the name.
func ParseReason(name string) (Reason, error) {
	if i := slices.Index(reasonNames[:], name); i >= 0 {
		return Reason(i), nil
	}
	return ReasonUnknown, fmt.Errorf("%q is no reason of a verdict", name)
}

// Verdict is the decision of an index about an article.
type Verdict struct {
	Kind Kind
	// Reason is the test that decided. ReasonNone for Unique.
	Reason Reason
	// Original is the earlier article that this one repeats or, if the kind is Possible, resembles. Of several it is one that the
	// publisher gave the same id, if there is one, and of these the one with the lowest ticket. Zero for Unique.
	Original Ref
	// Likeness is what the article has in common with its original. Zero for Unique.
	Likeness
	// Root is the article at the end of the chain of originals. It is no copy. For Unique and Possible it is the article itself.
	Root Ref
	// Distance is the Hamming distance to the original, in bits; 0 for Unique and Exact.
	Distance int
	// Destination is the topic of the article. It was chosen by the policy of the process that decided the article, and stays.
	Destination Destination
}

// HasOriginal says whether the article repeats or resembles an earlier one.
func (v *Verdict) HasOriginal() bool { return v.Kind != Unique && v.Kind != 0 }

// ExactVerdict is the verdict of an exact copy.
func ExactVerdict(original, root Ref) Verdict {
	return Verdict{
		Kind: Exact, Reason: ReasonDigest, Likeness: SameText, Original: original, Root: root, Destination: ToDuplicate,
	}
}
