package figures

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/pipeline/recipe"
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
	require.Equal(t, 7, r.Docs)
	require.Equal(t, 8, r.Pairs)
	require.Equal(t, Rates{Recall: 2. / 4, Precision: 2. / 3, FalsePositiveRate: 1. / 3}, r.Rates)
	require.InDelta(t, 4./7, r.F1, 1e-12)
	require.InDelta(t, 3./4, r.CandidateRecall, 1e-12)
	require.Equal(t, [3]int{4, 3, 1}, [3]int{r.Copies, r.LookAlikes, r.Debatable})
	require.Equal(t, 4, r.WithoutFamily)
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
	require.Len(t, r.Distance, 33)
	require.Equal(t, AtDistance{0, Rates{Recall: 1. / 4, Precision: 1. / 2, FalsePositiveRate: 1. / 3}}, r.Distance[0])
	require.Equal(t, AtDistance{16, Rates{Recall: 3. / 4, Precision: 3. / 5, FalsePositiveRate: 2. / 3}},
		r.Distance[16])

	_, err = Pairs(articles, []Pair{{A: "a", B: "nobody", Label: Copy}}, nil, byDistance)
	require.ErrorContains(t, err, "nobody")
}

// One family with most of the look-alikes decides their rate, however many others there are.
func TestWarningOfALargeFamily(t *testing.T) {
	articles := map[string]article.Article{"a": newArticle(1, 0), "b": newArticle(2, 0xff_ff_ff)}
	var pairs []Pair
	for i := range 60 {
		p := Pair{A: "a", B: "b", Kind: "template", Families: []string{"form"}}
		if i >= 31 {
			p.Families = nil
		}
		pairs = append(pairs, p)
	}
	r, err := Pairs(articles, pairs, nil, byDistance)
	require.NoError(t, err)
	require.Equal(t, []string{"false-positive rate: one family has 52 % of its pairs and decides it"}, r.Warnings)
	r, err = Pairs(articles, pairs[2:], nil, byDistance)
	require.NoError(t, err)
	require.Empty(t, r.Warnings)
}

