package evidence

import (
	"math/bits"

	"echosieve/pipeline/limits"
	"echosieve/simhash"
)

// flashVersion is the first byte of the signature of a flash. Instead of samples, this signature has a Bloom
// filter of all words and bigrams. A flash has so few of them that the filters tell whether one article
// contains the other, and hence whether a single name was replaced. The estimates of longer articles cannot
// tell that.
const flashVersion = 8

// filterBits is the number of bits of the filter, which takes the place of the MinHash.
const filterBits = 2 * minSlots

// AppendFlash is Append for a flash. words are all hashes that were given to Add.
func (b *Builder) AppendFlash(dst []byte, clean string, words []uint64) []byte {
	raw := [Size]byte{flashVersion, logCount(max(0, len(words)-1))}
	add := func(h uint64) {
		for _, bit := range [2]uint64{h & 0xffff * filterBits >> 16, h >> 16 & 0xffff * filterBits >> 16} {
			raw[minAt+bit/8] |= 1 << (bit % 8)
		}
	}
	for i, w := range words {
		add(simhash.Mix(w))
		if i > 0 {
			add(bigram(words[i-1], w))
		}
	}
	b.numbers(&raw, clean)
	b.Reset()
	return append(dst, raw[:]...)
}

// compareFilters sets J and the shares of each text from the filters of two flashes. They stay 0 if a filter
// is too full.
func (c *Comparison) compareFilters(a, b *Signature) {
	na, nb, both := 0, 0, 0
	for i := minAt; i < contextAt; i++ {
		x, y := a.raw[i], b.raw[i]
		na, nb, both = na+bits.OnesCount8(x), nb+bits.OnesCount8(y), both+bits.OnesCount8(x&y)
	}
	if least := min(na, nb); least > 0 && max(na, nb) <= limits.FlashBits {
		c.J = float64(both) / float64(na+nb-both)
		c.Contained, c.Contains = float64(both)/float64(na), float64(both)/float64(nb)
		c.Containment = max(c.Contained, c.Contains)
	}
}
