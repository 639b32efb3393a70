package article

import "echosieve/simhash"

// Search is what a recipe requires of an index: how many look-ups to make for an article, and how to judge the articles that they find.
type Search struct {
	Rule
	// Blocks is the number of blocks into which a fingerprint is cut, 1 to 64. The index chooses their width, because the best width
	// depends on how many articles it holds.
	Blocks int
	// Probes is the number of values that are looked up for each block besides its own, 0 to simhash.MaxProbes. More probes find more
	// copies and cost more look-ups.
	Probes int
	// BlockDistance is the largest Hamming distance, in bits, of a candidate that only blocks find, their own value or a probe, and no
	// anchor; 0: Rule.MaxDistance.
	BlockDistance int
}

// Rule says what one of two articles is to the other.
type Rule struct {
	// MaxDistance is the largest Hamming distance between the fingerprints of two articles that are compared further, in bits.
	MaxDistance int
	// Check decides about the articles within MaxDistance. Nil: all of them are near copies.
	Check SecondCheck
}

// SecondCheck says what one of two articles is to the other, by the distance of their fingerprints in bits and by their signatures.
// The distance is a parameter although it is within Rule.MaxDistance, because a check may allow less: the recipe news allows the
// larger distances only where one article contains the other.
//
// A check is symmetric, takes constant time and is safe for concurrent use. It is called neither for little text nor for articles with
// equal digests.
type SecondCheck func(distance int, a, b []byte) Judgement

// Judgement is a kind, Exact, Near or Possible, or zero for no relation, and the test that decided.
type Judgement struct {
	Kind   Kind
	Reason Reason
}

// Compare says what one of two articles is to the other, provided that both are inside one window and that a look-up finds the earlier
// one. It is symmetric. Articles without any text are nothing to each other, although their digests are equal.
func (r *Rule) Compare(a, b *Article) Judgement {
	distance := simhash.Distance(a.Fingerprint, b.Fingerprint)
	switch {
	case a.Empty || b.Empty:
		return Judgement{}
	case a.Digest == b.Digest:
		return Judgement{Exact, ReasonDigest}
	case a.LittleText || b.LittleText:
		return Judgement{0, ReasonLittle}
	case distance > r.MaxDistance:
		return Judgement{0, ReasonDistance}
	case r.Check == nil:
		return Judgement{Near, ReasonDistance}
	default:
		return r.Check(distance, a.Signature, b.Signature)
	}
}
