package figures

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

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
