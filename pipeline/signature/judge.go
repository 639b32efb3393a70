package signature

import (
	"fmt"

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
