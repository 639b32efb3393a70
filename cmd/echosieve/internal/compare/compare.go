package compare

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"echosieve/app/sidebyside"
	"echosieve/pipeline/article"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/lookup"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/text"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
)

// Comparison says what B is to A, if B came later, and why. Its JSON names must not change.
type Comparison struct {
	Recipe string `json:"recipe"`
	// exact, near, possible, different, or empty: at least one has no text
	Verdict     string           `json:"verdict"`
	Explanation string           `json:"explanation"`
	Relation    string           `json:"relation"` // of B to A: none, equal, contained, extends, revises, overlaps
	Topic       string           `json:"topic"`    // where policy sends B: unique, possible, duplicate
	Distance    int              `json:"distance"` // bits
	MaxDistance int              `json:"max_distance"`
	Test        string           `json:"test"`         // the test that decided
	Found       bool             `json:"found"`        // the look-ups of the service lead from B to A
	Layout      comparedLayout   `json:"layout"`       // of the look-ups
	EqualBlocks []int            `json:"equal_blocks"` // 0 has the most significant bits
	Lookups     int              `json:"lookups"`      // for B
	FoundBy     []string         `json:"found_by"`     // the look-ups that lead from B to A
	A           comparedText     `json:"a"`
	B           comparedText     `json:"b"`
	Words       []comparedWord   `json:"words"` // heaviest first
	TotalWords  int              `json:"total_words"`
	OnlyA       []string         `json:"only_in_a"` // words, heaviest first; --top does not cut this list
	OnlyB       []string         `json:"only_in_b"`
	Figures     []Figure         `json:"figures"`
	Texts       []sidebyside.Run `json:"texts,omitempty"`
	Numbers     *Numbers         `json:"numbers,omitempty"` // of the texts

	compared evidence.Comparison
}

// comparedLayout is how fingerprints are cut into blocks, as the service with the same configuration cuts them.
type comparedLayout struct {
	Blocks int `json:"blocks"` // they start at equal distances; block 0 starts at the most significant bit
	Bits   int `json:"bits"`   // width of each
	Probes int `json:"probes"` // most values that are looked up for a block besides its own
}

// comparedText is one of the two texts.
type comparedText struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"` // SimHash, hexadecimal
	Bits        string `json:"bits"`        // the fingerprint in binary digits, most significant first
	Digest      string `json:"digest"`      // digest of the normalised text, hexadecimal
	Features    int    `json:"features"`    // different words that count
	LittleText  bool   `json:"little_text"`
	CleanBytes  int    `json:"clean_bytes"`
	// LeftOut is the share of the clean text that the fingerprint ignores: lines around the article, and
	// boilerplate sentences.
	LeftOut float64 `json:"left_out"`
}

// comparedWord is a word of either text. A weight of 0 means that the text does not have it.
type comparedWord struct {
	Word    string  `json:"word"`
	IDF     float64 `json:"idf"`
	CountA  int     `json:"count_a"`
	CountB  int     `json:"count_b"`
	WeightA float64 `json:"weight_a"`
	WeightB float64 `json:"weight_b"`
}

// compareTexts compares two texts of one origin as the service does, and keeps every intermediate result.
func compareTexts(recipe *recipe.Recipe, index keyspace.Config, from article.Origin, names, texts [2]string,
	cfg recipe.Config) Comparison {
	a, _ := recipe.Fingerprint(texts[0], from)
	b, _ := recipe.Fingerprint(texts[1], from)
	c := Articles(recipe.ID(), index, names, &a, &b, cfg, false)
	c.Words = compareWords(recipe.Weights(texts[0], from), recipe.Weights(texts[1], from))
	c.TotalWords = len(c.Words)
	for _, w := range c.Words {
		switch {
		case w.CountB == 0:
			c.OnlyA = append(c.OnlyA, w.Word)
		case w.CountA == 0:
			c.OnlyB = append(c.OnlyB, w.Word)
		}
	}
	return c
}

// Articles compares two articles whose texts may be lost. It needs SimHash, Fingerprint, Digest, LittleText
// and Signature of each, and compares no words. Look-ups are those that the other fields allow. found says
// that the service has found a when b came: the anchor that did so may be lost with the text, and b is judged
// as if it were there.
func Articles(recipeID string, index keyspace.Config, names [2]string, a, b *article.Article, cfg recipe.Config,
	found bool) Comparison {
	plan := index.Plan()
	c := Comparison{
		Recipe:      recipeID,
		Distance:    simhash.Distance(a.SimHash, b.SimHash),
		MaxDistance: index.MaxDistance,
		Found:       found || plan.Finds(b, a),
		Layout:      comparedLayout{plan.Layout.Count, plan.Layout.Width(0), plan.Probes},
		EqualBlocks: []int{},
		FoundBy:     []string{},
		A:           describeText(names[0], *a),
		B:           describeText(names[1], *b),
		Words:       []comparedWord{},
		OnlyA:       []string{},
		OnlyB:       []string{},
	}
	c.addLookups(plan, a, b)
	judgement := plan.Judge(&index.Rule, b, a)
	if found {
		judgement = index.Compare(b, a)
	}
	c.Test = judgement.Reason.String()
	c.Relation, c.Topic = judgement.Relation.String(), index.Destination(judgement).String()
	x, _ := evidence.Decode(a.Signature)
	y, _ := evidence.Decode(b.Signature)
	c.compared = evidence.Compare(&y, &x) // B comes later
	rule := evidence.NewRule(cfg.Thresholds)
	c.Figures = c.figures(&rule)
	c.explain(judgement, &rule)
	return c
}

