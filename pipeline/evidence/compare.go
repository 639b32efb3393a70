package evidence

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"time"

	"echosieve/pipeline/limits"
)

// Comparison is what two signatures tell about two articles.
type Comparison struct {
	// Known is false if one of the signatures holds no information. All other fields are 0 then.
	Known bool
	// Flash tells that at least one of the two is a flash. J and Containment then count the bits of filters (see
	// compareFilters), and are 0 if only one is: samples and filters cannot be compared.
	Flash bool
	// J estimates the Jaccard similarity of the sets of word bigrams, 0 to 1; its standard error is about 0.04.
	J float64
	// Contained estimates the share of the later text's bigrams that the earlier one has, Contains the share
	// of the earlier text's bigrams that the later one has. Containment is the greater of the two, which is
	// that of the shorter text. All are 0 to 1.
	Contained, Contains, Containment float64
	// Bigrams is the number of bigrams of the shorter text, to about 2 %.
	Bigrams float64
	// SharedContexts counts the sampled contexts of numbers that both articles have, Contradictions the
	// contexts among them in which the numbers differ. Values have 4 bits, so one contradiction in 16 goes
	// unseen. Contexts have 255 values, so one context in 255 is taken for another. Version numbers
	// are not among them: HeadContradictions counts those that differ.
	SharedContexts, Contradictions, HeadContradictions int
	// LeastValues is the number of different numbers in the article that has fewer of them, as far as the
	// bitmap tells numbers apart. CommonValues counts the numbers among them that the other article has as
	// well. Neither counts version numbers.
	LeastValues, CommonValues int
	// LeastAll and CommonAll are the same with version numbers, too: they can speak for a copy.
	LeastAll, CommonAll int
	// Longer is how many times as many bigrams the longer text has as the shorter one.
	Longer float64
	// Growth is how many times as often the longer text has the main words in common as the shorter one, less 1.
	Growth float64
	// Lead estimates the share of the first 20 bigrams of one article that stand anywhere in the other
	// article, whichever way round is more. It is 1 if no more than half of the samples are of the
	// beginning, which happens in long articles.
	Lead float64
	// SameLead tells that one article is longer, and that all samples of its beginning, more than half of those that
	// there can be, are in the shorter one, too.
	SameLead bool
	// NewLead tells that the later article is longer, and that the earlier one has at most a third of its beginning.
	NewLead bool
	// OtherSubject tells that each article is about a word that is none of the eight main words of the other.
	// An article is about those of its two weightiest words that it has more than once, such as the name of a
	// person or place.
	OtherSubject bool
	// OtherMain counts the main words of one text that are no main words of the other, whichever way round is fewer.
	OtherMain int
	// Repeated counts the main words in common that both articles have more than once.
	Repeated int
	// SameForemost tells that the five weightiest words of one article are main words of the other.
	SameForemost bool
	// SameValues tells that both articles have the same numbers, as far as the bitmap tells numbers apart. One that is a
	// version number in one of them may stand further below in the other, if they have nearly all word pairs in common.
	SameValues bool
	// NewNumber tells that the later article has a number that the earlier one lacks, as far as the bitmap tells.
	NewNumber bool
	// Publishers are hashes of the publishers of the later and of the earlier article; 0: not known.
	Publishers [2]uint32
	// OnePublisher tells that the publisher of both is known, and one. TwoPublishers tells that there are two, or that only
	// one is known. SameAddress tells that both have one address, to one pair in 32,767.
	OnePublisher, TwoPublishers, SameAddress bool
	// OtherTitle tells that both have a title, and not the same one.
	OtherTitle bool
	// Correction tells that the publisher calls the later text a correction.
	Correction bool
	// Apart is the time between the articles, SameID that both have one id. CompareArticles sets them.
	Apart  time.Duration
	SameID bool
}

