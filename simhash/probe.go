package simhash

import (
	"fmt"
	"slices"
)

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
