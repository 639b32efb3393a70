package evidence

import (
	"fmt"

	"echosieve/pipeline/article"
)

// Thresholds are the limits of the rule that are settings, because sites differ in what they call a copy. Similarity is the share of word
// pairs in common, 0 to 1. Raising a similarity drops look-alikes, and copies that were reworded heavily. Lowering it catches more of both.
type Thresholds struct {
	Near      float64 `setting:"near" range:"0..1" help:"Similarity (share of word pairs in common) of a copy. Raise it to drop fewer look-alikes, lower it to catch heavier rewrites."`
	Possible  float64 `setting:"possible" range:"0..1" help:"Similarity of a possible copy, and of a copy that is a part of the other text or the other one reworded. Lower it to mark more."`
	ShortNear float64 `setting:"short_near" range:"0..1" help:"Similarity of copies that are short (fewer than 80 word pairs) or have other main words. Raise it if short reports are joined, lower it to catch rewritten ones."`
	Values    float64 `setting:"values" range:"0..1" help:"Share of numbers that copies must share. Raise it if reports with other figures are joined."`
}

// Validate reports the first threshold that makes no sense.
func (t Thresholds) Validate() error {
	for _, f := range []struct {
		name string
		val  float64
	}{{"near", t.Near}, {"possible", t.Possible}, {"short_near", t.ShortNear}, {"values", t.Values}} {
		if !(f.val >= 0 && f.val <= 1) {
			return fmt.Errorf("%s is %v, must be between 0 and 1", f.name, f.val)
		}
	}
	if t.Possible > t.Near {
		return fmt.Errorf("possible is %v, must not be above near, %v", t.Possible, t.Near)
	}
	return nil
}

// DefaultThresholds returns the thresholds of the recipe news. They were chosen on labelled pairs of Chinese and English articles.
func DefaultThresholds() Thresholds {
	return Thresholds{Near: 0.46, Possible: 0.3, ShortNear: 0.64, Values: 0.7}
}

// Limits are the other numbers of the rule: no site needs to change one. A change changes verdicts and needs a new version of the recipe.
// The command eval ablate of echosieve-lab says what each is worth: it switches one off and counts the verdicts that change.
type Limits struct {
	// WholeDistance is the largest distance in bits between two copies of about equal length. A text that was cut, extended or reworded may
	// be farther away: all of Rule.MaxDistance is allowed. Above 16, chance candidates of look-ups by blocks multiply.
	WholeDistance int
	// ShortPairs is the number of word pairs below which an article is short. With fewer samples, an overlap proves less.
	ShortPairs float64
	// Contained is the least containment at which one article counts as containing the other. It is below 1 because containment is an
	// estimate. Articles in which one sentence was replaced have it, too: Longer tells them apart.
	Contained float64
	// Longer is how many times as many word pairs the longer article has at least if the shorter one is a part of it.
	Longer float64
	// Beginning is the least containment of a part that has the beginning and the numbers of the longer article. The containment of a third
	// of a text has a standard error of 0.17: 0.65 is what four of five of them keep.
	Beginning float64
	// OtherWords is the largest number of an article's eight main words that are no main words of its copy, unless one is a part of the
	// other or they have ShortNear in common. A part has at least as many main words in common with its whole.
	OtherWords int
	// OtherBits is the distance in bits above which OtherWords counts: names have large weights, so replacing them moves a fingerprint
	// farther than replacing as many other words.
	OtherBits int
	// FewWords is the number of main words that may differ by chance, in a part and below another beginning.
	FewWords int
	// Growth is how much more often a text must have the main words of its part, for each length of the part that it has more. Else it is
	// about other things, too, as a round-up is.
	Growth float64
	// Lead is the least share of the beginning of one article that stands in the other if more than FewWords main words differ.
	Lead float64
	// Numbers is the least number of different numbers that vouch for a short copy. More of them vouch for a reworded one.
	Numbers int
	// Contradictions is the share of different numbers in the same places that rules out a copy.
	Contradictions float64
	// Corrected is the similarity from which one number that differs or is missing is taken for a correction.
	Corrected float64
}

