package packed

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
)

func TestPackedIDs(t *testing.T) {
	at := article.Coordinates{Topic: "news", Partition: 3, Offset: 12345}
	for id, size := range map[string]int{
		"":                                      0,
		"news/3/12345":                          1,
		"news/3/12346":                          11,
		"source-20240131":                       12,
		"xhs-20240131-新":                        4 + 5 + 1 + 1 + 3,
		"65a0f3c2e1b2c3d4e5f60718":              13,
		"123e4567-e89b-12d3-a456-426614174000":  25,
		strings.Repeat("f", 2*maxRun+1):         2*(1+(maxRun+1)/2) + 1,
		strings.Repeat("0", article.MaxIDBytes): 3*(1+(maxRun+1)/2) + 1 + (article.MaxIDBytes-3*maxRun+1)/2,
		"\xff":                                  2,
	} {
		packed := string(AppendID(nil, article.Ref{ID: id, Coordinates: at}))
		require.Len(t, packed, size, id)
		got, ok := UnpackID(packed, at)
		require.True(t, ok, id)
		require.Equal(t, id, got)
	}
	for _, cut := range []string{"\x80", "\x80\x12", "a\xfe12"} {
		_, ok := UnpackID(cut, at)
		require.False(t, ok, "%q", cut)
	}
}

func FuzzPackedID(f *testing.F) {
	for _, id := range []string{"", "news/3/12345", "a1b2c3d4-", "\xff", "\x80\x12\x34", strings.Repeat("9", 300),
		"12345z新123456"} {
		f.Add(id)
	}
	at := article.Coordinates{Topic: "news", Partition: 3, Offset: 12345}
	f.Fuzz(func(t *testing.T, id string) {
		packed := string(AppendID(nil, article.Ref{ID: id, Coordinates: at}))
		if got, ok := UnpackID(packed, at); !ok || got != id || len(packed) > len(id)+1 {
			t.Fatalf("%q became %q, then %q", id, packed, got)
		}
		_, _ = UnpackID(id, at) // any bytes
	})
}
