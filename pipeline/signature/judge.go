package signature

import (
	"fmt"

	"echosieve/pipeline/article"
)

// Thresholds decide what is a copy. They are settings, because sites differ in what they call a copy. Numbers that no site needs to change
// are the constants below.
//
//   - Near: at least this similarity makes a copy. Similarity is the share of word pairs in common, 0 to 1.
//   - Possible: at least this similarity makes a possible copy, and makes a copy if one article is a part of the other (see Part) or the
//     other one reworded (see Reworded). Half of it makes a copy of the beginning of an article, and of one reworded with four numbers.
//   - Contradictions: if at least this share of the numbers that stand in the same context differ, the articles are not copies. If their
//     main words differ, too, one such number is enough.
//   - Values: if the articles have less than this share of their numbers in common, they are possible copies at best.
//   - Vouched: at least this similarity makes a copy if the articles share every number, at least four. A short article must also be
//     contained in the other, or share eight.
//   - ShortNear: at least this similarity makes a copy of a short article.
//
// Raising a similarity drops look-alikes and copies that were reworded heavily. Lowering it catches more of both.
type Thresholds struct {
	Near           float64 `koanf:"near" range:"0..1" help:"Similarity (share of word pairs in common) of a copy. Raise it to drop fewer look-alikes, lower it to catch heavier rewrites."`
	Possible       float64 `koanf:"possible" range:"0..1" help:"Similarity of a possible copy, and of a copy that is a part of the other text. Lower it to mark more."`
	Contradictions float64 `koanf:"contradictions" range:"0..1" help:"Share of different numbers in the same places that rules out a copy. Lower it if template reports are joined."`
	Values         float64 `koanf:"values" range:"0..1" help:"Share of numbers that copies must share. Raise it if reports with other figures are joined."`
	Vouched        float64 `koanf:"vouched" range:"0..1" help:"Similarity of copies that share every number, at least four. Adjust it together with near."`
	ShortNear      float64 `koanf:"short_near" range:"0..1" help:"Similarity of short copies (fewer than 80 word pairs). Raise it if short reports are joined, lower it to catch rewritten ones."`
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
		{"short_near", t.ShortNear},
	} {
		if !(f.val >= 0 && f.val <= 1) {
			return fmt.Errorf("%s is %v, must be between 0 and 1", f.name, f.val)
		}
	}
	if t.Possible > t.Near {
		return fmt.Errorf("possible is %v, must not be above near, %v", t.Possible, t.Near)
	}
	return nil
}

// DefaultThresholds returns the thresholds of the recipe news. They and the constants below were chosen on labelled pairs of Chinese and
// English articles: docs/detection.md describes the pairs and the contribution of each test.
func DefaultThresholds() Thresholds {
	return Thresholds{Near: 0.46, Possible: 0.3, Contradictions: 0.14, Values: 0.7, Vouched: 0.41, ShortNear: 0.67}
}

