package figures

import (
	"context"
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
