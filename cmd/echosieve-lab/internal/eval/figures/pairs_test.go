package figures

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/simhash"
)

func newArticle(digest byte, fp simhash.Fingerprint) article.Article {
	return article.Article{Fingerprint: fp, SimHash: fp, Digest: article.Digest{digest}}
}

// byDistance is the rule of four blocks and three bits, without a second check.
var byDistance = ByRecipe(article.Rule{MaxDistance: 3},
	lookup.New(article.Search{Rule: article.Rule{MaxDistance: 3}, Blocks: 4}, 0), article.DefaultPolicy())

func TestPairs(t *testing.T) {
	articles := map[string]article.Article{
		"a":     newArticle(1, 0),
		"same":  newArticle(1, 0),
		"near":  newArticle(2, 0b111),
		"far":   newArticle(3, 0xff_ff),                        // 16 bits away, three blocks equal
		"other": newArticle(4, 0xffff_ffff_ffff_ffff),          // no block equal
		"tpl":   newArticle(5, 0b1),                            // a look-alike at distance 1
		"short": {Digest: article.Digest{6}, LittleText: true}, // distance 0, but too little text
	}
	pairs := []Pair{
		{A: "a", B: "same", Label: Copy, Kind: "exact", Families: []string{"1"}},
		{A: "a", B: "near", Label: Copy, Kind: "edit", Families: []string{"1", "2"}},
		{A: "a", B: "far", Label: Copy, Kind: "edit", Families: []string{"3"}},
		{A: "a", B: "other", Label: Copy, Kind: "edit"},
		{A: "a", B: "tpl", Label: HardNegative, Kind: "template", Families: []string{"1"}},
		{A: "a", B: "other", Label: HardNegative, Kind: "background"},
		{A: "a", B: "short", Label: HardNegative, Kind: "background"},
		{A: "near", B: "tpl", Label: Partial, Kind: "digest"},
		{A: "far", B: "tpl", Label: HardNegative, Kind: "ignored"},
	}
	r, err := Pairs(articles, pairs, []Pair{{A: "tpl", B: "far"}, {A: "far", B: "tpl"}, {A: "a", B: "unknown"}},
		byDistance)
	require.NoError(t, err)
	require.Equal(t, Rates{Recall: 2. / 4, Precision: 2. / 3, FalsePositiveRate: 1. / 3}, r.Rates)
	require.InDelta(t, 4./7, r.F1, 1e-12)
	require.InDelta(t, 3./4, r.CandidateRecall, 1e-12)
	require.Equal(t, []int{7, 8, 4, 3, 1, 4},
		[]int{r.Docs, r.Pairs, r.Copies, r.LookAlikes, r.Debatable, r.WithoutFamily})
	require.Equal(t, []WrongPair{
		{A: "a", B: "tpl", Label: HardNegative, Kind: "template", Candidate: true, Distance: 1, Reason: "distance"},
		{A: "a", B: "far", Label: Copy, Kind: "edit", Candidate: true, Distance: 16, Reason: "distance"},
		{A: "a", B: "other", Label: Copy, Kind: "edit", Distance: 64, Reason: ReasonNotFound},
	}, r.Wrong, "false alarms first")
	for name, families := range map[string]int{"exact": 1, "edit": 3, "template": 1, "background": 2} {
		require.Equal(t, families, r.Kinds[name].Interval.Families, name)
	}
	for i, families := range []int{3, 1, 3, 3, 3} { // only families of the pairs that the figure counts
		require.Equal(t, families, r.Figures()[i].Interval.Families, r.Figures()[i].Name)
	}
	require.Len(t, r.Warnings, 6)
	for name, k := range r.Kinds {
		k.Interval = nil
		r.Kinds[name] = k
	}
	none := map[string]int{"none": 1} // distance tells no relation
	require.Equal(t, map[string]KindResult{
		"exact":    {Label: 1, N: 1, Flagged: 1, Relations: map[string]int{"equal": 1}},
		"edit":     {Label: 1, N: 3, Flagged: 1, Relations: none},
		"template": {N: 1, Flagged: 1, Relations: none}, "background": {N: 2, Relations: map[string]int{}},
		IgnoredKind: {Label: -1, N: 1, Relations: map[string]int{}},
		"digest":    {Label: -1, N: 1, Flagged: 1, Relations: none},
	}, r.Kinds)

	_, err = Pairs(articles, []Pair{{A: "a", B: "nobody", Label: Copy}}, nil, byDistance)
	require.ErrorContains(t, err, "nobody")
}

