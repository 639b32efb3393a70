package figures

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
)

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
