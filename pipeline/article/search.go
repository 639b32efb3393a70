package article

import (
	"slices"

	"echosieve/simhash"
)

// Search says how an index finds the articles that an article may repeat, and what it makes of those it finds. It
// comes with the recipe.
type Search struct {
	// Layout is how fingerprints are cut into blocks; articles are stored under each. The recipe leaves the width
	// open.
	Layout simhash.Layout
	// Probes is the number of values looked up for each block besides its own, the likeliest first.
	Probes int
	// MaxDistance is the largest Hamming distance at which an article found becomes a candidate, in bits.
	MaxDistance int
	// Judge is the second check of each candidate. Nil: every candidate is a near copy.
	Judge Judge
}

// Judge says what the later of two articles is to the earlier one, by their distance in bits and their signatures.
// It is symmetric, takes constant time and is safe for concurrent use. The index calls it neither for little text nor
// for articles with equal digests.
type Judge func(distance int, a, b []byte) Judgement

// Judgement is a kind, Near or Possible or zero for no relation, and the test that decided.
type Judgement struct {
	Kind   Kind
	Reason Reason
}

// StoredAnchors is the number of an article's foremost anchors under which it is stored: each more finds more, with fewer
// probes, and takes as much memory as a block.
const StoredAnchors = 2

// AppendPlaces appends the blocks under which an article is stored: those of its fingerprint and of its foremost anchors.
func (s *Search) AppendPlaces(dst []simhash.Block, fp simhash.Fingerprint, anchors []uint64) []simhash.Block {
	return s.appendAnchors(s.Layout.AppendBlocks(dst, fp), anchors[:min(StoredAnchors, len(anchors))])
}

// AppendLooks appends the blocks to look into for an article: its own, the probes and its anchors.
func (s *Search) AppendLooks(dst []simhash.Block, fp simhash.Fingerprint, sums *simhash.Sums, anchors []uint64) []simhash.Block {
	if sums == nil || s.Probes == 0 {
		dst = s.Layout.AppendBlocks(dst, fp)
	} else {
		dst = s.Layout.AppendProbes(dst, fp, sums, s.Probes)
	}
	return s.appendAnchors(dst, anchors)
}

// appendAnchors appends anchors as values of one more block, as wide as the first one.
func (s *Search) appendAnchors(dst []simhash.Block, anchors []uint64) []simhash.Block {
	for _, a := range anchors {
		dst = append(dst, simhash.Block{Index: s.Layout.Count, Value: a >> (64 - s.Layout.Width(0))})
	}
	return dst
}

// Finds says whether looking for the later of two articles meets the earlier one, however far away.
func (s *Search) Finds(later, earlier *Article) bool {
	if later.LittleText || earlier.LittleText {
		return later.Fingerprint == earlier.Fingerprint
	}
	stored, looks := s.lists(later, earlier)
	return slices.ContainsFunc(looks, func(b simhash.Block) bool { return slices.Contains(stored, b) })
}

// lists returns the blocks under which the earlier article is stored and those into which the later one looks.
func (s *Search) lists(later, earlier *Article) (stored, looks []simhash.Block) {
	stored = s.AppendPlaces(make([]simhash.Block, 0, 16), earlier.Fingerprint, earlier.Anchors)
	looks = s.AppendLooks(make([]simhash.Block, 0, 256), later.Fingerprint, later.Sums, later.Anchors)
	return stored, looks
}

// Look is one look-up for an article.
type Look struct {
	Block int  // whose values are looked up, from 0; Layout.Count for anchors
	Place int  // of the value in the block's look-ups: 0 is the article's own, the others are probes; of the anchor, from 0
	Met   bool // it leads to the earlier article
}

// Looks lists the look-ups for the later of two articles, in their order, for people to look at.
func (s *Search) Looks(later, earlier *Article) []Look {
	stored, blocks := s.lists(later, earlier)
	looks := make([]Look, len(blocks))
	for i, b := range blocks {
		looks[i] = Look{Block: b.Index, Met: slices.Contains(stored, b)}
		if i > 0 && blocks[i-1].Index == b.Index {
			looks[i].Place = looks[i-1].Place + 1
		}
	}
	return looks
}

// Compare says what the later of two articles inside one window is to the earlier one, provided that a look-up Finds
// it. Articles without any text are nothing to each other.
func (s *Search) Compare(a, b *Article) Judgement {
	if a.Empty || b.Empty {
		return Judgement{}
	}
	return s.Decide(a, b)
}

// Decide says what the later of two articles inside one window is to the earlier one. It is symmetric.
func (s *Search) Decide(a, b *Article) Judgement {
	distance := simhash.Distance(a.Fingerprint, b.Fingerprint)
	switch {
	case a.Digest == b.Digest:
		return Judgement{Exact, ReasonDigest}
	case a.LittleText || b.LittleText:
		return Judgement{0, ReasonLittle}
	case distance > s.MaxDistance:
		return Judgement{0, ReasonDistance}
	case s.Judge == nil:
		return Judgement{Near, ReasonDistance}
	default:
		return s.Judge(distance, a.Signature, b.Signature)
	}
}