// Compare compares the signature a of a later article with the signature b of an earlier one, in constant
// time. It allocates nothing. If a and b are exchanged, Contained and Contains are, and the Publishers; NewLead,
// NewNumber and Correction are about the later one; all else stays.
func Compare(a, b *Signature) Comparison {
	if !a.Known() || !b.Known() {
		return Comparison{}
	}
	c := Comparison{Known: true, Flash: a.flash() || b.flash()}
	na, nb := a.bigrams(), b.bigrams()
	c.Bigrams = min(na, nb)
	switch {
	case a.flash() && b.flash():
		c.compareFilters(a, b)
	case c.Flash:
	case c.Bigrams > 0:
		c.J = a.jaccard(b)
		common := c.J / (1 + c.J) * (na + nb)
		c.Contained, c.Contains = min(1, common/na), min(1, common/nb)
		c.Containment = max(c.Contained, c.Contains)
		c.Longer = max(na, nb) / c.Bigrams
	}
	for i := range numberSlots {
		if context := a.raw[contextAt+i]; context == 0 || context != b.raw[contextAt+i] {
			continue
		}
		differ := 0
		if (a.raw[valueAt+i/2]^b.raw[valueAt+i/2])>>(i%2*4)&15 != 0 {
			differ = 1
		}
		if i >= bodySlots {
			c.HeadContradictions += differ
			continue
		}
		c.SharedContexts++
		c.Contradictions += differ
	}
	if !c.Flash {
		c.compareLeads(a, b, na, nb)
		c.OtherSubject = a.missing(b, limits.SubjectWords, 1) > 0 && b.missing(a, limits.SubjectWords, 1) > 0
		c.OtherMain = min(a.missing(b, limits.MainWords, 0), b.missing(a, limits.MainWords, 0))
		c.Repeated = min(a.repeatedIn(b), b.repeatedIn(a))
		c.SameForemost = a.missing(b, limits.ForemostWords, 0) == 0 || b.missing(a, limits.ForemostWords, 0) == 0
		switch {
		case na < nb:
			c.Growth = a.growth(b)
		case na > nb:
			c.Growth = b.growth(a)
		default: // neither is longer, and the order must not matter
			c.Growth = max(a.growth(b), b.growth(a))
		}
	}
	va, vb := a.bitmap(), b.bitmap()
	const body = 1<<bodyBits - 1
	c.LeastValues, c.CommonValues = min(bits.OnesCount64(va&body), bits.OnesCount64(vb&body)),
		bits.OnesCount64(va&vb&body)
	c.LeastAll, c.CommonAll = min(bits.OnesCount64(va), bits.OnesCount64(vb)), bits.OnesCount64(va&vb)
	c.NewNumber = !hasValues(vb, va)
	c.SameValues = va == vb || c.J >= limits.Contained && hasValues(va, vb) && hasValues(vb, va)
	c.compareOrigins(a, b)
	return c
}

// hasValues tells whether a bitmap has the numbers of another one. Bit i of the body and bit i modulo the number of
// bits of version numbers can be one number.
func hasValues(bitmap, other uint64) bool {
	const body, heads = 1<<bodyBits - 1, bitmapBits - bodyBits
	folded := uint64(0)
	for i := 0; i < bodyBits; i += heads {
		folded |= bitmap & body >> i
	}
	missing := other &^ bitmap
	for i := 0; i < bodyBits; i += heads {
		if missing&body>>i&(1<<heads-1)&^(bitmap>>bodyBits) != 0 {
			return false
		}
	}
	return missing>>bodyBits&^folded == 0
}

// jaccard estimates the similarity by the share of equal slots. Slots have 2 bits, so a quarter of unrelated
// slots are equal by chance.
func (s *Signature) jaccard(t *Signature) float64 {
	const low = 0x5555555555555555 // the lower bit of each slot
	equal := 0
	for i := minAt; i+8 <= contextAt; i += 8 {
		x := binary.LittleEndian.Uint64(s.raw[i:]) ^ binary.LittleEndian.Uint64(t.raw[i:])
		equal += bits.OnesCount64(^(x | x>>1) & low)
	}
	// 24 slots are left. The 8 bytes that end with them begin with 8 slots that were counted.
	x := binary.LittleEndian.Uint64(s.raw[contextAt-8:]) ^ binary.LittleEndian.Uint64(t.raw[contextAt-8:])
	equal += bits.OnesCount64(^(x | x>>1) & low >> 16 << 16)
	return max(0, (float64(equal)/minSlots-0.25)/0.75)
}

// times returns how often the text has its main word i, roughly.
func (s *Signature) times(i int) float64 {
	all := uint32(s.raw[timesAt]) | uint32(s.raw[timesAt+1])<<8 | uint32(s.raw[timesAt+2])<<16
	return [8]float64{1, 2, 3, 4, 5.5, 8, 12, 18}[all>>(3*i)&7]
}

