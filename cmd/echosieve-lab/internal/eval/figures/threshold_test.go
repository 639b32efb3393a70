package figures

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/pipeline/recipe"
	"echosieve/simhash"
)

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
