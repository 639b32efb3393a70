package lookup

import (
	"slices"

	"echosieve/simhash"
)

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