func TestPairParser(t *testing.T) {
	for _, c := range []struct {
		header, line string
		families     []string
	}{
		{"", "x\ty\t-1\tdigest", nil},
		{"id_a\tid_b\tlabel\tkind\tnote\tbase", "x\ty\t-1\tdigest\t\tb1, b2,", []string{"b1", "b2"}},
		{"id_a\tid_b\tlabel\tkind\tcluster", "x\ty\t-1\tdigest\tc1", []string{"c1"}},
		{"id_a\tid_b\tlabel\tkind\tcluster\tbase", "x\ty\t-1\tdigest\tc1\tb1", []string{"b1"}},
		{"id_a\tid_b\tlabel\tkind\tcluster\tbase", "x\ty\t-1\tdigest\tc1", []string{"c1"}},
	} {
		parser := PairParser{Labelled: true}
		if c.header != "" {
			_, header, err := parser.Parse(c.header)
			require.NoError(t, err)
			require.True(t, header)
		}
		p, header, err := parser.Parse(c.line)
		require.NoError(t, err, c.header)
		require.False(t, header)
		require.Equal(t, Pair{A: "x", B: "y", Label: Partial, Kind: "digest", Families: c.families}, p, c.header)
	}
	var unlabelled PairParser
	p, _, err := unlabelled.Parse("x\ty")
	require.NoError(t, err)
	require.Equal(t, Pair{A: "x", B: "y"}, p)
	labelled := PairParser{Labelled: true}
	for _, bad := range []string{"x", "x\ty", "x\ty\t2\tk", "x\ty\tyes\tk"} {
		_, _, err := labelled.Parse(bad)
		require.Error(t, err, bad)
	}
}

// shares makes terms of so many families of equal size, of which the first wrong ones are wrong as a whole.
func shares(families, size, wrong int) (terms []term) {
	for i := range families {
		for range size {
			one := term{families: []string{fmt.Sprint(i)}, whole: 1}
			if i < wrong {
				one.part = 1
			}
			terms = append(terms, one)
		}
	}
	return terms
}

func TestInterval(t *testing.T) {
	require.Nil(t, interval(nil))
	// The normal approximation for 5 of 100: .05 +- .043.
	single := interval(shares(100, 1, 5))
	require.InDelta(t, 0.01, single.Low, 0.0101)
	require.InDelta(t, 0.093, single.High, 0.0101)
	require.Equal(t, 100, single.Families)
	require.InDelta(t, 0.01, single.Largest, 1e-12)
	require.False(t, single.Few)

	// Twenty times as many pairs of as few families say no more.
	crowded := interval(shares(100, 20, 5))
	require.Equal(t, [2]float64{single.Low, single.High}, [2]float64{crowded.Low, crowded.High})
	require.Equal(t, crowded, interval(shares(100, 20, 5)), "the seed is fixed")

	require.True(t, interval(shares(19, 1, 5)).Few)
	require.False(t, interval(shares(20, 1, 5)).Few)
}

// No error among n families does not mean that there is none elsewhere: Clopper and Pearson's bound.
func TestIntervalWithoutErrors(t *testing.T) {
	for families, want := range map[int]float64{1: 0.975, 10: 0.3085, 30: 0.1157, 100: 0.0362} {
		none, all := interval(shares(families, 3, 0)), interval(shares(families, 3, families))
		require.InDelta(t, want, none.High, 1e-4)
		require.Zero(t, none.Low)
		require.InDelta(t, 1-want, all.Low, 1e-4)
		require.InDelta(t, 1, all.High, 0)
	}
	require.GreaterOrEqual(t, interval(shares(100, 1, 1)).High, interval(shares(100, 1, 0)).High,
		"an error more, no narrower")
}

// Each step counts with its own judge. Ignored and debatable pairs do not count, and a published version is no wrong
// drop. Values that the service refuses have no step.
func TestCurve(t *testing.T) {
	articles := map[string]article.Article{"a": {}, "b": {}, "c": {}}
	pairs := []Pair{{A: "a", B: "b", Label: Copy}, {A: "a", B: "c", Label: Version}, {A: "b", B: "c", Label: HardNegative},
		{A: "a", B: "a", Label: Partial}, {A: "c", B: "c", Label: Copy}, {A: "a", B: "unknown", Label: Copy}}
	published := false
	steps := func(present float64, pairs, ignored []Pair) Curve {
		c, err := NewCurve("near", present, func(value float64) (*Tally, error) {
			if value < .4 {
				return nil, nil
			}
			return TallyPairs(articles, pairs, ignored, func(article.Article, article.Article) Judgement {
				return Judgement{Flagged: value < .5, Published: published}
			}), nil
		})
		require.NoError(t, err)
		return c
	}
	c := steps(.48, pairs, []Pair{{A: "c", B: "c"}})
	require.Equal(t, 2, c.Present)
	require.Equal(t, []Step{
		{.4, 1, 1, 0, 2}, {.44, 1, 1, 0, 2}, {.48, 1, 1, 0, 2}, {.52, 0, 0, 1, 0}, {.56, 0, 0, 1, 0}, {.6, 0, 0, 1, 0},
		{.64, 0, 0, 1, 0},
	}, c.Steps)
	published = true
	require.Zero(t, steps(.48, pairs, nil).Steps[0].Drops)
	require.Empty(t, steps(.48, pairs[3:4], nil).Steps)
	require.Equal(t, .48765, steps(.48765, pairs, nil).Steps[2].Value, "the present value as it is")

	_, err := NewCurve("near", .48, func(float64) (*Tally, error) { return nil, context.Canceled })
	require.ErrorIs(t, err, context.Canceled)
}