// The thresholds that are not settings. Changing one changes verdicts and hence needs a new version of the recipe.
const (
	// WholeDistance is the largest distance in bits between two copies of which neither contains the other and is longer, nor is the other
	// one reworded with four numbers. Cutting off or adding text moves a fingerprint farther than replacing a few words does, so all of
	// Rule.MaxDistance is allowed then. Raised, more look-alikes pass.
	WholeDistance = 16
	// ShortPairs is the number of word pairs below which an article is short. With fewer samples, an overlap proves less.
	ShortPairs = 80
	// sure is the similarity from which one number that differs or is missing is taken for a correction.
	sure = 0.75
	// ContainedShare is the least containment at which one article counts as containing the other. It is below 1 because containment is
	// an estimate. Lowered, more articles count as contained that have text of their own.
	ContainedShare = 0.85
	// partLonger is how many times as many word pairs the longer article has if the shorter one is a part of it. Page 1 of an article has
	// half of its words or less, so the similarity of the two is 0.5 or less, and Possible is enough to make them copies.
	partLonger = 1.25
	// wholeLonger is how many times as many word pairs the longer article has at most if the shorter one counts as its beginning.
	wholeLonger = 3.4
	// equallyLong is how many times as many word pairs the longer article has at most if nothing was cut or added. Counts are exact to 2 %.
	equallyLong = 1.06
	// similarityError is the standard error of Comparison.J.
	similarityError = 0.06
	// beginningErrors is by how many standard errors an estimated containment may be below ContainedShare if the shorter article has the
	// beginning and the numbers of the longer one.
	beginningErrors = 1.25
	// LeastLeadShare is the least share of the beginning of one article that stands in the other, if no more than half of their numbers are in
	// common. Below it they are different reports above the same small print.
	LeastLeadShare = 0.6
	// An article with fewer than smallPrintPairs word pairs may be mostly small print. Such articles are different reports above the same small
	// print, even with some numbers in common, if less than otherLeadShare of the beginning of one stands in the other.
	smallPrintPairs = 240
	otherLeadShare  = 0.3
	// fewValues is the least number of different numbers that vouch for a copy if the articles share all of them and their foremost main
	// words.
	fewValues = 2
	// someValues is the least number of different numbers that vouch for a copy, if the articles share all of them. Different reports with
	// as many equal numbers are rare.
	someValues = 4
	// manyValues is the least number of shared numbers that outweigh one that differs, in a short text as well. Sports results and
	// dividends are short and full of figures.
	manyValues = 8
	// agreeing is the least number of shared contexts whose numbers agree if one that contradicts is to be taken for a correction.
	agreeing = 2
	// foremostWords is how many of an article's main words must be main words of the other if a number that contradicts is to be taken for
	// a correction. Where a name differs as well, the articles are two reports of one form. Of all eight main words, as many must be the same
	// if one article is the other one reworded.
	foremostWords = 5
	// Two articles that are equally long and have at least the similarity sameWording are reports of one form about other names if more than
	// replacedWords main words and more than replacedDistance bits differ. A copy that keeps most words keeps the main ones, too, and names
	// have large weights: replacing them moves a fingerprint farther than replacing as many other words does.
	sameWording      = 0.6
	replacedWords    = 2
	replacedDistance = 10
)

// Judge decides about two articles whose fingerprints are distance bits apart, which must be within the recipe's maximal distance. The
// zero Kind means different articles, also where a signature holds no information.
//
// Example with the default thresholds: the articles have a similarity of 0.45 and are not short. This is below Near, so they are possible
// copies. If they share all of their five numbers, the numbers vouch for a copy: Vouched is enough, and they are copies.
func Judge(distance int, c Comparison, t Thresholds) article.Judgement {
	j := decide(distance, c, t)
	if j.Kind != 0 {
		j.Likeness = c.likeness()
	}
	return j
}

