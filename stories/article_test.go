package stories

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"echosieve/internal/app/command/commandtest"
	"echosieve/pipeline/article"
)

func TestPublisher(t *testing.T) {
	rules := &Rules{Owners: map[string]string{"mirror.example": "Post"}}
	for want, c := range map[string]article.Content{
		"Post":      {Publisher: " Post\n", URL: "https://www.other.example/"},
		"a.example": {URL: "HTTPS://www.A.example:8080/x?y"},
		"b.example": {URL: "b.example/path"},
		"":          {URL: "http://[::1"},
		"青澜日报":      {Publisher: "青澜日报"},
	} {
		require.Equal(t, want, rules.Describe(article.Ref{}, c, day).Publisher)
	}
	mirror := article.Content{URL: "http://mirror.example"}
	require.Equal(t, "Post", rules.Describe(article.Ref{}, mirror, day).Publisher)
	long := rules.Describe(article.Ref{}, article.Content{Publisher: strings.Repeat("报", 5000)}, day).Publisher
	require.LessOrEqual(t, len(long), maxPublisherBytes)
	require.True(t, utf8.ValidString(long))
}

// A page that claims next year, or 1970, is not first.
func TestTime(t *testing.T) {
	rules := &Rules{Window: 48 * time.Hour}
	for published, trusted := range map[time.Time]bool{
		day.Add(-48 * time.Hour): true, day.Add(-48*time.Hour - 1): false, day.Add(time.Hour): true,
		day.Add(time.Hour + 1): false, {}: false, time.Unix(0, 0): false, day.AddDate(1, 0, 0): false,
	} {
		want := day
		if trusted {
			want = published
		}
		require.Equal(t, want, rules.Describe(article.Ref{}, article.Content{Published: published}, day).Time, published)
	}
	at := rules.Describe(article.Ref{}, article.Content{}, time.UnixMicro(1_700_000_000_123_456)).Time
	require.Equal(t, time.UnixMilli(1_700_000_000_123).UTC(), at)
}

func TestLength(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "two words": 8, "青澜 日报": 4, "<p class='x'>ab</p><!-- note -->": 2,
		"1 < 2 > 3": 5, "a <b": 3, "<": 1, "<b>": 0,
	} {
		require.Equal(t, want, characters(text), text)
	}
}

func TestOwners(t *testing.T) {
	owners, err := Owners(commandtest.File(t, "owners", "\ufeff# chains\nMorning Post\tChain\r\n\nb.example = Chain \n"))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Morning Post": "Chain", "b.example": "Chain"}, owners)
	_, err = Owners(commandtest.File(t, "owners", "a=b\nnothing\n"))
	require.ErrorContains(t, err, "owners:2 is not a publisher, a tab or =, and its owner")
	_, err = Owners("no/such/file")
	require.Error(t, err)
	owners, err = Owners("")
	require.NoError(t, err)
	require.Empty(t, owners)
}
