package signature

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"echosieve/pipeline/article"
)

// Thresholds decide what is a copy. They are settings, because sites differ in what they call a copy. Numbers that no site needs to change
// are the constants below.
//
//   - Near: at least this similarity makes a copy. Similarity is the share of word pairs in common, 0 to 1.
//   - Possible: at least this similarity makes a possible copy, and makes a copy if one article is a part of the other (see Part).
//   - Contradictions: if at least this share of the numbers that stand in the same context differ, the articles are not copies.
//   - Values: if the articles have less than this share of their numbers in common, they are possible copies at best.
//   - Vouched: at least this similarity makes a copy when there is other evidence: the articles share every number (at least four), or one
//     contains the other. Short articles need both.
//   - Sure: from this similarity on, one number that differs or is missing is taken for a correction.
//   - ShortPairs: an article with fewer word pairs is short. A short article needs the similarity ShortNear.
//   - FlashNear: at least this similarity relates two flashes. They are copies if one contains the other, otherwise possible copies.
//
// Raising a similarity drops look-alikes and copies that were reworded heavily. Lowering it catches more of both.
type Thresholds struct {
	Near           float64 `koanf:"near" help:"Similarity (share of word pairs in common) of a copy. Raise it to drop fewer look-alikes, lower it to catch heavier rewrites."`
	Possible       float64 `koanf:"possible" help:"Similarity of a possible copy, and of a copy that is a part of the other text. Lower it to mark more."`
	Contradictions float64 `koanf:"contradictions" help:"Share of different numbers in the same places that rules out a copy. Lower it if template reports are joined."`
	Values         float64 `koanf:"values" help:"Share of numbers that copies must share. Raise it if reports with other figures are joined."`
	Vouched        float64 `koanf:"vouched" help:"Similarity that is enough with other evidence of a copy: the articles share every number (at least four), or one contains the other. Short articles need both. Adjust it together with near."`
	Sure           float64 `koanf:"sure" help:"Similarity from which one other or missing number is forgiven as a correction. Raise it if such reports are joined."`
	ShortPairs     float64 `koanf:"short_pairs" help:"Texts with fewer word pairs are short: they need short_near."`
	ShortNear      float64 `koanf:"short_near" help:"Similarity of short copies. Raise it if short reports are joined, lower it to catch rewritten ones."`
	FlashNear      float64 `koanf:"flash_near" help:"Share of words and word pairs that two flashes must have in common. Raise it to mark fewer."`
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

// DefaultThresholds returns the thresholds of the recipe news. They and the constants below were chosen on labelled pairs of Chinese and
// English articles: docs/detection.md describes the pairs and the contribution of each test.
func DefaultThresholds() Thresholds {
	return Thresholds{
		Near: 0.5, Possible: 0.3, Contradictions: 0.14, Values: 0.7, Vouched: 0.42, Sure: 0.75, ShortPairs: 80, ShortNear: 0.67, FlashNear: 0.6,
	}
}

// The thresholds that are not settings. Changing one changes verdicts and hence needs a new version of the recipe.
const (
	// WholeDistance is the largest distance in bits between two copies of which neither is a part of the other. Cutting off or adding text
	// moves a fingerprint farther than rewording does, so a part is allowed all of Rule.MaxDistance. Raised, more look-alikes pass.
	WholeDistance = 16
	// contained is the least containment at which one article counts as containing the other. It is below 1 because containment is an
	// estimate. Lowered, more articles count as contained that have text of their own.
	contained = 0.85
	// partLonger is how many times as many word pairs the longer article has if the shorter one is a part of it. Page 1 of an article has
	// half of its words or less, so the similarity of the two is 0.5 or less, and Possible is enough to make them copies.
	partLonger = 1.25
	// leastLead is the least share of the beginning of one article that stands in the other, if the articles have no number in common.
	// Below it they are different reports above the same small print.
	leastLead = 0.6
	// someValues is the least number of different numbers that vouch for a copy, if the articles share all of them. Different reports with
	// as many equal numbers are rare.
	someValues = 4
	// manyValues is the least number of shared numbers that outweigh one that differs, in a short text as well. Sports results and
	// dividends are short and full of figures.
	manyValues = 8
	// agreeing is the least number of shared contexts whose numbers agree if one that contradicts is to be taken for a correction.
	agreeing = 2
)

// Comparison is what two signatures tell about two articles.
type Comparison struct {
	// Known is false if one of the signatures holds no information, or if one is that of a flash and the other is not. All other fields
	// except Flash are 0 then.
	Known bool
	// Flash tells that at least one of the two is a flash. J and Containment then count the bits of filters (see compareFilters).
	Flash bool
	// J estimates the Jaccard similarity of the sets of word bigrams, 0 to 1; its standard error is about 0.06.
	J float64
	// Contained estimates the share of the later text's bigrams that the earlier one has, Contains the share of the earlier text's bigrams
	// that the later one has. Containment is the greater of the two, which is that of the shorter text. All are 0 to 1.
	Contained, Contains, Containment float64
	// Bigrams is the number of bigrams of the shorter text, to about 2 %.
	Bigrams float64
	// SharedContexts counts the sampled contexts of numbers that both articles have, Contradictions the contexts among them in which
	// the numbers differ. Values have 4 bits, so one contradiction in 16 goes unseen. Contexts have 255 values, so one context in 255 is
	// taken for another.
	SharedContexts, Contradictions int
	// LeastValues is the number of different numbers in the article that has fewer of them, as far as the bitmap tells numbers apart.
	// CommonValues counts the numbers among them that the other article has as well.
	LeastValues, CommonValues int
	// Longer is how many times as many bigrams the longer text has as the shorter one.
	Longer float64
	// Opposite tells that something rises and nothing falls in one of the articles, and something falls and nothing rises in the other.
	Opposite bool
	// Lead estimates the share of the first 20 bigrams of one article that stand anywhere in the other article, whichever way round is
	// more. It is 1 if fewer than leastLeadSlots samples are of the beginning, which happens in long articles.
	Lead float64
	// OtherSubject tells that each article is about a word that is none of the eight main words of the other. An article is about those of
	// its two weightiest words that it has more than once, such as the name of a person or place.
	OtherSubject bool
}

// Compare compares the signature a of a later article with the signature b of an earlier one, in constant time. It allocates nothing. If a
// and b are exchanged, Contained and Contains are, and all else stays.
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
		common := c.J / (1 + c.J) * (na + nb)
		c.Contained, c.Contains = min(1, common/na), min(1, common/nb)
		c.Containment = max(c.Contained, c.Contains)
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
		c.OtherSubject = a.hasOtherSubject(b) && b.hasOtherSubject(a)
		upA, downA, upB, downB := a.raw[directionAt]&15, a.raw[directionAt]>>4, b.raw[directionAt]&15, b.raw[directionAt]>>4
		c.Opposite = upA > 0 && downB > 0 && downA == 0 && upB == 0 || downA > 0 && upB > 0 && upA == 0 && downB == 0
	}
	va, vb := a.bitmap(), b.bitmap()
	c.LeastValues = min(bits.OnesCount64(va), bits.OnesCount64(vb))
	c.CommonValues = bits.OnesCount64(va & vb)
	return c
}

