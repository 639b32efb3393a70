package article

import (
	"echosieve/simhash"
)

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
// fingerprints in bits and by their signatures. The distance is a parameter although it is within
// Rule.MaxDistance, because a check may allow less: the recipe news allows the larger distances only where
// one article contains the other.
//
// If later and earlier are exchanged, the kind and the reason stay and the relation is mirrored. A check
// takes constant time and is safe for concurrent use. It is called neither for little text nor for articles
// with equal digests.
type SecondCheck func(distance int, later, earlier []byte) Judgement

// Judgement says what a later article is to an earlier one: a kind, Exact, Near or Possible, or zero for
// different articles, and the test that decided. Different articles have no likeness.
type Judgement struct {
	Kind   Kind
	Reason Reason
	Likeness
	SameID bool // the publisher gave both the same id
}

// Compare says what the later of two articles is to the earlier one, provided that both are inside one window
// and that a look-up finds the earlier one. If they are exchanged, the kind and the reason stay and the
// relation is mirrored. Articles without any text are nothing to each other, although their digests are
// equal.
func (r *Rule) Compare(later, earlier *Article) Judgement {
	j := r.compareTexts(later, earlier)
	if j.Kind == 0 || !sameID(later, earlier) {
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
	case later.LittleText || earlier.LittleText:
		return Judgement{Reason: ReasonLittle}
	case distance > r.MaxDistance:
		return Judgement{Reason: ReasonDistance}
	case r.Check == nil:
		return Judgement{Kind: Near, Reason: ReasonDistance}
	default:
		return r.Check(distance, later.Signature, earlier.Signature)
	}
}

// sameID says whether the publisher gave two articles the same id. Coordinates that stand in for a missing id
// are no such id.
func sameID(a, b *Article) bool {
	return a.ID == b.ID && a.ID != "" && a.ID != a.String() && b.ID != b.String()
}
