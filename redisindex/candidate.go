package redisindex

import (
	"slices"

	"echosieve/simhash"
)

// candidate is a fingerprint of some generation within the maximal distance of an article's.
type candidate struct {
	fieldRef
	distance int // bits
	at       int // its entries among batch.entries, once they are read
}

// nearest keeps the nearest of the candidates that it is offered, each once and at most `most` of them, so that its
// memory and the reads that follow do not depend on the length of the lists. Of equally near candidates it keeps the ones
// offered first. Not safe for concurrent use; reset prepares it for the next article.
type nearest struct {
	most   int
	limit  int // largest distance of a candidate, in bits
	cutoff int // largest distance that is still taken; shrinks from limit once `most` candidates are kept
	kept   int
	capped bool // a candidate was left out
	byBits [65][]candidate
}

func newNearest(most int) *nearest { return &nearest{most: most} }

// reset forgets all candidates. From now on only candidates within maxDistance are taken.
func (n *nearest) reset(maxDistance int) {
	for d := range n.byBits {
		n.byBits[d] = n.byBits[d][:0]
	}
	n.limit, n.cutoff, n.kept, n.capped = maxDistance, maxDistance, 0, false
}

// offerList offers the fingerprints of a block list that lie near fp.
func (n *nearest) offerList(generation int64, list string, fp simhash.Fingerprint) {
	for ; len(list) >= fingerprintBytes; list = list[fingerprintBytes:] {
		other := fingerprint(list)
		switch d := simhash.Distance(fp, other); {
		case d > n.cutoff:
			n.capped = n.capped || d <= n.limit
		case d == n.cutoff && n.capped && n.kept == n.most: // no room, and nothing to learn from asking whether it is known
		default:
			n.offer(candidate{fieldRef: fieldRef{generation, other}, distance: d})
		}
	}
}

// offer takes a candidate within the cutoff unless it is known or `most` candidates are as near. A candidate that made room for a
// nearer one is not taken again: from then on there is no room at its distance.
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
	found := make([]candidate, 0, n.kept)
	for d := range n.byBits {
		found = append(found, n.byBits[d]...)
	}
	return found
}
