package signature

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"echosieve/pipeline/article"
)

// Thresholds decide what counts as a copy; see DefaultThresholds.
type Thresholds struct {
	Near           float64 `koanf:"near" help:"Least similarity of a copy: the share of word pairs in common, 0 to 1."`
	Possible       float64 `koanf:"possible" help:"Least similarity of an article that is marked as a possible copy."`
	Contradictions float64 `koanf:"contradictions" help:"Share of different numbers in the same places from which an article is no copy."`
	Values         float64 `koanf:"values" help:"Least share of numbers in common."`
	Vouched        float64 `koanf:"vouched" help:"Least similarity of a copy that has all of four numbers or more in common, or that the other text contains; of a short one, if both is so."`
	Sure           float64 `koanf:"sure" help:"Similarity from which one number is forgiven, as a correction: one that differs in its place while two others agree, unless the text is short, or one that the other text lacks."`
	ShortPairs     float64 `koanf:"short_pairs" help:"A text with fewer pairs of words is short: hardly a number is forgiven, and the next is asked of it."`
	ShortNear      float64 `koanf:"short_near" help:"Least similarity of short texts."`
	FlashNear      float64 `koanf:"flash_near" help:"Least similarity of flashes: the share of words and pairs of words in common. If one contains the other they are copies, else possible ones."`
}

// Validate reports the first threshold that makes no sense.
func (t Thresholds) Validate() error {
	for _, f := range []struct {
		name string
		val  float64
	}{
		{"near", t.Near},
		{"possible", t.Possible},
		{"contradictions", t.Contradictions},
		{"values", t.Values},
		{"vouched", t.Vouched},
		{"sure", t.Sure},
		{"short_near", t.ShortNear},
		{"flash_near", t.FlashNear},
	} {
		if !(f.val >= 0 && f.val <= 1) {
			return fmt.Errorf("%s is %v, must be between 0 and 1", f.name, f.val)
		}
	}
	if t.Possible > t.Near {
		return fmt.Errorf("possible is %v, must not be above near, %v", t.Possible, t.Near)
	}
	if !(t.ShortPairs >= 0) {
		return fmt.Errorf("short_pairs is %v, must not be negative", t.ShortPairs)
	}
	return nil
}

// DefaultThresholds returns thresholds chosen on labelled pairs of Chinese and English news articles.
func DefaultThresholds() Thresholds {
	return Thresholds{
		Near: 0.5, Possible: 0.3, Contradictions: 0.14, Values: 0.7, Vouched: 0.42, Sure: 0.75, ShortPairs: 80, ShortNear: 0.67, FlashNear: 0.6,
	}
}

// Numbers in common that weigh.
const (
	someValues = 4 // all of them, in a text of as many: hardly another report
	manyValues = 8 // outweigh one that differs, even in a short text: results and dividends are short and full of figures
)

// contained is the share of a text's bigrams from which the other is held to contain it, but for what the estimate errs.
const contained = 0.85

// wholeDistance is the largest distance in bits at which an article may be a copy of another that it neither contains nor is a part of:
// what is cut off or added moves a fingerprint farther than what is reworded.
const wholeDistance = 16

// Judge decides by a comparison. Both articles are taken to be candidates: their fingerprints are near. Without
// information the articles are judged to be different: the zero Kind.
func Judge(distance int, c Comparison, t Thresholds) article.Judgement {
	if distance > wholeDistance && !c.Part() {
		return article.Judgement{Reason: article.ReasonDistance}
	}
	if c.Flash {
		return judgeFlash(c, t)
	}
	short := c.Bigrams < t.ShortPairs
	near := t.Near
	if short {
		near = max(t.Near, t.ShortNear)
	}
	if c.vouched(short) {
		near = min(near, t.Vouched)
	}
	if c.Part() && !short {
		near = t.Possible
	}
	contradictions, common := c.forgiven(t, short)
	switch {
	case !c.Known:
		return article.Judgement{Reason: article.ReasonUnknown}
	case c.J < t.Possible:
		return article.Judgement{Reason: article.ReasonOverlap}
	case contradictions > 0 && float64(contradictions) >= t.Contradictions*float64(c.SharedContexts):
		return article.Judgement{Reason: article.ReasonNumbers}
	case c.Opposite:
		return article.Judgement{Reason: article.ReasonOpposite}
	case float64(common) < t.Values*float64(c.LeastValues):
		return article.Judgement{Kind: article.Possible, Reason: article.ReasonValues}
	case c.CommonValues == 0 && c.Lead < leastLead:
		return article.Judgement{Kind: article.Possible, Reason: article.ReasonLead}
	case c.J >= near:
		return article.Judgement{Kind: article.Near, Reason: article.ReasonOverlap}
	case short && c.J >= t.Near:
		return article.Judgement{Kind: article.Possible, Reason: article.ReasonShort}
	}
	return article.Judgement{Kind: article.Possible, Reason: article.ReasonOverlap}
}

// partLonger is how many times as long as the other a text is of which the other is a part. A part is a copy from the similarity on from
// which others are possible copies: page 1 of an article has half of its words or less, which makes a similarity of .5 or less.
const partLonger = 1.25

// leastLead is the share of the beginning of the one text that stands in the other from which texts without a number in common may be
// copies. Below, they are different reports above the same small print.
const leastLead = 0.6

// Part tells whether the one text is a part of the other, which goes on.
func (c *Comparison) Part() bool { return c.Containment >= contained && c.Longer >= partLonger }

// vouched tells whether something besides the bigrams in common speaks for a copy. Reports on one template are about as long as
// each other and each has words and numbers of its own; of a copy one side is cut or added to, or words are changed and
// the numbers are not. Of a short text both is asked: it has few numbers, and a page of a kind may contain it.
func (c *Comparison) vouched(short bool) bool {
	many := c.CommonValues >= manyValues && c.CommonValues >= c.LeastValues-1
	numbers := c.Contradictions == 0 && (many || c.CommonValues >= someValues && c.CommonValues == c.LeastValues)
	whole := c.Containment >= contained
	if short {
		return numbers && (many || whole)
	}
	return numbers || whole
}

// forgiven counts contradictions and common numbers as if one number that differs did not: in texts nearly the same it is
// rather a correction, a slip or the date of another edition than another report.
func (c *Comparison) forgiven(t Thresholds, short bool) (contradictions, common int) {
	contradictions, common = c.Contradictions, c.CommonValues
	inPlace := !short && c.SharedContexts-contradictions >= 2
	othersAgree := common >= c.LeastValues-1 && (c.J >= t.Sure || c.Part() && contradictions == 0)
	switch {
	case contradictions == 0:
		if othersAgree && common < c.LeastValues && (!short || common > 0) {
			common++
		}
	case inPlace && c.J >= t.Sure, othersAgree && common >= manyValues:
		contradictions--
	}
	return contradictions, common
}

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
