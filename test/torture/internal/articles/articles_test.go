package articles

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/recipe"
)

// The same seed gives the same articles, of every role.
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
	require.Greater(t, copies[First], 1000)
	require.Greater(t, copies[Near], 100)
	require.Greater(t, copies[Exact], 100)
}
