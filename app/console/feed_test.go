package console

import (
	"bufio"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"echosieve/app/config"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"

	"github.com/stretchr/testify/require"
)

func made(kind article.Kind, first, n int) []pipeline.Output {
	list := make([]pipeline.Output, n)
	for i := range list {
		at := article.Coordinates{Topic: "articles", Offset: int64(first + i)}
		list[i] = pipeline.Output{
			Record: &record.Record{Coordinates: at}, Content: article.Content{ID: fmt.Sprint("id", first+i),
				Publisher: "The Tideline"},
			Verdict: article.Verdict{Kind: kind},
		}
		if kind != article.Unique {
			list[i].Verdict.Distance = (first + i) % 20
			list[i].Verdict.Relation = []article.Relation{article.Contained, article.Extends}[i%2]
			list[i].Verdict.Original = article.Ref{ID: "o", Coordinates: article.Coordinates{Topic: "articles"}}
		}
	}
	return list
}

func TestFeedSamples(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	f := newFeed(func() time.Time { return now })
	all, _ := f.open(newFilter(nil))
	near, _ := f.open(newFilter(url.Values{"verdict": {"near"}, "min": {"15"}, "relation": {"contained"}}))
	f.show(made(article.Unique, 0, 1000))
	f.show(made(article.Near, 1000, 1000))
	f.show([]pipeline.Output{{Record: &record.Record{}, Destination: article.ToDead, Reason: "no_text"}})

	got := f.take(all)
	require.Equal(t, counts{"unique": 1000, "near": 1000, "dead": 1}, got.Counts)
	require.EqualValues(t, 2001, got.Matched)
	require.Len(t, got.Rows, maxTickRows)
	for i, r := range got.Rows[:maxTickRows-1] {
		require.Equal(t, fmt.Sprint("id", 1989+i), r.ID, "the last ones, in order")
	}
	got = f.take(near)
	require.Equal(t, counts{"unique": 1000, "near": 1000, "dead": 1}, got.Counts, "the charts show all verdicts")
	require.EqualValues(t, 100, got.Matched)
	for _, r := range got.Rows {
		require.Equal(t, []string{"near", "contained"}, []string{r.Verdict, r.Relation})
		require.GreaterOrEqual(t, r.Distance, 15)
	}
	require.Equal(t, tick{Counts: counts{}}, f.take(near), "nothing happened since")
	f.leave(near)
	f.show(made(article.Near, 0, 1))
	require.Empty(t, near.rows, "a page that has left still gets rows")
}

func TestFeedOpensWithTheLastVerdicts(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	f := newFeed(func() time.Time { return now })
	f.show(made(article.Unique, 0, 10))
	now = now.Add(historyStep)
	f.show(made(article.Near, 10, 5))
	f.show(made(article.Unique, 15, keptRows))
	_, first := f.open(newFilter(nil))
	require.Len(t, first.Rows, openingRows)
	require.Equal(t, fmt.Sprint("id", 14+keptRows), first.Rows[openingRows-1].ID, "the newest comes last")
	require.Len(t, first.History, historySteps)
	require.Equal(t, counts{"unique": 10}, first.History[historySteps-2])
	require.Equal(t, counts{"near": 5, "unique": keptRows}, first.History[historySteps-1])
	now = now.Add(historySteps * historyStep)
	_, first = f.open(newFilter(nil))
	for _, bar := range first.History {
		require.Empty(t, bar, "an old bar is shown")
	}

	long := made(article.Unique, 5000, 1)
	long[0].Content.ID = strings.Repeat("https://news.example/", 20) // its row has a shorter one
	f.show(long)
	found, _ := f.find(long[0].Content.ID)
	require.Equal(t, "articles/0/5000", found[0].At)
	found, searched := f.find("ID21")
	require.Equal(t, keptRows, searched)
	require.Len(t, found, 1)
	require.Equal(t, "articles/0/21", found[0].At)
	found, _ = f.find("id3")
	require.Empty(t, found, "a verdict that is no longer kept")
}

func TestRowsHoldNoLongTexts(t *testing.T) {
	o := made(article.Unique, 0, 1)[0]
	o.Content.Title = strings.Repeat("长", 1000)
	r := newRow(&o, time.Time{})
	require.LessOrEqual(t, len(r.Title), maxRowText+len("…"))
	require.Regexp(t, "^长+…$", r.Title, "cut within a character")

	require.Regexp(t, "^长+$", beginning(strings.Repeat("长", maxTextBytes/3+1)), "cut within a character")
}

// TestFeedOverHTTP requires that a page gets its events through a server with the timeouts of the service,
// and that open pages end when the console closes.
func TestFeedOverHTTP(t *testing.T) {
	cfg := config.Default()
	news, err := cfg.LoadRecipe()
	require.NoError(t, err)
	c := New(cfg, news, http.NotFoundHandler(), nil, slog.New(slog.DiscardHandler))
	defer c.Close()
	server := httptest.NewUnstartedServer(c)
	server.Config.WriteTimeout = tickInterval
	// also the time that a busy machine has for the request; the ticks below take longer
	server.Config.ReadTimeout = 10 * tickInterval
	server.Start()
	defer server.Close()
	response, err := server.Client().Get(server.URL + Path + "api/feed?verdict=near")
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	lines := bufio.NewScanner(response.Body)
	next := func() string {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return data
			}
		}
		return ""
	}
	require.Contains(t, next(), news.ID())
	for range 12 {
		require.Contains(t, next(), `"matched":0`)
	}
	c.feed.show(made(article.Near, 7, 1))
	seen := next()
	for ; !strings.Contains(seen, `"matched":1`); seen = next() {
		require.NotEmpty(t, seen, "the feed ended")
	}
	require.Contains(t, seen, `"articles/0/7"`)

	for range maxPages - 1 {
		p, _ := c.feed.open(newFilter(nil))
		require.NotNil(t, p)
	}
	refused, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, Path+"api/feed", nil)
	c.ServeHTTP(refused, request)
	require.Equal(t, http.StatusServiceUnavailable, refused.Code)
	c.Close()
	require.Eventually(t, func() bool { return next() == "" }, time.Minute, time.Millisecond,
		"the feed does not end with the console")
}