// jaccard estimates the similarity by the share of equal slots. Slots have 2 bits, so a quarter of unrelated slots are equal by chance.
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

// leastLeadSlots is the least number of samples of a beginning from which a share of it can be estimated.
const leastLeadSlots = 5

// leadIn estimates the share of the beginning of s that stands in t: the share of equal slots among the slots that sample the beginning.
func (s *Signature) leadIn(t *Signature) float64 {
	slots := binary.LittleEndian.Uint64(s.raw[leadAt:]) // and one byte more
	first, n, equal := slots&(minSlots-1), 0, 0
	for ; n < leadSlots; n++ {
		i := slots >> (7 * n) & (minSlots - 1)
		if n > 0 && i == first {
			break
		}
		if (s.raw[minAt+i/4]^t.raw[minAt+i/4])>>(i%4*2)&3 == 0 {
			equal++
		}
	}
	if n < leastLeadSlots {
		return 1
	}
	return max(0, (float64(equal)/float64(n)-0.25)/0.75)
}

// hasOtherSubject tells whether s is about a word that is none of the main words of t.
func (s *Signature) hasOtherSubject(t *Signature) bool {
	for _, w := range s.raw[mainAt : mainAt+mainWords] {
		if w&subjectBit == 0 {
			continue
		}
		if !slices.ContainsFunc(t.raw[mainAt:mainAt+mainWords], func(v byte) bool { return (v^w)&^subjectBit == 0 }) {
			return true
		}
	}
	return false
}

