package evidence

import (
	"fmt"
	"strconv"

	"echosieve/pipeline/article"
	"echosieve/pipeline/limits"
)

// Thresholds are the limits of the rule that are settings, because sites differ in what they call a copy.
// Similarity is the share of word pairs in common, 0 to 1. Raising a similarity drops look-alikes, and copies
// that were reworded heavily. Lowering it catches more of both.
type Thresholds struct {
	Near      float64 `setting:"near" range:"0..1"`
	Possible  float64 `setting:"possible" range:"0..1"`
	ShortNear float64 `setting:"short_near" range:"0..1"`
	Values    float64 `setting:"values" range:"0..1"`
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

// DefaultThresholds returns the thresholds of the recipe news. They were chosen on labelled pairs of Chinese
// and English articles.
func DefaultThresholds() Thresholds {
	return Thresholds{Near: limits.Near, Possible: limits.Possible, ShortNear: limits.ShortNear, Values: limits.Values}
}

// Rule decides about two articles. Copy a Rule before changing it.
type Rule struct {
	Thresholds
	Never Never
	Off   Off // for measurements
}

// Off has a bit for each row, need and pardon that never applies.
type Off struct{ Rows, Needs, Pardons uint }

// Row is one row of the rule. The first row that applies decides.
type Row struct {
	Kind   article.Kind // zero: different articles
	Reason article.Reason
	When   string // when the row applies, for the documentation
	Says   string // what that means for two texts, for people
	Turn   string // what an operator can change about it, for the documentation; empty: nothing
	// Example is one such pair of texts, for the documentation.
	Example string
	// applies tells whether the row applies.
	applies func(e evidence) bool
	// figure is what decided, beside its limit.
	figure func(e evidence) Figure
}

// Figure is a measure beside its limit.
type Figure struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Limit   string `json:"limit"`
	Setting string `json:"setting,omitempty"` // that holds the limit; empty if the limit is part of the recipe
}

// String returns the figure as it stands in a sentence.
func (f Figure) String() string {
	s := fmt.Sprintf("%s: %s, %s", f.Name, f.Value, f.Limit)
	if f.Setting != "" {
		s += " (" + f.Setting + ")"
	}
	return s
}

// Format names what signatures hold and what the rows decide, in order, for the id of a recipe.
func Format() string {
	format := fmt.Sprintf("signatures %d %d, needs %d, rows", Version, flashVersion, len(needs))
	for i := range rows {
		format += fmt.Sprintf(" %s/%s", rows[i].Kind, rows[i].Reason)
	}
	return format
}

// Rows returns the rows of the rule, in order. The last one always applies.
func Rows() []Row { return rows }

