// Package lookup chooses the block values under which an index stores an article, and the block values that
// it looks up for an article. Indexes use it, and tools that explain why an index finds an article or does
// not.
package lookup

import (
	"cmp"
	"slices"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

// StoredAnchors is the number of an article's foremost anchors under which it is stored: of its wording, of
// its beginning, and of its numbers. One more anchor finds more copies with fewer probes, and takes as much
// memory as one more block.
const StoredAnchors = 3

// Plan says which block values belong to an article. The zero value is not valid. Safe for concurrent use.
type Plan struct {
	Layout simhash.Layout // of the fingerprint's blocks
	Probes int            // values looked up for each block besides its own, the likeliest first

	loneDistance, maxDistance int // see Reach; bits
}

// New returns the plan of an index for a recipe's Search. Blocks are blockBits wide; with 0, the blocks
// together make up the fingerprint.
func New(s article.Search, blockBits int) Plan {
	return Plan{Layout: simhash.Layout{Count: s.Blocks, Bits: blockBits}, Probes: s.Probes,
		loneDistance: min(cmp.Or(s.LoneDistance, s.MaxDistance), s.MaxDistance), maxDistance: s.MaxDistance}
}

// AppendStored appends to dst the blocks under which an article is stored: the blocks of its fingerprint and
// of its foremost anchors.
func (p *Plan) AppendStored(dst []simhash.Block, a *article.Article) []simhash.Block {
	return p.appendAnchors(p.Layout.AppendBlocks(dst, a.Fingerprint), a.Anchors[:min(StoredAnchors, len(a.Anchors))])
}

// AppendLookups appends to dst the blocks that are looked up for an article: its own, the probes and its
// anchors. An article without Sums has no probes.
func (p *Plan) AppendLookups(dst []simhash.Block, a *article.Article) []simhash.Block {
	if a.Sums == nil || p.Probes == 0 {
		dst = p.Layout.AppendBlocks(dst, a.Fingerprint)
	} else {
		dst = p.Layout.AppendProbes(dst, a.Fingerprint, a.Sums, p.Probes)
	}
	return p.appendAnchors(dst, a.Anchors)
}

// Width returns the width of the values of a block, in bits. Anchors are one bit wider than the first block,
// because an article is stored under three anchors: the lists of anchors would be three times as long as
// those of blocks, and are 1.5 times as long.
func (p *Plan) Width(block int) int {
	if block < p.Layout.Count {
		return p.Layout.Width(block)
	}
	return min(64, p.Layout.Width(0)+1)
}

// Cut returns which bits of a fingerprint the value of a block holds. An anchor holds none.
func (p *Plan) Cut(block int) simhash.Cut {
	if block < p.Layout.Count {
		return p.Layout.Cut(block)
	}
	return simhash.Cut{}
}

// appendAnchors appends anchors as values of one more block.
func (p *Plan) appendAnchors(dst []simhash.Block, anchors []uint64) []simhash.Block {
	unused := 64 - p.Width(p.Layout.Count)
	for _, a := range anchors {
		dst = append(dst, simhash.Block{Index: p.Layout.Count, Value: a >> unused})
	}
	return dst
}

// Reach returns the largest Hamming distance, in bits, at which a fingerprint becomes a candidate if no other
// list of the article holds it. The lists of anchors have the block number Layout.Count. A fingerprint in two
// lists is a candidate up to the largest distance of the recipe, see Filter.
//
// One equal block says little. With 1 million articles stored and 16 bits in a block, the lists of an article
// hold about 230 fingerprints by chance: 3 of them lie within 16 bits, 0.1 within 12. Such candidates cost
// reads, more of them the more articles are stored, and if there are more than the index fetches
// (max_candidates), they displace copies that lie farther away. Two equal blocks hardly occur by chance, and
// nearly all copies beyond 12 bits have two, or an anchor. An equal anchor says more than a block: of the 140
// fingerprints that share the value of an anchor by chance, at most one lies within 21 bits.
func (p *Plan) Reach(block int) int {
	if block < p.Layout.Count {
		return p.loneDistance
	}
	return p.maxDistance
}

// Judge says what the later of two articles is to the earlier one if a look-up finds it, as an index does: by
// the rule, but an article that is not InReach is different, with ReasonDistance.
func (p *Plan) Judge(rule *article.Rule, later, earlier *article.Article) article.Judgement {
	j := rule.Compare(later, earlier)
	if j.Kind != 0 && !p.InReach(later, earlier) {
		return article.Judgement{Reason: article.ReasonDistance}
	}
	return j
}

// InReach says whether the distance between two articles is within the reach of one list, or whether it is
// within that of the lists of the later article that hold the earlier one.
func (p *Plan) InReach(later, earlier *article.Article) bool {
	distance := simhash.Distance(later.Fingerprint, earlier.Fingerprint)
	if distance <= p.loneDistance || distance > p.maxDistance {
		return distance <= p.maxDistance
	}
	filter := p.NewFilter()
	return slices.ContainsFunc(p.Lookups(later, earlier), func(l Lookup) bool {
		return l.Found && filter.Accepts(l.Block, earlier.Fingerprint, distance)
	})
}

// Finds says whether the look-ups for the later of two articles find the earlier one, whatever the distance
// between them. Little text is found by its whole fingerprint only.
func (p *Plan) Finds(later, earlier *article.Article) bool {
	if later.LittleText || earlier.LittleText {
		return later.Fingerprint == earlier.Fingerprint
	}
	return slices.ContainsFunc(p.Lookups(later, earlier), func(l Lookup) bool { return l.Found })
}

// Lookup is one look-up for an article, for people to look at.
type Lookup struct {
	Block int // whose values are looked up, from 0; Layout.Count for anchors
	// of the look-up in its block: 0 is the article's own value, the others are probes; of an anchor, its number from 0
	Number int
	Found  bool // the earlier article is stored under this value, whatever the distance
}

// Lookups lists the look-ups for the later of two articles, in their order.
func (p *Plan) Lookups(later, earlier *article.Article) []Lookup {
	stored := p.AppendStored(make([]simhash.Block, 0, 16), earlier)
	blocks := p.AppendLookups(make([]simhash.Block, 0, 256), later)
	lookups := make([]Lookup, len(blocks))
	for i, b := range blocks {
		lookups[i] = Lookup{Block: b.Index, Found: slices.Contains(stored, b)}
		if i > 0 && blocks[i-1].Index == b.Index {
			lookups[i].Number = lookups[i-1].Number + 1
		}
	}
	return lookups
}

// Filter chooses, among the fingerprints in the lists that are looked up for one article in one slice, the
// candidates. Not safe for concurrent use.
type Filter struct {
	plan *Plan
	met  map[simhash.Fingerprint]struct{} // in one list so far, and beyond its reach
}

// NewFilter returns a filter for an article.
func (p *Plan) NewFilter() *Filter {
	return &Filter{plan: p, met: map[simhash.Fingerprint]struct{}{}}
}

// Reset makes the filter ready for another article or slice.
func (f *Filter) Reset() { clear(f.met) }

// Accepts says whether a fingerprint in a list of the block, at that Hamming distance in bits, is a
// candidate: it is within Plan.Reach of the list, or within the largest distance of the recipe and was
// offered before, from another list. Lists hold each fingerprint once.
func (f *Filter) Accepts(block int, fp simhash.Fingerprint, distance int) bool {
	return distance <= f.plan.maxDistance && (distance <= f.plan.Reach(block) || f.again(fp))
}

// again says whether the fingerprint was met before.
func (f *Filter) again(fp simhash.Fingerprint) bool {
	_, met := f.met[fp]
	if !met {
		f.met[fp] = struct{}{}
	}
	return met
}

// Bounds that keep the work of an article small in a flood of articles on one template.
const (
	// MaxMembers bounds a block list to the newest fingerprints. Articles on one template, or a phrase that
	// everybody uses (anchors are samples of the wording), make one list ever longer, and all other articles
	// would read more and more. Later articles do not find the older ones through this list. The newest stay,
	// because most copies follow their original within hours.
	MaxMembers = 512
	// MaxEntries is the number of entries of one fingerprint in a slice that are offered as originals.
	// Further ones are overflow entries: replays and exact repeats find them.
	MaxEntries = 8
)

// Candidate is a stored fingerprint that the look-ups for an article found, see Filter.
type Candidate struct {
	Slice       int64
	Fingerprint simhash.Fingerprint
	Distance    int // bits
}

// Nearest selects the nearest of the candidates that it is offered: each once, and at most `most` of them. So
// its memory, and the number of fields that are fetched afterwards, do not depend on the length of the lists.
// Of equally near candidates it keeps the first ones offered. Not safe for concurrent use. Call Reset before
// each article.
type Nearest struct {
	filter *Filter
	slice  int64 // for whose lists the filter works
	most   int
	cutoff int  // largest distance in bits that is still accepted; shrinks once `most` candidates are kept
	kept   int  // number of candidates in byBits
	Capped bool // a candidate was left out
	byBits [65][]Candidate
}

// NewNearest returns a Nearest that selects at most so many candidates.
func NewNearest(plan *Plan, most int) *Nearest {
	return &Nearest{filter: plan.NewFilter(), most: most}
}

// Reset forgets all candidates.
func (n *Nearest) Reset() {
	for d := range n.byBits {
		n.byBits[d] = n.byBits[d][:0]
	}
	n.cutoff, n.kept, n.Capped = len(n.byBits)-1, 0, false
	n.filter.Reset()
}

// Offer offers the fingerprints of a list of the block that is looked up for the fingerprint fp. All lists of
// a slice are offered one after another.
func (n *Nearest) Offer(slice int64, block int, list []simhash.Fingerprint, fp simhash.Fingerprint) {
	if slice != n.slice {
		n.slice = slice
		n.filter.Reset()
	}
	room := n.room()
	for _, other := range list {
		d := simhash.Distance(fp, other)
		if d > room { // in a flood, nearly all
			continue
		}
		switch {
		case !n.filter.Accepts(block, other, d):
		case d > n.cutoff:
			n.Capped = true
		default:
			n.offer(Candidate{slice, other, d})
		}
		room = n.room()
	}
}

// room returns the largest distance at which a fingerprint can change anything: below the cutoff once `most`
// candidates are kept and one was left out.
func (n *Nearest) room() int {
	if n.Capped && n.kept == n.most {
		return n.cutoff - 1
	}
	return len(n.byBits) - 1
}

// offer accepts a candidate within the cutoff, unless it is kept already or `most` candidates are at least as
// near. A candidate that was removed for a nearer one cannot come back: from then on there is no room at its
// distance.
func (n *Nearest) offer(c Candidate) {
	if slices.Contains(n.byBits[c.Distance], c) {
		return
	}
	if n.kept == n.most {
		n.Capped = true
		if c.Distance == n.cutoff {
			return
		}
		last := len(n.byBits[n.cutoff]) - 1
		n.byBits[n.cutoff] = n.byBits[n.cutoff][:last]
		n.kept--
	}
	n.byBits[c.Distance] = append(n.byBits[c.Distance], c)
	n.kept++
	for n.kept == n.most && len(n.byBits[n.cutoff]) == 0 {
		n.cutoff--
	}
}

// Take returns a copy of the candidates, the nearest first.
func (n *Nearest) Take() []Candidate {
	if n.kept == 0 {
		return nil
	}
	candidates := make([]Candidate, 0, n.kept)
	for d := range n.byBits {
		candidates = append(candidates, n.byBits[d]...)
	}
	return candidates
}
