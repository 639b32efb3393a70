package articles

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/recipe"
)

// The same seed gives the same articles, and 29,600 of 40,000 have a new text.
func TestArticles(t *testing.T) {
	recipe, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	a, b := NewWriter(3, "a", recipe, false), NewWriter(3, "a", recipe, false)
	copies := map[Role]int{}
	for range 2000 {
		r, again := a.Write(), b.Write()
		require.Len(t, r, 1)
		require.Equal(t, r[0].Value, again[0].Value)
		copies[a.Facts[string(r[0].Key)].Role]++
	}
	require.Equal(t, 2000*29_600/40_000, a.made)
	require.Equal(t, a.made, copies[First])
	require.Greater(t, copies[Near], 100)
	require.Greater(t, copies[Exact], 100)
}
