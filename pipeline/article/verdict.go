package article

import (
	"fmt"
	"slices"
	"strconv"

	"echosieve/simhash"
)

// Kind is the kind of a verdict.
type Kind uint8

// The kinds of verdict. The zero Kind is no verdict. Neither their numbers, which are stored, nor their
// names, which are published, ever change.
const (
	Unique Kind = iota + 1 // repeats no earlier article in the window
	Near                   // a copy of an earlier article by the recipe's rule
	Exact                  // has the same normalised text as an earlier article
	// resembles an earlier article, but not enough: published as unique, with a mark for people.
	Possible
)

// IsCopy says whether the verdict is that of a copy: Near or Exact.
func (k Kind) IsCopy() bool { return k == Near || k == Exact }

var kindNames = []string{"none", "unique", "near", "exact", "possible"}

// String returns the kind as it stands in headers and metrics: "unique", "near", "exact" or "possible".
func (k Kind) String() string { return nameOf(k, kindNames, 0) }

// ParseKind returns the kind that has the name.
func ParseKind(name string) (Kind, error) {
	return parse[Kind](name, kindNames[1:], 1, "kind of verdict")
}

// nameOf returns the name of a value, that of unknown for a number that this version does not know.
func nameOf[T ~uint8](value T, names []string, unknown T) string {
	if int(value) >= len(names) {
		value = unknown
	}
	return names[value]
}

// parse returns the value that has the name; the first of the names is that of the value first.
func parse[T ~uint8](name string, names []string, first T, what string) (T, error) {
	if i := slices.Index(names, name); i >= 0 {
		return first + T(i), nil
	}
	return 0, fmt.Errorf("%q is no %s", name, what)
}

// Reason names the test that decided about two articles. Neither its numbers, which are stored, nor its
// names, which are published, ever change.
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
	// each text is about a word that is no main word of the other, or many main words differ.
	ReasonSubject
	ReasonPublisher // one publisher published both as two articles
)

var reasonNames = []string{"none", "digest", "distance", "overlap", "numbers", "values", "little",
	"unknown", "lead", "subject", "publisher"}

// String returns the reason as it stands in headers and metrics. It returns "unknown" for a number that this
// version does not know.
func (r Reason) String() string { return nameOf(r, reasonNames, ReasonUnknown) }

// ParseReason returns the reason that has the name.
func ParseReason(name string) (Reason, error) {
	return parse[Reason](name, reasonNames, 0, "reason of a verdict")
}

