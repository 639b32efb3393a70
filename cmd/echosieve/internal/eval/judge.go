package eval

import (
	"slices"

	"echosieve/pipeline"
	"echosieve/simhash"
)

// Judgement is what the service would make of two articles inside one window.
type Judgement struct {
	Flagged   bool // the later one is published as a copy
	Possible  bool // they look alike, but not enough; never with Flagged
	Candidate bool // a look-up of the one finds the other at all
}

// Judge tells what two articles are to each other, in either order. Safe for concurrent use.
type Judge func(a, b pipeline.Article) Judgement

// ByDistance is the rule of recipes where the Hamming distance alone decides, at most maxDistance bits: the rule of
// the index, which alone of the two can be asked about any pair.
func ByDistance(maxDistance int) Judge {
	return func(a, b pipeline.Article) Judgement {
		if a.Empty || b.Empty { // dead letters
			return Judgement{}
		}
		if a.Digest == b.Digest {
			return Judgement{Flagged: true, Candidate: true}
		}
		if a.LittleText || b.LittleText { // copies of the same text only
			return Judgement{}
		}
		return Judgement{
			Flagged:   simhash.Distance(a.Fingerprint, b.Fingerprint) <= maxDistance,
			Candidate: shareBlock(a.Fingerprint, b.Fingerprint, maxDistance),
		}
	}
}

// shareBlock says whether a look-up of one fingerprint finds the other, whatever their distance.
func shareBlock(a, b simhash.Fingerprint, maxDistance int) bool {
	blocks := simhash.Blocks(b, maxDistance)
	return slices.ContainsFunc(simhash.Blocks(a, maxDistance), func(x simhash.Block) bool { return slices.Contains(blocks, x) })
}
