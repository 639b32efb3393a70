package simhash

import (
	"fmt"
	"math/bits"
	"slices"
)

// DefaultMaxDistance is the distance up to which Manku et al. (2007) call two 64-bit SimHashes of web pages
// copies. It makes four blocks of 16 bits.
const DefaultMaxDistance = 3

// Block is some bits in a row of a fingerprint. Blocks are comparable: two fingerprints agree in the bits if
// and only if the Blocks are equal.
type Block struct {
	Index int    // 0 is the block that starts at the most significant bit
	Value uint64 // its bits, shifted down to bit 0
}

// Layout says how fingerprints are cut into blocks. The zero value is not valid.
//
// Blocks start at equal distances. Count blocks of 64/Count bits make up the fingerprint. Narrower blocks
// leave bits out, so a look-up finds more fingerprints. Wider blocks overlap with their neighbours, the last
// block with the first, so a look-up finds fewer. One bit can then be in two blocks, and the pigeonhole
// principle of AppendBlocks does not hold.
type Layout struct {
	Count int // number of blocks, 1 to 64
	Bits  int // width of each block, 1 to 64; 0: as many as make up the fingerprint
}

// Valid says whether the layout can be used.
func (l Layout) Valid() bool { return l.Count >= 1 && l.Count <= 64 && l.Bits >= 0 && l.Bits <= 64 }

func (l Layout) check() {
	if !l.Valid() {
		panic(fmt.Sprintf("simhash: layout of %d blocks of %d bits", l.Count, l.Bits))
	}
}

// AppendBlocks appends the blocks of a fingerprint to dst, in the order of Index, and returns the extended slice. By
// the pigeonhole principle two fingerprints at a distance of fewer bits than there are blocks that make up the
// fingerprint have at least one equal block, so that looking up each block finds all of them. It allocates only if dst
// lacks room and panics on an invalid Layout.
func (l Layout) AppendBlocks(dst []Block, fp Fingerprint) []Block {
	l.check()
	for i := range l.Count {
		block, _ := l.block(fp, i)
		dst = append(dst, block)
	}
	return dst
}

// block returns block i and where it starts, in bits from the most significant one.
func (l Layout) block(fp Fingerprint, i int) (b Block, start int) {
	start = i*(64/l.Count) + min(i, 64%l.Count)
	return Block{Index: i, Value: bits.RotateLeft64(uint64(fp), start) >> (64 - l.Width(i))}, start
}

// Cut says which bits of a fingerprint a block holds, so that a program that knows the block need store only
// the others. The zero value is valid: a block without bits.
type Cut struct{ start, width int }

// Cut returns which bits block i holds. It panics on an invalid Layout.
func (l Layout) Cut(i int) Cut {
	l.check()
	_, start := l.block(0, i)
	return Cut{start, l.Width(i)}
}

// RestBits is the number of bits that the block does not hold, 0 to 64.
func (c Cut) RestBits() int { return 64 - c.width }

// Rest returns the bits of a fingerprint that the block does not hold, in the RestBits low bits.
func (c Cut) Rest(fp Fingerprint) uint64 {
	return bits.RotateLeft64(uint64(fp), c.start) << c.width >> c.width
}

// Join is the inverse of Rest for a fingerprint with that Value of the block.
func (c Cut) Join(value, rest uint64) Fingerprint {
	return Fingerprint(bits.RotateLeft64(value<<(64-c.width)|rest, -c.start))
}

// Width is the width of block i in bits. Those that make up a fingerprint differ by at most one, the wider first.
func (l Layout) Width(i int) int {
	switch {
	case l.Bits > 0:
		return l.Bits
	case i < 64%l.Count:
		return 64/l.Count + 1
	default:
		return 64 / l.Count
	}
}

// MaxProbes is the largest number of probes for each block: all values that differ in some of probeBits bits.
const MaxProbes = 1<<probeBits - 1

// probeBits is the number of weakest bits of a block that probes flip. A seventh weakest bit hardly ever
// belongs to one of the cheapest 63 sets.
const probeBits = 6

// AppendProbes appends, for each block of a fingerprint (see Layout.AppendBlocks), the block itself and then
// up to n values that the block of a similar text probably has, and returns the extended slice. This is the
// query-directed probing of Lv et al. ("Multi-Probe LSH", VLDB 2007) for SimHash: each probe flips a set of
// the block's weakest bits. A set costs the total of the squared Sums of its bits, and the cheapest sets come
// first.
//
// The values of a block are all different. A block narrower than six bits has fewer than MaxProbes of them. It
// allocates only if dst lacks room and panics on an invalid Layout and unless 0 <= n <= MaxProbes.
func (l Layout) AppendProbes(dst []Block, fp Fingerprint, sums *Sums, n int) []Block {
	l.check()
	if n < 0 || n > MaxProbes {
		panic(fmt.Sprintf("simhash: number of probes %d is not between 0 and %d", n, MaxProbes))
	}
	for i := range l.Count {
		block, start := l.block(fp, i)
		var own Sums // of the block's bits, the least significant first
		width := l.Width(i)
		for bit := range width {
			own[bit] = sums[(128-start-width+bit)%64]
		}
		var list flipList
		for _, f := range list.cheapest(own[:width], n+1) {
			dst = append(dst, Block{Index: i, Value: block.Value ^ f.bits})
		}
	}
	return dst
}

// flip is a set of bits of a block to be flipped together.
type flip struct {
	cost float64
	bits uint64
}

type flipList struct {
	weakest [probeBits]flip
	a, b    [MaxProbes + 1]flip
}

// cheapest returns at most n sets of weak bits by rising cost, the empty one first.
func (l *flipList) cheapest(sums []float64, n int) []flip {
	weakest := l.weakest[:0]
	for bit, v := range sums {
		f := flip{v * v, 1 << bit}
		switch {
		case len(weakest) < probeBits:
			weakest = append(weakest, f)
		case f.cost < weakest[probeBits-1].cost:
			weakest[probeBits-1] = f
		default:
			continue
		}
		for i := len(weakest) - 1; i > 0 && weakest[i].cost < weakest[i-1].cost; i-- {
			weakest[i], weakest[i-1] = weakest[i-1], weakest[i]
		}
	}
	// Each further bit doubles the sets: every set without the bit and with it. Both lists are sorted by cost
	// and are merged.
	sets, merged := append(l.a[:0], flip{}), l.b[:0]
	for _, bit := range weakest {
		merged = merged[:0]
		for plain, with := 0, 0; len(merged) < n && with < len(sets); {
			next := flip{sets[with].cost + bit.cost, sets[with].bits | bit.bits}
			if plain < len(sets) && sets[plain].cost <= next.cost {
				merged = append(merged, sets[plain])
				plain++
			} else {
				merged = append(merged, next)
				with++
			}
		}
		sets, merged = merged, sets
	}
	return slices.Clip(sets)
}
