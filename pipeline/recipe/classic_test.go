package recipe

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/classic"
)

// The classic recipes fingerprint the raw text, have max_distance + 1 blocks, and judge by the distance alone.
func TestClassicRecipes(t *testing.T) {
	ids := map[string]bool{}
	for _, name := range classic.Names() {
		t.Run(name, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.Name, cfg.MaxDistance = name, 5
			r, err := Load(cfg)
			require.NoError(t, err)
			require.Regexp(t, "^"+name+"-2-[0-9a-f]{8}$", r.ID())
			require.False(t, ids[r.ID()])
			ids[r.ID()] = true

			search := r.Search()
			require.Equal(t, 6, search.Blocks)
			require.Zero(t, search.Probes)
			require.Nil(t, search.Check)

			extractor, err := classic.New(name, r.segmenter.CutRaw)
			require.NoError(t, err)
			a, _ := r.Fingerprint(zhArticle, article.Origin{})
			want, features := extractor.Fingerprint(zhArticle)
			require.Equal(t, want, a.Fingerprint)
			require.Equal(t, features, a.Features)
			require.Nil(t, a.Signature)
			require.Len(t, r.Weights(zhArticle, article.Origin{}), features)
			for bit, sum := range a.Sums {
				if sum > 1e6 || sum < -1e6 { // the originals round differently where a sum is nearly 0
					require.Equal(t, sum > 0, a.SimHash>>bit&1 == 1)
				}
			}
			same, _ := r.Fingerprint(zhArticle, article.Origin{})
			require.Equal(t, article.Judgement{Kind: article.Exact, Reason: article.ReasonDigest,
				Likeness: article.SameText}, search.Compare(&a, &same))
			other, _ := r.Fingerprint(enArticle, article.Origin{})
			require.Equal(t, article.Judgement{Reason: article.ReasonDistance}, search.Compare(&a, &other))
			empty, _ := r.Fingerprint("", article.Origin{})
			require.True(t, empty.Empty)
		})
	}
}