// Verdict is the decision of an index about an article.
type Verdict struct {
	Kind Kind
	// Reason is the test that decided. ReasonNone for Unique.
	Reason Reason
	// Original is the earlier article that this one repeats or, if the kind is Possible, resembles. Of
	// several it is one that the publisher gave the same id, if there is one, and of these the one with the
	// lowest ticket. Zero for Unique.
	Original Ref
	// Likeness is what the article has in common with its original. Zero for Unique.
	Likeness
	// Root is the article at the end of the chain of originals. It is no copy. For Unique and Possible it is
	// the article itself.
	Root Ref
	// Distance is the Hamming distance to the original, in bits; 0 for Unique and Exact.
	Distance int
	// Destination is the topic of the article. It was chosen by the policy of the process that decided the
	// article, and stays.
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

// Relation says how the texts of an article and of its original lie to each other. Neither its numbers, which
// are stored, nor its names, which are published, ever change.
type Relation uint8

// The relations of a later article to an earlier one.
const (
	RelationNone Relation = iota // unknown: there is no original, or the recipe does not tell
	Equal                        // neither has words of its own, as far as the rule tells
	Contained                    // the later article is contained in the earlier one
	Extends                      // the later article contains the earlier one and has more
	Revises                      // the id is the same, or one figure was corrected in otherwise the same text
	Overlaps                     // each has words that the other lacks
)

var relationNames = []string{"none", "equal", "contained", "extends", "revises", "overlaps"}

// Relations returns all relations, in the order of their numbers.
func Relations() []Relation {
	return []Relation{RelationNone, Equal, Contained, Extends, Revises, Overlaps}
}

// String returns the relation as it stands in headers and metrics. It returns "none" for a number that this
// version does not know.
func (r Relation) String() string { return nameOf(r, relationNames, RelationNone) }

// ParseRelation returns the relation that has the name.
func ParseRelation(name string) (Relation, error) {
	return parse[Relation](name, relationNames, 0, "relation")
}

// Share is a share in percent, 0 to 100.
type Share uint8

// NewShare rounds a share between 0 and 1 to percent.
func NewShare(share float64) Share { return Share(100*max(0, min(share, 1)) + 0.5) }

// String returns the share as it stands in headers: "0.83".
func (s Share) String() string { return fmt.Sprintf("%d.%02d", s/100, s%100) }

// Float returns the share as a number between 0 and 1.
func (s Share) Float() float64 { return float64(s) / 100 }

// ParseShare reads the form that String returns.
func ParseShare(s string) (Share, error) {
	share, err := strconv.ParseFloat(s, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("%q is no share between 0 and 1", s)
	}
	return NewShare(share), nil
}

// Likeness is what two articles have in common. The shares are estimates; all of them are 0 where the recipe
// makes none.
type Likeness struct {
	Relation   Relation
	Similarity Share // word pairs that both articles have, of those that either has
	Contained  Share // of this article's word pairs, those that the original has
	Contains   Share // of the original's word pairs, those that this article has
}

// SameText is the likeness of articles with equal digests.
var SameText = Likeness{Relation: Equal, Similarity: 100, Contained: 100, Contains: 100}

// Search is what a recipe requires of an index: how many look-ups to make for an article, and how to judge
// the articles that they find.
type Search struct {
	Rule
	// Blocks is the number of blocks into which a fingerprint is cut, 1 to 64. The index chooses their width,
	// because the best width depends on how many articles it holds.
	Blocks int
	// Probes is the number of values that are looked up for each block besides its own, 0 to
	// simhash.MaxProbes. More probes find more copies and cost more look-ups.
	Probes int
	// LoneDistance is the largest Hamming distance, in bits, of a candidate that a single list finds, that of
	// a block, its own value or a probe, and not of an anchor; 0: Rule.MaxDistance.
	LoneDistance int
}

// Rule says what the later of two articles is to the earlier one.
type Rule struct {
	// MaxDistance is the largest Hamming distance between the fingerprints of two articles that are compared
	// further, in bits.
	MaxDistance int
	// Check decides about the articles within MaxDistance. Nil: all of them are near copies.
	Check SecondCheck
}

// SecondCheck says what the later of two articles is to the earlier one, by the distance of their
// fingerprints in bits, and by their signatures, times and ids. The distance is a parameter although it is within
// Rule.MaxDistance, because a check may allow less: the recipe news allows the larger distances only where
// one article contains the other.
//
// If later and earlier are exchanged, the kind and the reason stay and the relation is mirrored. A check
// takes constant time and is safe for concurrent use. It is called neither for little text nor for articles
// with equal digests.
type SecondCheck func(distance int, later, earlier *Article) Judgement

// Judgement says what a later article is to an earlier one: a kind, Exact, Near or Possible, or zero for
// different articles, and the test that decided. Different articles have no likeness.
type Judgement struct {
	Kind   Kind
	Reason Reason
	Likeness
	SameID bool // the publisher gave both the same id
	// Corrects says that the publisher of both corrects a number or a name.
	Corrects bool
}

// Compare says what the later of two articles is to the earlier one, provided that both are inside one window
// and that a look-up finds the earlier one. If they are exchanged, the kind and the reason stay and the
// relation is mirrored. Articles without any text are nothing to each other, although their digests are
// equal. A released article is nothing to earlier ones, but later ones are copies of it.
func (r *Rule) Compare(later, earlier *Article) Judgement {
	j := r.compareTexts(later, earlier)
	if j.Kind == 0 || !SameID(later, earlier) {
		return j
	}
	j.SameID = true
	if j.Kind != Exact {
		j.Relation = Revises
	}
	return j
}

// compareTexts is Compare without regard to ids.
func (r *Rule) compareTexts(later, earlier *Article) Judgement {
	distance := simhash.Distance(later.Fingerprint, earlier.Fingerprint)
	switch {
	case later.Empty || earlier.Empty:
		return Judgement{}
	case later.Digest == earlier.Digest:
		return Judgement{Kind: Exact, Reason: ReasonDigest, Likeness: SameText}
	case later.Released:
		return Judgement{}
	case later.LittleText || earlier.LittleText:
		return Judgement{Reason: ReasonLittle}
	case distance > r.MaxDistance:
		return Judgement{Reason: ReasonDistance}
	case r.Check == nil:
		return Judgement{Kind: Near, Reason: ReasonDistance}
	default:
		return r.Check(distance, later, earlier)
	}
}

// SameID says whether the publisher gave two articles the same id. Coordinates that stand in for a missing id
// are no such id.
func SameID(a, b *Article) bool {
	return a.ID == b.ID && a.ID != "" && a.ID != a.String() && b.ID != b.String()
}
