package simhash

import "fmt"

// DefaultMaxDistance is the distance up to which Manku et al. (2007) call two 64-bit SimHashes of web pages
// copies. It makes four blocks of 16 bits.
const DefaultMaxDistance = 3

// Block is one contiguous piece of a fingerprint. Blocks are comparable: two fingerprints agree in a piece if
// and only if the Blocks are equal.
type Block struct {
	Index int    // 0 is the piece with the most significant bits
	Value uint64 // its bits, shifted down to bit 0
}

// Blocks cuts a fingerprint into k+1 blocks, in the order of Index. By the pigeonhole principle two fingerprints
// at a distance of at most k bits have at least one equal block, so that looking up each block finds all of them.
// It panics unless 0 <= k <= 63.
func Blocks(fp Fingerprint, k int) []Block {
	checkDistance(k)
	return AppendBlocks(make([]Block, 0, k+1), fp, k)
}

// AppendBlocks appends the blocks of a fingerprint to dst and returns the extended slice; see Blocks. It
// allocates only if dst lacks room.
func AppendBlocks(dst []Block, fp Fingerprint, k int) []Block {
	checkDistance(k)
	low := 64
	for i := range k + 1 {
		width := BlockBits(i, k)
		low -= width
		value := uint64(fp) >> low
		if width < 64 {
			value &= 1<<width - 1
		}
		dst = append(dst, Block{Index: i, Value: value})
	}
	return dst
}

// BlockBits is the width in bits of block i of k+1. The widths add up to 64 and differ by at most one, the wider
// blocks first. It panics unless 0 <= i <= k <= 63.
func BlockBits(i, k int) int {
	checkDistance(k)
	if i < 0 || i > k {
		panic(fmt.Sprintf("simhash: no block %d of %d", i, k+1))
	}
	if i < 64%(k+1) {
		return 64/(k+1) + 1
	}
	return 64 / (k + 1)
}

func checkDistance(k int) {
	if k < 0 || k > 63 {
		panic(fmt.Sprintf("simhash: maximal distance %d is not between 0 and 63", k))
	}
}
