package article

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Stored numbers and published names.
func TestRelations(t *testing.T) {
	for n, want := range []string{"none", "equal", "contained", "extends", "revises", "overlaps"} {
		r := Relation(n)
		require.Equal(t, want, r.String())
		require.Equal(t, r, Relations()[n])
		require.Equal(t, r, r.Mirrored().Mirrored())
	}
	require.Equal(t, "none", Relation(99).String())
	require.Len(t, Relations(), int(relationCount))
	require.Equal(t, Extends, Contained.Mirrored())
}

func TestShare(t *testing.T) {
	for share, want := range map[float64]string{0: "0.00", .834: "0.83", .835: "0.84", .07: "0.07", 1: "1.00",
		1.2: "1.00", -.1: "0.00"} {
		require.Equal(t, want, NewShare(share).String())
	}
}
