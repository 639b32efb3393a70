package signature

import (
	"encoding/binary"
	"math/bits"
)

// Comparison is what two signatures tell about two articles.
type Comparison struct {
	// Known is false if one of the signatures holds no information, or if one is that of a flash and the other is not. All
	// fields but Flash are 0 then.
	Known bool
	// Flash tells that one of the two is a flash. J and Containment then are about bits of filters.
	Flash bool
	// J estimates the Jaccard similarity of the sets of word bigrams, 0 to 1; its standard error is about 0.06.
	J float64
	// Containment estimates the share of the shorter text's bigrams that the longer one has, 0 to 1.
	Containment float64
	// Bigrams is the number of bigrams of the shorter text, to about 2 %.
	Bigrams float64
	// SharedContexts counts the sampled contexts of numbers that both have, Contradictions those of them in which
	// the numbers differ. One contradiction in 16 goes unseen, and one context in 255 is taken for another.
	SharedContexts, Contradictions int
	// LeastValues is the number of different number values, as far as the bitmap tells them apart, of the article
	// with fewer ones; CommonValues those that the other has as well.
	LeastValues, CommonValues int
	// Longer is how many times as many bigrams the longer text has as the shorter one.
	Longer float64
	// Opposite tells that in one of the texts something rises and nothing falls, and in the other nothing rises and something falls.
	Opposite bool
	// Lead estimates the share of the beginning of the one text, its first 20 bigrams, that stands anywhere in the other, or the other
	// way round if that is more. It is 1 if the texts are so long that few samples are of the beginning.
	Lead float64
}

// Compare compares two signatures in constant time. It is symmetric and allocates nothing.
func Compare(a, b *Signature) Comparison {
	if !a.Known() || !b.Known() {
		return Comparison{}
	}
	c := Comparison{Known: a.flash() == b.flash(), Flash: a.flash() || b.flash()}
	if !c.Known {
		return c
	}
	na, nb := a.bigrams(), b.bigrams()
	c.Bigrams = min(na, nb)
	switch {
	case c.Flash:
		c.compareFilters(a, b)
	case c.Bigrams > 0:
		c.J = a.jaccard(b)
		c.Containment = min(1, c.J/(1+c.J)*(na+nb)/c.Bigrams)
		c.Longer = max(na, nb) / c.Bigrams
	}
	for i := range numberSlots {
		if context := a.raw[contextAt+i]; context == 0 || context != b.raw[contextAt+i] {
			continue
		}
		c.SharedContexts++
		if (a.raw[valueAt+i/2]^b.raw[valueAt+i/2])>>(i%2*4)&15 != 0 {
			c.Contradictions++
		}
	}
	if !c.Flash {
		c.Lead = max(a.leadIn(b), b.leadIn(a))
		upA, downA, upB, downB := a.raw[directionAt]&15, a.raw[directionAt]>>4, b.raw[directionAt]&15, b.raw[directionAt]>>4
		c.Opposite = upA > 0 && downB > 0 && downA == 0 && upB == 0 || downA > 0 && upB > 0 && upA == 0 && downB == 0
	}
	va, vb := a.bitmap(), b.bitmap()
	c.LeastValues = min(bits.OnesCount64(va), bits.OnesCount64(vb))
	c.CommonValues = bits.OnesCount64(va & vb)
	return c
}

// jaccard counts the equal slots; a quarter of unrelated ones are equal by chance.
func (s *Signature) jaccard(t *Signature) float64 {
	const low = 0x5555555555555555 // the lower bit of each slot
	equal := 0
	for i := minAt; i < contextAt; i += 8 {
		x := binary.LittleEndian.Uint64(s.raw[i:]) ^ binary.LittleEndian.Uint64(t.raw[i:])
		equal += bits.OnesCount64(^(x | x>>1) & low)
	}
	return max(0, (float64(equal)/minSlots-0.25)/0.75)
}

func (s *Signature) bitmap() uint64 {
	return binary.LittleEndian.Uint64(s.raw[bitmapAt-2:]) >> (64 - bitmapBits)
}

// leastLeadSlots is the number of slots of a beginning below which they say nothing.
const leastLeadSlots = 5

// leadIn counts the equal slots among those of the beginning of s.
func (s *Signature) leadIn(t *Signature) float64 {
	n, equal := 0, 0
	for i := range leadSlots {
		if s.raw[leadAt+i/8]>>(i%8)&1 == 0 {
			continue
		}
		n++
		if (s.raw[minAt+i/4]^t.raw[minAt+i/4])>>(i%4*2)&3 == 0 {
			equal++
		}
	}
	if n < leastLeadSlots {
		return 1
	}
	return max(0, (float64(equal)/float64(n)-0.25)/0.75)
}
