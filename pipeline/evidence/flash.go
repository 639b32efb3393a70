package evidence

import (
	"math/bits"

	"echosieve/pipeline/limits"
	"echosieve/simhash"
)

// flashVersion is the first byte of the signature of a flash. Instead of samples, this signature has two filters,
// one of all word pairs and one of all words. A flash has so few of them that the filters tell whether one article
// contains the other, and hence whether a single name was replaced. The estimates of longer articles cannot
// tell that.
//
// A teaser is a flash beside a longer text that begins with it. The filter of word pairs has a bit for every one or
// two samples that a MinHash can hold, a slot with its value, so the samples of the longer text can be looked up.
const flashVersion = 10

// The filters take the place of the MinHash, of the beginning and of the main words, with the bits in this order.
const (
	pairBits   = 288
	wordBits   = 96
	sampleBits = 4 * minSlots // samples that a MinHash can hold
)

// filterByte returns the byte of a signature that holds a bit of the filters.
func filterByte(bit uint64) uint64 {
	at := minAt + bit/8
	if at >= contextAt {
		at += leadAt - contextAt
	}
	return at
}

func (s *Signature) hasBit(bit uint64) bool { return s.raw[filterByte(bit)]>>(bit%8)&1 != 0 }

// pairBit returns the bit of a sample: of a slot of the MinHash and its value.
func pairBit(slot uint64, value byte) uint64 {
	return (slot<<2 | uint64(value)) * pairBits / sampleBits
}

// AppendFlash is Append for a flash. words are all hashes that were given to Add.
func (b *Builder) AppendFlash(dst []byte, clean string, words []uint64) []byte {
	s := Signature{[Size]byte{flashVersion, logCount(max(0, len(words)-1))}}
	set := func(bit uint64) { s.raw[filterByte(bit)] |= 1 << (bit % 8) }
	for i, w := range words {
		set(pairBits + simhash.Mix(w)>>32*wordBits>>32)
		if i > 0 {
			slot, rest := slotOf(bigram(words[i-1], w))
			set(pairBit(slot, sampled(rest)))
		}
	}
	b.numbers(&s.raw, clean)
	b.Reset()
	return append(dst, s.raw[:]...)
}

// compareFilters sets J and the shares of each text from the filters of two flashes. They stay 0 if a filter
// is too full.
func (c *Comparison) compareFilters(a, b *Signature) {
	na, nb, both := 0, 0, 0
	for _, part := range [2][2]int{{minAt, contextAt}, {leadAt, Size}} {
		for i := part[0]; i < part[1]; i++ {
			x, y := a.raw[i], b.raw[i]
			na, nb, both = na+bits.OnesCount8(x), nb+bits.OnesCount8(y), both+bits.OnesCount8(x&y)
		}
	}
	if least := min(na, nb); least > 0 && max(na, nb) <= limits.FlashBits {
		c.J = float64(both) / float64(na+nb-both)
		c.Contained, c.Contains = float64(both)/float64(na), float64(both)/float64(nb)
		c.Containment = max(c.Contained, c.Contains)
	}
}

// teaserShares estimates the shares of a flash and of a longer text that the other one has. They are 0 unless the
// flash has all samples of the beginning of the text, and enough of them.
//
// A word pair of the flash that the text has is a sample of the text unless another one has its slot: the share seen
// of the pairs is, about. The share random of any pairs fits the samples by chance.
func teaserShares(flash, text *Signature) (ofFlash, ofText float64) {
	samples := 0
	for slot := range text.lead {
		if !flash.hasBit(pairBit(slot, text.sample(slot))) {
			return 0, 0
		}
		samples++
	}
	var fits [pairBits]bool
	for slot := range uint64(minSlots) {
		fits[pairBit(slot, text.sample(slot))] = true
	}
	set, equal, chance := 0, 0, 0
	for bit, fit := range fits {
		chance += count(fit)
		if flash.hasBit(uint64(bit)) {
			set++
			equal += count(fit)
		}
	}
	n := text.bigrams()
	if samples < limits.LeadSamples || set == 0 || set > limits.FlashBits || flash.bigrams() > n {
		return 0, 0
	}
	random, seen := float64(chance)/pairBits, 1/(1+n/(2*minSlots))
	share := max(0, min(1, (float64(equal)/float64(set)-random)/(1-random)/seen))
	return share, share * flash.bigrams() / n
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