// DefaultLimits returns the limits of the recipe news. Those of main words, growth and beginnings were chosen on made pairs of articles in
// 23 languages, the others on labelled pairs; docs/evaluation.md names the articles.
func DefaultLimits() Limits {
	return Limits{
		WholeDistance: 16, ShortPairs: 80, Contained: 0.9, Longer: 1.25, Beginning: 0.65, OtherWords: 3, OtherBits: 12, FewWords: 2,
		Growth: 0.3, Lead: 0.3, Numbers: 3, Contradictions: 0.14, Corrected: 0.75,
	}
}

// Rule decides about two articles. Copy a Rule before changing it.
type Rule struct {
	Thresholds
	Limits
	// Off has a bit for each row of Rows that never applies. It is for measurements.
	Off uint
}

// NewRule returns the rule with its default limits.
func NewRule(t Thresholds) Rule { return Rule{Thresholds: t, Limits: DefaultLimits()} }

// Row is one row of the rule. The first row that applies decides.
type Row struct {
	Kind   article.Kind // zero: different articles
	Reason article.Reason
	When   string // when the row applies, for the documentation
	Says   string // what that means for two texts, for people
	// Example is one such pair of texts, for the documentation.
	Example string
	// applies tells whether the row applies.
	applies func(e evidence) bool
	// figure is what decided, beside its limit.
	figure func(e evidence) Figure
}

// Figure is a measure beside its limit.
type Figure struct {
	Name, Value, Limit string
	Setting            string // that holds the limit; empty if the limit is part of the recipe
}

// Rows returns the rows of the rule, in order. The last one always applies.
func Rows() []Row { return rows }

var rows = []Row{
	{
		Reason:  article.ReasonDistance,
		When:    "more than 16 bits differ, and neither text is a part of the other or the other one reworded",
		Says:    "their fingerprints are too far apart for two texts of which neither is a part of the other, nor the other one reworded",
		Example: "two matches of one evening, in reports of about equal length",
		applies: func(e evidence) bool {
			return e.distance > e.WholeDistance && !e.part && !e.retold
		},
		figure: func(e evidence) Figure {
			return Figure{"bits that differ", fmt.Sprint(e.distance), fmt.Sprintf("at most %d", e.WholeDistance), ""}
		},
	},
	{
		Reason:  article.ReasonOverlap,
		When:    "fewer than 30 % of the word pairs are in both (`possible`), of a beginning or a retold text half of that",
		Says:    "they have too few word pairs in common",
		Example: "two outlets' own accounts of one event",
		applies: func(e evidence) bool { return e.J < e.least() },
		figure: func(e evidence) Figure {
			return Figure{"word pairs in both", share(e.J), "at least " + share(e.least()), "detection.possible"}
		},
	},
	{
		Reason:  article.ReasonNumbers,
		When:    "14 % or more of the numbers in the same places differ, or any if the main words differ, and it is no correction",
		Says:    "in the same places they have different numbers",
		Example: "the inflation rates of March and of April",
		applies: evidence.contradicts,
		figure: func(e evidence) Figure {
			return Figure{"numbers that differ in one place", fmt.Sprintf("%d of %d", e.differ, e.places), "less than " + share(e.Limits.Contradictions), ""}
		},
	},
	{
		Kind: article.Possible, Reason: article.ReasonValues,
		When:    "fewer than 70 % of the numbers are in both (`values`)",
		Says:    "too many numbers of one are missing in the other",
		Example: "the same storm a day later, with new figures",
		applies: func(e evidence) bool {
			return float64(e.common) < e.leastValues()*float64(e.LeastValues)
		},
		figure: func(e evidence) Figure {
			return Figure{"numbers in both", fmt.Sprintf("%d of %d", e.CommonValues, e.LeastValues), "at least " + share(e.leastValues()), "detection.values"}
		},
	},
	{
		Kind: article.Possible, Reason: article.ReasonSubject,
		When:    "neither is a part of the other, and more than three of eight main words and 12 bits differ, or the subjects do",
		Says:    "they are about different names or things",
		Example: "two appointments, worded alike, of other people",
		applies: func(e evidence) bool {
			return !e.part && (e.OtherSubject || e.OtherMain > e.OtherWords && e.distance > e.OtherBits)
		},
		figure: func(e evidence) Figure {
			return Figure{"main words that differ", fmt.Sprintf("%d of %d", e.OtherMain, mainWords), fmt.Sprintf("at most %d", e.OtherWords), ""}
		},
	},
	{
		Kind: article.Possible, Reason: article.ReasonLead,
		When:    "neither is a part of the other, less than 30 % of one's beginning is in the other, and two main words differ",
		Says:    "they begin differently: two reports above the same list or notice",
		Example: "two reports of five lines above one list of related news",
		applies: func(e evidence) bool {
			return !e.part && e.Lead < e.Limits.Lead && e.OtherMain >= e.FewWords
		},
		figure: func(e evidence) Figure {
			return Figure{"beginning of one in the other", share(e.Lead), "at least " + share(e.Limits.Lead), ""}
		},
	},
	{
		Kind: article.Near, Reason: article.ReasonOverlap,
		When:    "46 % of the word pairs are in both (`near`), or what the table of evidence says",
		Says:    "they have enough word pairs in common",
		Example: "the article on another site, a fifth of its words replaced",
		applies: func(e evidence) bool { return e.similarity() >= e.needed().similarity(e) },
		figure:  evidence.overlap,
	},
	{
		Kind: article.Possible, Reason: article.ReasonOverlap,
		When:    "otherwise",
		Says:    "they have many word pairs in common, but not enough for a copy",
		Example: "the article beside a round-up of which it is a third",
		applies: func(evidence) bool { return true },
		figure:  evidence.overlap,
	},
}