// Judge decides about two articles whose fingerprints are distance bits apart, which must be within the recipe's maximal distance. The
// zero Kind means different articles, also where a signature holds no information.
//
// Example with the default thresholds: the articles have a similarity of 0.45 and are not short. This is below Near, so they are possible
// copies. If they share all of their five numbers, the numbers vouch for a copy: Vouched is enough, and they are copies.
func Judge(distance int, c Comparison, t Thresholds) article.Judgement {
	j := decide(distance, c, t)
	if j.Kind != 0 {
		j.Likeness = c.likeness(t)
	}
	return j
}

// decide is Judge without the likeness.
func decide(distance int, c Comparison, t Thresholds) article.Judgement {
	if distance > WholeDistance && !c.Part() {
		return article.Judgement{Reason: article.ReasonDistance}
	}
	if c.Flash {
		return judgeFlash(c, t)
	}
	short := c.Bigrams < t.ShortPairs
	near := c.leastSimilarity(t, short)
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
	case c.OtherSubject && !c.Part():
		return article.Judgement{Kind: article.Possible, Reason: article.ReasonSubject}
	case c.J >= near:
		return article.Judgement{Kind: article.Near, Reason: article.ReasonOverlap}
	case short && c.J >= t.Near:
		return article.Judgement{Kind: article.Possible, Reason: article.ReasonShort}
	}
	return article.Judgement{Kind: article.Possible, Reason: article.ReasonOverlap}
}

// leastSimilarity is the similarity that two articles need to be copies.
func (c *Comparison) leastSimilarity(t Thresholds, short bool) float64 {
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
	return near
}

// Part tells whether one article is a part of the other, which is longer.
func (c *Comparison) Part() bool { return c.Containment >= contained && c.Longer >= partLonger }

// vouched tells whether there is evidence of a copy besides the similarity: the articles share every number, or one contains the other.
// Different reports on one template are about equally long, and each has words and numbers that the other lacks. In a copy, text was cut
// or added, or words were changed and numbers were not.
//
// A short article needs both. It has few numbers, and a report of the same kind may contain it.
func (c *Comparison) vouched(short bool) bool {
	many := c.CommonValues >= manyValues && c.CommonValues >= c.LeastValues-1
	numbers := c.Contradictions == 0 && (many || c.CommonValues >= someValues && c.CommonValues == c.LeastValues)
	whole := c.Containment >= contained
	if short {
		return numbers && (many || whole)
	}
	return numbers || whole
}

// forgiven counts contradictions and common numbers, with at most one number that differs counted as equal. In articles that are nearly
// the same such a number is more likely a correction, a slip or the date of another edition than a sign of another report.
//
// Example: two articles that are not short have a similarity of 0.9 and share five contexts, and one of the five numbers differs. One
// contradiction of five is above the share of 0.14 that Contradictions allows, but it is forgiven because the other four agree.
func (c *Comparison) forgiven(t Thresholds, short bool) (contradictions, common int) {
	contradictions, common = c.Contradictions, c.CommonValues
	inPlace := !short && c.SharedContexts-contradictions >= agreeing
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
