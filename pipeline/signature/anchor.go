package signature

import (
	"slices"

	"echosieve/simhash"
)

// MaxAnchors is the number of anchors that a Builder keeps.
const MaxAnchors = 8

// leastHashes keeps the least hashes of those added, each once, in ascending order.
type leastHashes struct {
	list [MaxAnchors]uint64
	n    int
}

func (l *leastHashes) add(hash uint64) {
	if l.n == MaxAnchors && hash >= l.list[MaxAnchors-1] {
		return
	}
	at, known := slices.BinarySearch(l.list[:l.n], hash)
	if known {
		return
	}
	l.n = min(l.n+1, MaxAnchors)
	copy(l.list[at+1:l.n], l.list[at:])
	l.list[at] = hash
}

// AppendAnchors appends at most n anchors of the article whose words were added, the foremost first, and returns the
// extended slice. Call it before Append.
//
// Anchors (Manber, "Finding Similar Files in a Large File System", 1994) are a sample of the article's runs of four
// words: those with the least hashes, as in Broder's MinHash ("On the Resemblance and Containment of Documents", 1997).
// Two texts that share most of their wording share their foremost anchor with about that probability; a text that holds
// the other and more besides has it among its first ones. An article of less than four words has none. The values
// are uniform over all 64 bits.
func (b *Builder) AppendAnchors(dst []uint64, n int) []uint64 {
	for _, hash := range b.anchors.list[:min(n, b.anchors.n)] {
		dst = append(dst, simhash.Mix(hash))
	}
	return dst
}
