package article

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamesAreRead(t *testing.T) {
	for k := Unique; k <= Possible; k++ {
		parsed, err := ParseKind(k.String())
		require.NoError(t, err)
		require.Equal(t, k, parsed)
	}
	for r := range reasonCount {
		parsed, err := ParseReason(r.String())
		require.NoError(t, err)
		require.Equal(t, r, parsed)
	}
	_, err := ParseKind(Kind(0).String())
	require.Error(t, err, "no verdict is no kind of verdict")
	_, err = ParseReason("")
	require.Error(t, err)
}

func TestCoordinatesAreRead(t *testing.T) {
	c := Coordinates{Topic: "news.de-1", Partition: 1<<31 - 1, Offset: 1<<63 - 1}
	parsed, err := ParseCoordinates(c.String())
	require.NoError(t, err)
	require.Equal(t, c, parsed)
	for _, bad := range []string{"", "t", "t/1", "/1/2", "t/1/2/3", "t/-1/2", "t/1/-2", "t/1/+2", "t/2147483648/0",
		"t/0/9223372036854775808", "t/ 1/2"} {
		_, err := ParseCoordinates(bad)
		require.Error(t, err, bad)
	}
}

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