// growth compares how often s and a longer text t have the main words that both have.
func (s *Signature) growth(t *Signature) float64 {
	mine, other := 0.0, 0.0
	for i, w := range s.raw[mainAt : mainAt+limits.MainWords] {
		if j := bytes.IndexByte(t.raw[mainAt:mainAt+limits.MainWords], w); w != 0 && j >= 0 {
			mine, other = mine+s.times(i), other+t.times(j)
		}
	}
	if mine == 0 {
		return 0
	}
	return other/mine - 1
}

// repeatedIn counts the main words of s that t has as well, and that both have more than once.
func (s *Signature) repeatedIn(t *Signature) (n int) {
	for i, w := range s.raw[mainAt : mainAt+limits.MainWords] {
		j := bytes.IndexByte(t.raw[mainAt:mainAt+limits.MainWords], w)
		n += count(w != 0 && j >= 0 && s.times(i) > 1 && t.times(j) > 1)
	}
	return n
}

func (s *Signature) bitmap() uint64 {
	return binary.LittleEndian.Uint64(s.raw[bitmapAt-2:]) >> (64 - bitmapBits)
}

// sample returns the value of a slot of the MinHash.
func (s *Signature) sample(slot uint64) byte { return s.raw[minAt+slot/4] >> (slot % 4 * 2) & 3 }

// compareFilters sets J and the shares of each text from the filters of two flashes. They stay 0 if a filter
// is too full.
func (c *Comparison) compareFilters(a, b *Signature) {
	na, nb, both := 0, 0, 0
	for _, part := range [2][2]int{{minAt, contextAt}, {leadAt, originAt}} {
		for i := part[0]; i < part[1]; i++ {
			x, y := a.raw[i], b.raw[i]
			na, nb, both = na+bits.OnesCount8(x), nb+bits.OnesCount8(y), both+bits.OnesCount8(x&y)
		}
	}
	if least := min(na, nb); least > 0 && max(na, nb) <= flashBits {
		c.J = float64(both) / float64(na+nb-both)
		c.Contained, c.Contains = float64(both)/float64(na), float64(both)/float64(nb)
		c.Containment = max(c.Contained, c.Contains)
	}
}

// compareLeads compares the beginnings of a and b, which have na and nb bigrams.
func (c *Comparison) compareLeads(a, b *Signature, na, nb float64) {
	there, same := a.leadIn(b)
	back, backSame := b.leadIn(a)
	c.Lead = max(there, back)
	c.NewLead = na > nb && there <= halfLead
	c.SameLead = na > nb && same || na < nb && backSame
}

// leadIn estimates the share of the beginning of s that stands in t, and tells whether all samples do.
func (s *Signature) leadIn(t *Signature) (there float64, same bool) {
	slots := binary.LittleEndian.Uint64(s.raw[leadAt:]) // and one byte more
	samples, equal := 0, 0
	for n := range leadSlots {
		slot := slots >> (7 * n) & leadMask
		if n > 0 && slot == slots&leadMask {
			break
		}
		samples++
		equal += count(s.sample(slot) == t.sample(slot))
	}
	return leadShare(samples, equal), enough(samples) && equal == samples
}

// enough tells whether so many samples of a beginning say something: five unrelated ones are equal in one case
// of 1,024.
func enough(samples int) bool { return 2*samples > leadSlots }

// leadShare estimates the share of a beginning that stands in another article. It is 1 with too few samples.
func leadShare(samples, equal int) float64 {
	if !enough(samples) {
		return 1
	}
	return max(0, (float64(equal)/float64(samples)-0.25)/0.75)
}

// halfLead is the share of a beginning of which half of the samples are equal: a third, because a quarter of them are
// equal by chance.
var halfLead = leadShare(leadSlots, leadSlots/2)

// missing counts the words among the first n main words of s that s has more than `above` times, and that are no main
// words of t.
func (s *Signature) missing(t *Signature, n int, above float64) (missing int) {
	for i, w := range s.raw[mainAt : mainAt+n] {
		missing += count(w != 0 && s.times(i) > above && bytes.IndexByte(t.raw[mainAt:mainAt+limits.MainWords], w) < 0)
	}
	return missing
}