// addLookups lists the blocks that are equal and the look-ups by which the service finds A when B comes.
func (c *Comparison) addLookups(plan lookup.Plan, a, b *article.Article) {
	all := plan.Lookups(b, a)
	c.Lookups = len(all)
	for _, l := range all {
		switch {
		case !l.Found || !c.Found: // little text is found by its digest only
		case l.Block == plan.Layout.Count:
			c.FoundBy = append(c.FoundBy, fmt.Sprintf("anchor %d", l.Number))
		case l.Number == 0:
			c.EqualBlocks = append(c.EqualBlocks, l.Block)
			c.FoundBy = append(c.FoundBy, fmt.Sprintf("block %d", l.Block))
		default:
			c.FoundBy = append(c.FoundBy, fmt.Sprintf("block %d probe %d", l.Block, l.Number))
		}
	}
}

func describeText(name string, a article.Article) comparedText {
	return comparedText{
		Name: name, Fingerprint: a.SimHash.String(), Bits: a.SimHash.Bits(), Digest: fmt.Sprintf("%x", a.Digest),
		Features: a.Features, LittleText: a.LittleText, CleanBytes: a.CleanBytes, LeftOut: a.LeftOut(),
	}
}

// compareWords joins the words of two texts, ordered by the larger of their two weights.
func compareWords(a, b []text.WeightedWord) []comparedWord {
	words := make([]comparedWord, 0, len(a)+len(b))
	at := make(map[string]int, len(a)+len(b))
	for _, w := range a {
		at[w.Word] = len(words)
		words = append(words, comparedWord{Word: w.Word, IDF: w.IDF, CountA: w.Count, WeightA: w.Weight})
	}
	for _, w := range b {
		i, both := at[w.Word]
		if !both {
			i = len(words)
			words = append(words, comparedWord{Word: w.Word, IDF: w.IDF})
		}
		words[i].CountB, words[i].WeightB = w.Count, w.Weight
	}
	slices.SortFunc(words, func(x, y comparedWord) int {
		return cmp.Or(
			cmp.Compare(max(y.WeightA, y.WeightB), max(x.WeightA, x.WeightB)),
			cmp.Compare(x.Word, y.Word))
	})
	return words
}

// Numbers are the numbers that only one of two texts has, in the order of the texts.
type Numbers struct {
	Original []string `json:"only_in_original"`
	Article  []string `json:"only_in_article"`
}

// AddTexts aligns the texts of both articles, as records have them, and finds the numbers that differ.
func (c *Comparison) AddTexts(a, b string) {
	c.Texts = sidebyside.Align(text.Readable(a), text.Readable(b), text.Clean)
	numbers := [2][]string{number.FindAllString(text.Clean(a), -1), number.FindAllString(text.Clean(b), -1)}
	only := func(list, other []string) []string {
		there, out := map[string]bool{}, []string{}
		for _, n := range other {
			there[n] = true
		}
		for _, n := range list {
			if !there[n] {
				there[n] = true
				out = append(out, n)
			}
		}
		return out
	}
	c.Numbers = &Numbers{only(numbers[0], numbers[1]), only(numbers[1], numbers[0])}
}

// number matches a number with its separators, in clean text.
var number = regexp.MustCompile(`\d+(?:[.,:]\d+)*`)

// Figure is a measure by which the rule decides, beside its limit.
type Figure struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Limit   string `json:"limit"`
	State   string `json:"state"`             // passed, decided, or not asked because a row above decided
	Setting string `json:"setting,omitempty"` // that holds the limit; empty: it is part of the recipe
}

// figures lists the measures of the rule. Without signatures there is the distance only.
func (c *Comparison) figures(rule *evidence.Rule) []Figure {
	bits := Figure{Name: "bits that differ", Value: fmt.Sprint(c.Distance), Limit: fmt.Sprintf("at most %d", c.MaxDistance),
		State: evidence.Passed, Setting: "detection.max_distance"}
	beyond := c.Distance > c.MaxDistance
	asked := rule.Figures(c.Distance, c.compared)
	if beyond || len(asked) == 0 {
		bits.State = evidence.Decided
	}
	list := []Figure{bits}
	for _, a := range asked {
		f := newFigure(a.Figure)
		if f.State = a.State; beyond {
			f.State = evidence.NotAsked
		}
		same := slices.IndexFunc(list, func(other Figure) bool { return other.Name == f.Name })
		if same >= 0 && f.State != evidence.Decided {
			continue // a figure with two limits stands there once, with that which decides
		}
		if same >= 0 {
			list = slices.Delete(list, same, same+1)
		}
		list = append(list, f)
	}
	return list
}

func newFigure(f evidence.Figure) Figure {
	return Figure{Name: f.Name, Value: f.Value, Limit: f.Limit, Setting: f.Setting}
}

// String returns the figure as it stands in a sentence.
func (f Figure) String() string {
	s := fmt.Sprintf("%s: %s, %s", f.Name, f.Value, f.Limit)
	if f.Setting != "" {
		s += " (" + f.Setting + ")"
	}
	return s
}
