package report

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"echosieve/cmd/echosieve/internal/eval"
)

// hostile is what a title, a text, an id or a label may be.
const hostile = `</svg></style></title><script src="https://evil.example/x.js">alert(1)</script><img src=//evil.example/i onerror=alert(1)>{{.}}&"'` + "\x00\x1b\u202e\xff"

var about = About{Recipe: "news-1-" + hostile, Version: hostile, Files: []string{"/a/b/" + hostile, "", "pairs.tsv"}}

// pages are all reports with hostile text in every place that a user's file reaches.
func pages(t *testing.T) map[string]string {
	t.Helper()
	repeats := []eval.Repeat{{
		ID: hostile, Title: hostile, Language: hostile, Kind: hostile, OriginalID: hostile, OriginalTitle: hostile, Reason: "overlap",
	}}
	counts := map[string]eval.StreamCounts{hostile: {Copies: 3, Caught: 2, Originals: 5, Dropped: 1}, "转载": {Copies: 1}}
	side := eval.Side{ID: hostile, Title: hostile, Source: hostile, Text: []eval.Piece{{Text: hostile}, {Text: hostile, Differs: true}}}
	distances := make([]eval.AtDistance, eval.MaxPlainDistance+1)
	for k := range distances {
		distances[k] = eval.AtDistance{K: k, Rates: eval.Rates{Recall: float64(k) / 32, Precision: 1}}
	}
	render := func(f func(w io.Writer) error) string {
		var b strings.Builder
		require.NoError(t, f(&b))
		return b.String()
	}
	return map[string]string{
		"pairs": render(func(w io.Writer) error {
			return Pairs(w, about, eval.PairsResult{
				Docs: 2, Pairs: 3, Distance: distances,
				Kinds: map[string]eval.KindResult{hostile: {Label: 1, N: 2, Flagged: 1}, "look-alike": {N: 1}, "part": {Label: -1, N: 1}},
			})
		}),
		"stream": render(func(w io.Writer) error {
			return Stream(w, about, eval.StreamResult{
				Languages: counts, Kinds: counts, Dropped: repeats, Wrong: repeats, Missed: repeats,
				Gaps: []eval.GapCounts{{From: "0", Copies: 2, Caught: 1}, {From: "1h"}},
			})
		}),
		"threshold": render(func(w io.Writer) error {
			return Threshold(w, about, eval.ThresholdResult{
				LimitsResult: eval.LimitsResult{Scale: hostile, Limits: []eval.AtLimit{{Limit: hostile, Pairs: 2}, {Limit: "0.5", Pairs: 7, Share: 1}}},
				Current:      "0.5", Samples: []eval.SamplePair{{Limit: hostile, Earlier: side, Later: side}},
			})
		}),
		"empty pairs":     render(func(w io.Writer) error { return Pairs(w, About{}, eval.PairsResult{}) }),
		"empty stream":    render(func(w io.Writer) error { return Stream(w, About{}, eval.StreamResult{}) }),
		"empty threshold": render(func(w io.Writer) error { return Threshold(w, About{}, eval.ThresholdResult{}) }),
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

// A page loads nothing and runs nothing, whatever is in the articles.
func TestPagesAreSelfContained(t *testing.T) {
	allowed := map[string]bool{}
	for _, name := range strings.Fields(`html head meta title style body h1 h2 h3 p dl div dt dd figure figcaption span b br
		table tbody tr th td small footer article section header mark svg g path text`) {
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

// Tables scroll by themselves, so that a page is never wider than the screen.
func TestTablesScroll(t *testing.T) {
	tables := 0
	for name, page := range pages(t) {
		elements(t, page, func(n *html.Node) {
			if n.Data == "table" {
				tables++
				require.Equal(t, []html.Attribute{{Key: "class", Val: "scroll"}}, n.Parent.Attr, name)
			}
		})
	}
	require.Greater(t, tables, 10)
}

var svgs = regexp.MustCompile(`(?s)<svg.*?</svg>`)

// Charts are well-formed, so that browsers do not have to guess, and hold text.
func TestChartsAreWellFormed(t *testing.T) {
	for name, want := range map[string]int{"pairs": 2, "stream": 2, "threshold": 2, "empty pairs": 0} {
		found := svgs.FindAllString(pages(t)[name], -1)
		require.Len(t, found, want, name)
		for _, svg := range found {
			paths := 0
			for d := xml.NewDecoder(strings.NewReader(svg)); ; {
				token, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err, name)
				if start, ok := token.(xml.StartElement); ok && start.Name.Local == "path" {
					paths++
				}
			}
			require.Greater(t, paths, 5, name)
		}
	}
	require.Contains(t, pages(t)["stream"], ">转载</text>")
}

func TestLabel(t *testing.T) {
	require.Equal(t, "a b c", label("a\nb\x00c"))
	require.Equal(t, "?", label("\xff"))
	require.Len(t, []rune(label(strings.Repeat("中", 100))), 28)
}
