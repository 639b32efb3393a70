package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"echosieve/app/sidebyside"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/test/commandtest"
)

// hostile is a text that a title, a text, an id or a label may have.
const hostile = `</svg></style></title><script src="https://evil.example/x.js">alert(1)</script>` +
	`<img src=//evil.example/i onerror=alert(1)>{{.}}&"'` + "\x00\x1b\u202e\xff"

var about = About{Recipe: "news-1-" + hostile, Version: hostile, Files: []string{"/a/b/" + hostile, "", "pairs.tsv"}}

// pages are all reports with hostile text in every place that a user's file reaches.
func pages(t *testing.T) map[string]string {
	t.Helper()
	repeats := []figures.Repeat{{
		ID: hostile, Title: hostile, Language: hostile, Kind: hostile, OriginalID: hostile, OriginalTitle: hostile,
		Reason: "overlap",
	}}
	counts := map[string]figures.StreamCounts{hostile: {Copies: 3, Caught: 2, Originals: 5, Dropped: 1},
		"转载": {Copies: 1}}
	beside := figures.Beside{Earlier: figures.Side{ID: hostile, Title: hostile, Publisher: hostile},
		Texts: []sidebyside.Run{{Left: hostile, Right: "x"}, {Same: true, Left: hostile, Right: hostile}}}
	distances := make([]figures.AtDistance, figures.MaxPlainDistance+1)
	for k := range distances {
		distances[k] = figures.AtDistance{K: k, Rates: figures.Rates{Recall: float64(k) / 32, Precision: 1}}
	}
	render := func(r Report) string {
		var b strings.Builder
		require.NoError(t, r.Page(&b, about))
		return b.String()
	}
	interval := &figures.Interval{Low: 0.25, High: 0.75, Families: 3, Few: true}
	wrong := figures.WrongPair{A: hostile, B: hostile, Kind: hostile, Reason: "overlap", Distance: 7, Beside: beside}
	missed := wrong
	missed.Label, missed.Possible = figures.Copy, true
	return map[string]string{
		"pairs": render(Pairs(figures.PairsResult{
			Docs: 2, Pairs: 3, Distance: distances, Intervals: figures.Intervals{Recall: interval},
			WithoutFamily: 2, Warnings: []string{"recall: few"}, Wrong: []figures.WrongPair{wrong, wrong, missed},
			Kinds: map[string]figures.KindResult{
				hostile:      {Label: 1, N: 2, Flagged: 1, Interval: interval, Relations: map[string]int{"equal": 1}},
				"look-alike": {N: 1}, "part": {Label: -1, N: 1},
			},
		}, true)),
		"stream": render(Stream(figures.StreamResult{
			Languages: counts, Kinds: counts, Publishers: counts, Dropped: repeats, Wrong: repeats, Missed: repeats,
			Gaps:    []figures.GapCounts{{From: "0", Copies: 2, Caught: 1}, {From: "1h"}},
			Samples: []figures.JoinPair{{Publishers: "across", Beside: beside}},
		}, true)),
		"versus": render(Versus(figures.VersusResult{Recipes: [2]string{hostile, "b"},
			Samples: []figures.VersusPair{{Recipe: hostile, Beside: beside}}}, true)),
		"empty versus": render(Versus(figures.VersusResult{}, true)),
		"empty pairs":  render(Pairs(figures.PairsResult{}, true)),
		"empty stream": render(Stream(figures.StreamResult{}, true)),
	}
}

// elements calls f with every element of a page as a browser would parse it.
func elements(t *testing.T, page string, f func(n *html.Node)) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			f(n)
		}
	}
}

var loads = regexp.MustCompile(`(?i)url\(|@import|https?:|javascript:`)

// A page loads nothing and runs nothing, with any text in the articles.
func TestPagesAreSelfContained(t *testing.T) {
	allowed := map[string]bool{}
	for _, name := range strings.Fields(
		`html head meta title style body h1 h2 h3 p div figure figcaption span b br
		table thead tbody tfoot tr th td small footer article section header mark del ins i svg g path text`) {
		allowed[name] = true
	}
	for name, page := range pages(t) {
		elements(t, page, func(n *html.Node) {
			require.True(t, allowed[n.Data], "%s: element %s", name, n.Data)
			for _, a := range n.Attr {
				require.NotContains(t, []string{"src", "srcset", "href", "action", "background"}, a.Key, name)
				require.False(t, strings.HasPrefix(a.Key, "on"), "%s: %s", name, a.Key)
				if a.Key != "aria-label" { // text, which may be anything
					require.NotRegexp(t, loads, a.Val, name)
				}
			}
			if n.Data == "style" {
				require.NotRegexp(t, loads, n.FirstChild.Data, name)
				require.NotContains(t, n.FirstChild.Data, "evil")
			}
		})
		require.Contains(t, page, `content="default-src 'none'; style-src 'unsafe-inline'"`, name)
		require.Contains(t, page, `name="viewport" content="width=device-width, initial-scale=1"`, name)
		require.NotContains(t, page, "<script", name)
		require.NotContains(t, page, "ZgotmplZ", name)
	}
	require.Contains(t, pages(t)["stream"], "&lt;script", "the text itself is shown")
}

const (
	longName  = "a-name-of-a-kind-or-publisher-that-somebody-has-made-much-longer"
	longTitle = "高校团队研制出可在土壤中降解的薄膜电池 and a title that goes on and on, as titles do"
)

func TestPairsFitATerminal(t *testing.T) {
	rate := &figures.Interval{Low: .9123, High: .9456, Families: 12345, Few: true}
	wrong := []figures.WrongPair{{Reason: "opposite", Distance: 64, Possible: true},
		{Reason: "opposite", Label: figures.HardNegative}}
	for i := range wrong {
		wrong[i].Kind, wrong[i].A, wrong[i].B = longName, longName, longName
	}
	var b strings.Builder
	require.NoError(t, Pairs(figures.PairsResult{
		Docs: 1234567, Pairs: 1234567, Copies: 123456, LookAlikes: 123456, Debatable: 12345, WithoutFamily: 1234567,
		Intervals: figures.Intervals{},
		Warnings: []string{"the recall rests on few families of pairs, so that it may be chance: 3 of them hold " +
			"most of the pairs"},
		Kinds: map[string]figures.KindResult{longName: {Label: figures.Copy, N: 12345, Flagged: 12345,
			Possible: 12345, Interval: rate}},
		Distance: []figures.AtDistance{{K: 32}},
		Wrong:    wrong,
	}, false).Print(&b))
	commandtest.FitsTerminal(t, b.String())
	require.Contains(t, b.String(), "false alarm")
}

func TestStreamFitsATerminal(t *testing.T) {
	counts := map[string]figures.StreamCounts{longName: {Copies: 123456, Caught: 123456, Originals: 123456,
		Dropped: 12345, WrongOriginal: 12345, Possible: 12345}}
	repeats := []figures.Repeat{{Reason: "opposite", Possible: true, Distance: 64, Kind: longName, ID: longName,
		Title: longTitle, OriginalID: longName, OriginalTitle: longTitle}}
	var b strings.Builder
	require.NoError(t, Stream(figures.StreamResult{
		Articles: 1234567, Skipped: 12345, Dead: 12345, OriginalMissing: 12345, Languages: counts, Kinds: counts,
		Publishers: counts,
		Dropped:    repeats, Wrong: repeats, Missed: repeats, Delay: figures.Delay{Median: 1e6, P90: 1e7},
	}, false).Print(&b))
	commandtest.FitsTerminal(t, b.String())
	require.Contains(t, b.String(), "Copies missed")
}