var rows = []Row{
	{
		Reason: article.ReasonDistance,
		When: fmt.Sprintf(
			"more than %d bits differ, neither text is a part of the other, and neither is the other one reworded",
			limits.WholeDistance),
		Says: "their fingerprints are too far apart for two texts of which neither is a part of the other, nor " +
			"the other one reworded",
		Example: "two matches of one evening, in reports of about equal length",
		applies: func(e evidence) bool {
			return e.distance > limits.WholeDistance && !e.part && !e.retold
		},
		figure: func(e evidence) Figure {
			return Figure{"bits that differ", fmt.Sprint(e.distance), fmt.Sprintf("at most %d", limits.WholeDistance), ""}
		},
	},
	{
		Reason: article.ReasonOverlap,
		When: "fewer than " + percent(limits.Possible) +
			" of the word pairs are in both (`possible`); for a beginning and a reworded text half of that is enough",
		Says:    "they have too few word pairs in common",
		Turn:    "lower `possible` to mark more",
		Example: "two outlets' own accounts of one event",
		applies: func(e evidence) bool { return e.J < e.least() },
		figure: func(e evidence) Figure {
			setting := "detection.possible"
			if e.least() < e.Possible {
				setting = ""
			}
			return shares("word pairs in both", e.J, "at least", e.least(), setting)
		},
	},
	{
		Reason: article.ReasonNumbers,
		When: "of the numbers in the same places, " + percent(limits.Contradictions) +
			" differ, or a single one if the foremost main words differ, too; a correction does not count",
		Says:    "in the same places they have different numbers",
		Example: "the inflation rates of March and of April",
		applies: func(e evidence) bool {
			return e.differ > 0 && (!e.SameForemost || float64(e.differ) >= limits.Contradictions*float64(e.places))
		},
		figure: func(e evidence) Figure {
			limit := "less than " + fmt.Sprintf("%.2f", limits.Contradictions)
			switch {
			case e.Flash:
				limit = "at most 0 in a flash"
			case !e.SameForemost:
				limit = "at most 0 where main words differ"
			}
			return Figure{"numbers that differ in one place", fmt.Sprintf("%d of %d", e.differ, e.places), limit, ""}
		},
	},
	{
		Kind: article.Possible, Reason: article.ReasonValues,
		When:    "fewer than " + percent(limits.Values) + " of the numbers are in both (`values`)",
		Says:    "too many numbers of one are missing in the other",
		Turn:    "raise `values` to join less",
		Example: "the same storm a day later, with new figures",
		applies: func(e evidence) bool {
			return float64(e.common) < e.leastValues()*float64(e.LeastValues)
		},
		figure: func(e evidence) Figure {
			_, limit := apart(float64(e.common)/max(1, float64(e.LeastValues)), e.leastValues())
			return Figure{"numbers in both", fmt.Sprintf("%d of %d", e.common, e.LeastValues), "at least " + limit,
				"detection.values"}
		},
	},
	{
		Kind: article.Possible, Reason: article.ReasonSubject,
		When: fmt.Sprintf("each is about a word that is no main word of the other, and neither is a part that stays "+
			"with its subject; or neither is a part, and more than %d of %d main words and %d bits differ",
			limits.OtherWords, limits.MainWords, limits.LoneDistance),
		Says:    "they are about different names or things",
		Example: "two appointments, worded alike, of other people",
		applies: func(e evidence) bool {
			return e.otherSubject() || !e.part && e.OtherMain > limits.OtherWords && e.distance > limits.LoneDistance
		},
		figure: func(e evidence) Figure {
			if e.otherSubject() {
				return Figure{"texts about a word that the other is not about", "2 of 2", "at most 1", ""}
			}
			return Figure{"main words that differ", fmt.Sprintf("%d of %d", e.OtherMain, limits.MainWords),
				fmt.Sprintf("at most %d", limits.OtherWords), ""}
		},
	},
	{
		Kind: article.Possible, Reason: article.ReasonLead,
		When: fmt.Sprintf("at most %s of one's beginning is in the other, and neither is a part, and more than two main "+
			"words differ or, unless a text is short, at most two stand more than once in both; or the later one has a "+
			"short text of another publisher below its own beginning", percent(halfLead)),
		Says:    "they begin differently: two reports above the same list or notice",
		Example: "two reports above one list or disclaimer",
		applies: func(e evidence) bool {
			return e.footer() ||
				!e.Flash && !e.part && e.Lead <= halfLead && (e.OtherMain > 2 || !e.short && e.Repeated <= 2)
		},
		figure: func(e evidence) Figure {
			if e.footer() {
				return Figure{"own beginnings above a short text of another publisher", "1", "at most 0", ""}
			}
			return shares("beginning of one in the other", e.Lead, "more than", halfLead, "")
		},
	},
	{
		Kind: article.Possible, Reason: article.ReasonPublisher,
		When: fmt.Sprintf("one publisher published both as two, and more than %s of the later one's word pairs (%s of "+
			"a short text's) are new; %s if a number, the beginning or, under another title, a main word is new, or after "+
			"%d hours; or one short text stands under two titles", percent(limits.Added), percent(1-limits.Contained),
			percent(hardlyAdded), limits.Day),
		Says:    "one publisher published both as two articles, and the later one brings something new",
		Turn:    "name publishers that carry others in `carriers`",
		Example: "a follow-up: a new first paragraph above the old report",
		applies: func(e evidence) bool { return e.placeholder() || e.house() && e.added() > e.mostAdded() },
		figure: func(e evidence) Figure {
			if e.placeholder() && e.added() <= e.mostAdded() {
				return Figure{"titles of one publisher above one short text", "2", "at most 1", "detection.carriers"}
			}
			name := "new in the later article"
			switch {
			case e.newNumber():
				name += ", a number among it"
			case !e.soon():
				name += ", after days"
			case e.Lead <= halfLead && !e.Flash:
				name += ", its beginning among it"
			case e.otherNews():
				name += ", about something else"
			}
			return shares(name, e.added(), "at most", e.mostAdded(), "detection.carriers")
		},
	},
	{
		Kind: article.Near, Reason: article.ReasonOverlap,
		When: percent(limits.Near) + " of the word pairs are in both (`near`), or the share that other evidence asks " +
			"for (below)",
		Says:    "they have enough word pairs in common",
		Turn:    "raise `near` or `short_near` to join less",
		Example: "the article on another site, a fifth of its words replaced",
		applies: func(e evidence) bool { return e.similarity() >= e.needed().similarity(e) },
		figure:  overlap,
	},
	{
		Kind: article.Possible, Reason: article.ReasonOverlap,
		When:    "otherwise",
		Says:    "they have many word pairs in common, but not enough for a copy",
		Turn:    "lower `near` or `short_near` to join more",
		Example: "the article beside a round-up of which it is a third",
		applies: func(evidence) bool { return true },
		figure:  overlap,
	},
}

