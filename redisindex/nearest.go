package redisindex

import (
	"slices"

	"echosieve/pipeline/lookup"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
)

// candidate is a stored fingerprint that the look-ups for an article found, see lookup.Filter.
type candidate struct {
	keyspace.FieldRef
	distance int // bits
	fetched  int // index of its entries in claim.fetched, once they are fetched
}

// nearest selects the nearest of the candidates that it is offered: each once, and at most `most` of them. So its memory, and the
// number of fields that are fetched afterwards, do not depend on the length of the lists. Of equally near candidates it keeps
// the first ones offered. Not safe for concurrent use. Call reset before each article.
type nearest struct {
	filter *lookup.Filter
	slice  int64 // for whose lists the filter works
	most   int
	cutoff int  // largest distance in bits that is still accepted; shrinks once `most` candidates are kept
	kept   int  // number of candidates in byBits
	capped bool // a candidate was left out
	byBits [65][]candidate
}

func newNearest(plan *lookup.Plan, most int) *nearest {
	return &nearest{filter: plan.NewFilter(), most: most}
}

// reset forgets all candidates.
func (n *nearest) reset() {
	for d := range n.byBits {
		n.byBits[d] = n.byBits[d][:0]
	}
	n.cutoff, n.kept, n.capped = len(n.byBits)-1, 0, false
	n.filter.Reset()
}

// offerList offers the fingerprints of a list that is looked up for the fingerprint fp. All lists of a slice are offered one after another.
func (n *nearest) offerList(ref keyspace.ListRef, list []simhash.Fingerprint, fp simhash.Fingerprint) {
	if ref.Slice != n.slice {
		n.slice = ref.Slice
		n.filter.Reset()
	}
	room := n.room()
	for _, other := range list {
		d := simhash.Distance(fp, other)
		if d > room { // in a flood, nearly all
			continue
		}
		switch {
		case !n.filter.Accepts(ref.Block, other, d):
		case d > n.cutoff:
			n.capped = true
		default:
			n.offer(candidate{FieldRef: keyspace.FieldRef{Slice: ref.Slice, Fingerprint: other}, distance: d})
		}
		room = n.room()
	}
}

// room returns the largest distance at which a fingerprint can change anything: below the cutoff once `most` candidates are kept and one was
// left out.
func (n *nearest) room() int {
	if n.capped && n.kept == n.most {
		return n.cutoff - 1
	}
	return len(n.byBits) - 1
}

// offer accepts a candidate within the cutoff, unless it is kept already or `most` candidates are at least as near. A candidate
// that was removed for a nearer one cannot come back: from then on there is no room at its distance.
func (n *nearest) offer(c candidate) {
	if slices.Contains(n.byBits[c.distance], c) {
		return
	}
	if n.kept == n.most {
		n.capped = true
		if c.distance == n.cutoff {
			return
		}
		last := len(n.byBits[n.cutoff]) - 1
		n.byBits[n.cutoff] = n.byBits[n.cutoff][:last]
		n.kept--
	}
	n.byBits[c.distance] = append(n.byBits[c.distance], c)
	n.kept++
	for n.kept == n.most && len(n.byBits[n.cutoff]) == 0 {
		n.cutoff--
	}
}

// take returns a copy of the candidates, the nearest first.
func (n *nearest) take() []candidate {
	if n.kept == 0 {
		return nil
	}
	candidates := make([]candidate, 0, n.kept)
	for d := range n.byBits {
		candidates = append(candidates, n.byBits[d]...)
	}
	return candidates
}