// Need is the similarity that a copy needs with certain evidence. The first need whose evidence is there counts.
type Need struct {
	With    string // the evidence
	Setting string // that holds the similarity; empty if it is part of the recipe
	there   func(e evidence) bool
	// similarity is the similarity needed.
	similarity func(e evidence) float64
}

// Needs returns the needs, in order. The last one always counts.
func Needs() []Need { return needs }

var needs = []Need{
	{
		"all words of one in the other, as flashes need", "",
		func(e evidence) bool { return e.Flash },
		func(evidence) float64 { return 1 },
	},
	{
		"a short text that is in the other one with all its numbers, at least three", "detection.near",
		func(e evidence) bool {
			return e.short && e.vouched && e.CommonAll >= e.Numbers && e.Containment >= e.Limits.Contained
		},
		func(e evidence) float64 { return e.Near },
	},
	{
		"short texts, or more than three of eight main words differ and neither text is a part of the other", "detection.short_near",
		func(e evidence) bool { return e.short || !e.part && e.OtherMain > e.OtherWords },
		func(e evidence) float64 { return max(e.Near, e.ShortNear) },
	},
	{
		"the same numbers, at least four, and most main words", "detection.possible",
		func(e evidence) bool { return e.retold },
		func(e evidence) float64 { return e.Possible / 2 },
	},
	{
		"one text is the beginning of the other, which stays with its subject", "detection.possible",
		func(e evidence) bool { return e.beginning && e.onSubject() },
		func(e evidence) float64 { return e.Possible / 2 },
	},
	{
		"one text is a part of the other, which stays with its subject", "detection.possible",
		func(e evidence) bool { return e.part && e.onSubject() },
		func(e evidence) float64 { return e.Possible },
	},
	{
		"the same numbers, at least two, and the foremost main words", "detection.possible",
		func(e evidence) bool { return e.restated },
		func(e evidence) float64 { return e.Possible },
	},
	{
		"all main words and all numbers of one text, which is no part of the other", "detection.possible",
		func(e evidence) bool { return e.J < e.Near && e.vouched && e.OtherMain == 0 && !e.part },
		func(e evidence) float64 { return e.Possible },
	},
	{
		"no other evidence", "detection.near",
		func(evidence) bool { return true },
		func(e evidence) float64 { return e.Near },
	},
}

func share(x float64) string { return fmt.Sprintf("%.2f", x) }