// overlap is the figure of the similarity beside the similarity that a copy needs.
func overlap(e evidence) Figure {
	n, name := e.needed(), "word pairs in both"
	if e.Flash {
		name = "words of the shorter text in both"
	}
	return shares(name, e.similarity(), "a copy from", n.similarity(e), n.Setting)
}

// neverRow decides before all rows about the articles of such a pair.
var neverRow = Row{
	Reason: article.ReasonPublisher,
	Says:   "their publishers are never compared",
	figure: func(evidence) Figure {
		return Figure{"pairs of publishers that are never compared", "1", "at most 0", "detection.never"}
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

// Default is the similarity needed if all settings have their defaults.
func (n *Need) Default() float64 {
	return n.similarity(evidence{Rule: &Rule{Thresholds: DefaultThresholds()}})
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
		"reworded: the same numbers, four or more, and most main words", "",
		func(e evidence) bool { return e.retold },
		func(e evidence) float64 { return e.backed() / 2 },
	},
	{
		"one text is the beginning of the other, which stays with its subject", "",
		func(e evidence) bool { return e.beginning && e.onSubject() },
		func(e evidence) float64 { return e.backed() / 2 },
	},
	{
		"one text is a part of the other, which stays with its subject", "",
		func(e evidence) bool { return e.part && e.onSubject() },
		evidence.backed,
	},
	{
		"a short text that is the beginning of the other one", "detection.near",
		func(e evidence) bool { return e.short && e.beginning },
		func(e evidence) float64 { return e.Near },
	},
	{
		fmt.Sprintf("fewer than %d word pairs, or more than %d main words differ and neither is a part",
			limits.ShortPairs, limits.OtherWords), "detection.short_near",
		func(e evidence) bool { return e.short || !e.part && e.OtherMain > limits.OtherWords },
		func(e evidence) float64 { return max(e.Near, e.ShortNear) },
	},
	{
		"the same numbers, two or more, and the foremost main words", "",
		func(e evidence) bool { return e.restated },
		evidence.backed,
	},
	{
		"all main words and all numbers of one text, which is no part of the other", "",
		func(e evidence) bool { return e.J < e.Near && e.vouched && e.OtherMain == 0 && !e.part },
		evidence.backed,
	},
	{
		"no other evidence", "detection.near",
		func(evidence) bool { return true },
		func(e evidence) float64 { return e.Near },
	},
}

// Pardon is a number that differs or is missing, and counts as equal: it is more likely a correction or a slip than a
// sign of another report. The first pardon that is there counts.
//
// Example: two articles that are not short have a similarity of 0.9 and share five places, and one of the
// five numbers differs. It is forgiven because the other four agree.
type Pardon struct {
	Of    string
	there func(e evidence) bool
	grant func(counted) counted
}

// Pardons returns the pardons, in order.
func Pardons() []Pardon { return pardons }

var pardons = []Pardon{
	{
		"numbers of a text in other words, where they stand after other words",
		func(e evidence) bool { return e.retold },
		func(c counted) counted { c.differ = 0; return c },
	},
	{
		"one number that is missing in nearly the same text",
		func(e evidence) bool {
			return e.differ == 0 && e.missing() == 1 && e.alike && (!e.short || e.common > 0)
		},
		func(c counted) counted { return counted{c.differ, c.places, c.common + 1, true} },
	},
	{
		"one number that differs in nearly the same text, if no number of the version does",
		func(e evidence) bool { return e.corrects() && e.alike && e.HeadContradictions == 0 },
		forgiveOther,
	},
	{
		"one number that differs in a part with all others",
		func(e evidence) bool { return e.corrects() && e.part && e.missing() <= 1 },
		forgiveOther,
	},
}

func forgiveOther(c counted) counted { return counted{c.differ - 1, c.places, c.common, true} }

// shares is the figure of a share beside its limit.
func shares(name string, value float64, at string, limit float64, setting string) Figure {
	v, l := apart(value, limit)
	if at == "at most" {
		l, v = apart(limit, value)
	}
	return Figure{name, v, at + " " + l, setting}
}

// apart writes a share and its limit with as many digits as tell the two apart, at least two.
func apart(value, limit float64) (v, l string) {
	for digits := 2; ; digits++ {
		v, l = strconv.FormatFloat(value, 'f', digits, 64), strconv.FormatFloat(limit, 'f', digits, 64)
		if v != l || value >= limit {
			return v, l
		}
	}
}

// percent writes a share of limits for the documentation.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