// decide is Judge without the likeness.
func decide(distance int, c Comparison, t Thresholds) article.Judgement {
	if distance > WholeDistance && !c.extended() && !c.retold() {
		return article.Judgement{Reason: article.ReasonDistance}
	}
	if c.Flash {
		return judgeFlash(c)
	}
	short := c.Bigrams < ShortPairs
	near := c.leastSimilarity(t, short)
	contradictions, common := c.forgiven(short)
	switch {
	case !c.Known:
		return article.Judgement{Reason: article.ReasonUnknown}
	case c.J < min(t.Possible, near):
		return article.Judgement{Reason: article.ReasonOverlap}
	case contradictions > 0 && (!c.SameForemost || float64(contradictions) >= t.Contradictions*float64(c.SharedContexts)):
		return article.Judgement{Reason: article.ReasonNumbers}
	case c.Opposite:
		return article.Judgement{Reason: article.ReasonOpposite}
	case float64(common) < t.Values*float64(c.LeastValues):
		return article.Judgement{Kind: article.Possible, Reason: article.ReasonValues}
	case c.otherBeginning():
		return article.Judgement{Kind: article.Possible, Reason: article.ReasonLead}
	case c.OtherSubject && !c.extended(), c.renamed(distance):
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
	switch {
	case short:
	case c.beginningOf(), c.retold():
		near = min(near, t.Possible/2)
	case c.Part(), c.restated():
		near = t.Possible
	}
	return near
}

// Reworded tells whether one article is the other one in other words, as an editor rewrites it: neither is short, they have about the same
// length, exactly the same numbers and most of the main words. Different reports of one event differ in a number, and so do reports on one
// template.
func (c *Comparison) Reworded() bool { return c.retold() || c.restated() }

// retold tells that four numbers or more vouch for a reworded article. In other words, a number can stand after words that stood before
// another one.
//
// Example: two articles of 133 word pairs have a similarity of 0.22. Both have the same 11 numbers, and all eight main words are the same.
func (c *Comparison) retold() bool {
	return c.sameNumbers() && c.CommonValues >= someValues && c.OtherMain <= mainWords-foremostWords &&
		(c.Contradictions == 0 || c.J < sameWording)
}

// restated tells that two or three numbers vouch for a reworded article, besides the foremost main words.
func (c *Comparison) restated() bool {
	return c.sameNumbers() && c.CommonValues >= fewValues && c.SameForemost && c.Contradictions == 0
}

// sameNumbers tells whether two articles that are not short and about equally long have the same numbers, if any.
func (c *Comparison) sameNumbers() bool {
	return c.Bigrams >= ShortPairs && c.Longer < partLonger && c.SameValues
}

// Part tells whether one article is a part of the other, which is longer.
func (c *Comparison) Part() bool { return c.contains() && c.Longer >= partLonger }

// extended tells whether one article contains the other and has more.
func (c *Comparison) extended() bool { return c.contains() && c.Longer > equallyLong }

func (c *Comparison) contains() bool { return c.Containment >= ContainedShare || c.beginningOf() }

// beginningOf tells whether the shorter article is the beginning of the longer one and about a third of it or more, such as page 1 of three
// pages. Its share of the longer article is known too roughly for that alone, so samples of the beginning and the numbers must agree.
//
// The containment follows from the similarity J as J (1 + Longer) / (1 + J). So its standard error is that of J times the derivative.
//
// Example: page 1 has 93 word pairs, the whole article 289. Their similarity is estimated as 0.20 in place of 0.32, and hence the containment
// as 0.68 in place of 1. Its standard error is 0.17, so 0.64 is enough. One of five numbers was cut in two at the end of page 1.
func (c *Comparison) beginningOf() bool {
	if !c.SameLead || c.Longer < partLonger || c.Longer > wholeLonger || c.Contradictions > 0 || c.CommonValues < c.LeastValues-1 {
		return false
	}
	containmentError := similarityError * (1 + c.Longer) / ((1 + c.J) * (1 + c.J))
	return c.Containment >= ContainedShare-beginningErrors*containmentError
}

// otherBeginning tells whether the articles are different reports above the same text, such as a legal notice. In short articles, a few
// numbers in common can be the notice's.
//
// Example: two reports of 60 characters stand above one notice of 300, which names three sections of a law. All three numbers are in common,
// but only two of eight samples of a beginning.
func (c *Comparison) otherBeginning() bool {
	return 2*c.CommonValues <= c.LeastValues && c.Lead < LeastLeadShare ||
		c.Bigrams < smallPrintPairs && c.CommonValues < manyValues && c.Lead < otherLeadShare
}

// renamed tells whether the articles are two reports of one form about other names.
//
// Example: two articles of 300 word pairs have a similarity of 0.75, three of eight main words differ, and so do 12 bits. In a copy as
// similar as that, at most two main words differ, unless something was cut or added.
func (c *Comparison) renamed(distance int) bool {
	return c.J >= sameWording && c.Longer <= equallyLong && c.OtherMain > replacedWords && distance > replacedDistance
}

// vouched tells whether the numbers are evidence of a copy besides the similarity: the articles share every number, of many all but one.
// Different reports on one template have numbers that the other lacks. In a copy, words were changed and numbers were not.
//
// A short article has few numbers: there must be many, or the other article must contain it.
func (c *Comparison) vouched(short bool) bool {
	many := c.CommonValues >= manyValues && c.CommonValues >= c.LeastValues-1
	all := c.CommonValues >= someValues && c.CommonValues == c.LeastValues
	return c.Contradictions == 0 && (many || all && (!short || c.Containment >= ContainedShare))
}

// forgiven counts contradictions and common numbers, with at most one number that differs counted as equal. In articles that are nearly
// the same such a number is more likely a correction, a slip or the date of another edition than a sign of another report. If it stands in
// the same context, the foremost main words must be the same: where a name differs as well, it is another report.
//
// Example: two articles that are not short have a similarity of 0.9 and share five contexts, and one of the five numbers differs. One
// contradiction of five is above the share of 0.14 that Contradictions allows, but it is forgiven because the other four agree.
func (c *Comparison) forgiven(short bool) (contradictions, common int) {
	contradictions, common = c.Contradictions, c.CommonValues
	inPlace := !short && c.SharedContexts-contradictions >= agreeing
	othersAgree := common >= c.LeastValues-1 && (c.J >= sure || c.Part() && contradictions == 0)
	switch {
	case c.retold():
		contradictions = 0
	case contradictions == 0:
		if othersAgree && common < c.LeastValues && (!short || common > 0) {
			common++
		}
	case !c.SameForemost:
	case inPlace && c.J >= sure, othersAgree && common >= manyValues:
		contradictions--
	}
	return contradictions, common
}