func TestPairParser(t *testing.T) {
	for _, c := range []struct {
		header, line string
		families     []string
	}{
		{"", "x\ty\t-1\tdigest", nil},
		{"id_a\tid_b\tlabel\tkind", "x\ty\t-1\tdigest\t.5", nil},
		{"id_a\tid_b\tlabel\tkind\tedit_rate\tjaccard\tcontainment", "x\ty\t-1\tdigest\t.1\t.2\t.3", nil},
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

// show writes pieces as text, with differences in brackets.
func show(pieces []Piece) string {
	var b strings.Builder
	for _, p := range pieces {
		if p.Differs {
			b.WriteString("[" + p.Text + "]")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestDiffer(t *testing.T) {
	for _, c := range []struct{ a, b, left, right string }{
		{"", "", "", ""},
		{"the same text", "the same text", "the same text", "the same text"},
		{"a text, with\npunctuation", "a text with punctuation!", "a text, with\npunctuation",
			"a text with punctuation!"},
		{"profit rose 12 percent", "profit rose 15 percent", "profit rose 1[2] percent", "profit rose 1[5] percent"},
		{"short", "other", "[short]", "[other]"},
		{"昨晚足协杯四分之一决赛青澜港队胜", "昨晚足协杯四分之一决赛泽安机车胜", "昨晚足协杯四分之一决赛[青澜港队胜]", "昨晚足协杯四分之一决赛[泽安机车胜]"},
		{"added: all of the article", "all of the article", "[added]: all of the article", "all of the article"},
	} {
		left, right := Differ(c.a, c.b)
		require.Equal(t, c.left, show(left))
		require.Equal(t, c.right, show(right))
	}
}

// Long texts are shortened to their openings and their differences, for any text.
func TestDifferIsShort(t *testing.T) {
	long := strings.Repeat("a passage that both of them have, number after number. ", 200)
	left, right := Differ(long+"The end was rewritten here by hand.", long+"Quite another ending follows instead!")
	for _, side := range [][]Piece{left, right} {
		text := show(side)
		require.Less(t, len(text), 400)
		require.True(t, strings.HasPrefix(text, long[:openingLen]))
		require.Contains(t, text, leftOut)
	}
	require.Contains(t, show(left), "rewritten")
	left, _ = Differ(strings.Repeat("x1y2z3 ", 1<<20), "")
	require.LessOrEqual(t, len(show(left)), maxSideLen+len(leftOut)+2)
}

func TestLimits(t *testing.T) {
	articles := []article.Article{
		newArticle(1, 0),
		newArticle(2, 0b111), // 3 bits from the first
		newArticle(1, 0),     // the same text again
		{Digest: article.Digest{9}, LittleText: true},       // would be at distance 0
		{Digest: article.Digest{10}, Empty: true},           // a dead letter
		newArticle(3, 0b1_111),                              // 1 bit from the second
		newArticle(4, 0xffff_ffff_0000_0000),                // 32 bits from the first
		newArticle(5, simhash.Fingerprint(1<<64-1)&^0xffff), // 16 bits from the one before
	}
	r, err := Limits(t.Context(), articles, DistanceScale(3))
	require.NoError(t, err)
	require.Equal(t, 8, r.Docs)
	require.Equal(t, 1, r.Exact)
	require.Equal(t, 1, r.LittleText)
	require.Len(t, r.Limits, 33)
	for k, want := range map[int]int{0: 1, 1: 2, 2: 2, 3: 3, 15: 3, 16: 4, 31: 4, 32: 5} {
		require.Equal(t, want, r.Limits[k].Flagged, k)
	}
	require.InDelta(t, 5./8, r.Limits[32].Share, 1e-12)
	require.Equal(t, []Nearest{{Article: 5, Earlier: 1, Level: 1}}, r.Sample(0, 2, 5, 1))
	require.Empty(t, r.Sample(4, 15, 5, 1))

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Limits(ended, articles, DistanceScale(3))
	require.ErrorIs(t, err, context.Canceled)
}

// At every limit the scale gives the verdict of a service with that limit.
func TestSimilarityScaleIsTheRule(t *testing.T) {
	config := recipe.DefaultConfig()
	config.Thresholds.Near = 0.47
	recipe, err := recipe.Load(config)
	require.NoError(t, err)
	plan := lookup.New(config.Search(), 0)
	scale := SimilarityScale(plan, config.Thresholds)
	require.Equal(t, "0.47", scale.Limits[scale.Current])
	words := []rune("甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥春夏秋冬东西南北中发白金木水火土山川河海")
	random := rand.New(rand.NewPCG(3, 4))
	text := make([]rune, 600)
	for i := range text {
		text[i] = words[random.IntN(len(words))]
	}
	original, _ := recipe.Fingerprint(string(text), article.Origin{})
	levels := map[int]bool{}
	for range 60 {
		edited := append([]rune{}, text...)
		for range random.IntN(200) {
			edited[random.IntN(len(edited))] = words[random.IntN(len(words))]
		}
		copied, _ := recipe.Fingerprint(string(edited), article.Origin{})
		if copied.LittleText || copied.Digest == original.Digest {
			continue
		}
		level := scale.Level(&copied, &original)
		levels[level] = true
		for i, limit := range scale.Limits {
			at := config
			at.Thresholds.Near, err = strconv.ParseFloat(limit, 64)
			require.NoError(t, err)
			at.Thresholds.Possible = min(at.Thresholds.Possible, at.Thresholds.Near)
			verdict := ByRecipe(at.Search().Rule, plan, article.DefaultPolicy())(copied, original)
			require.Equal(t, verdict.Flagged, i >= level, "limit %s, level %d", limit, level)
		}
	}
	require.Greater(t, len(levels), 3, "the test has met different levels")
}

func TestFamiliesOf(t *testing.T) {
	got := familiesOf([]term{
		{families: []string{"a"}, part: 1, whole: 1},
		{whole: 1}, // by itself
		{families: []string{"b", "c"}, whole: 1},
		{families: []string{"d"}, part: 1, whole: 1},
		{families: []string{"c", "a"}, part: 2, whole: 2}, // joins a, b and c
		{whole: 1},
	})
	require.Equal(t, []family{{3, 4, 3}, {0, 1, 1}, {1, 1, 1}, {0, 1, 1}}, got)
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
