package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/pipeline/changes"
	"echosieve/test/commandtest"
)

// hostile is a text that a title, a text, an id or a label may have.
const hostile = `</svg></style></title><script src="https://evil.example/x.js">alert(1)</script>` +
	`<img src=//evil.example/i onerror=alert(1)>{{.}}&"'` + "\x00\x1b\u202e\xff"

var about = About{Recipe: "news-1-" + hostile, Version: hostile, Files: []string{"/a/b/" + hostile, "", "pairs.tsv"}}

// reports are all reports with a text in every place that a user's file reaches, and with large numbers.
func reports(text string, onPage bool) map[string]Report {
	const n = 1234567
	counts := map[string]figures.StreamCounts{text: {Copies: n / 10, Caught: n / 10, Originals: n / 10, Dropped: n / 100,
		WrongOriginal: n / 100, Possible: n / 100}, "转载": {Copies: 1}}
	repeats := []figures.Repeat{{ID: text, Title: text, Language: text, Kind: text, OriginalID: text, OriginalTitle: text,
		Reason: "opposite", Possible: true, Distance: 64}}
	beside := figures.Beside{Earlier: figures.Side{ID: text, Title: text, Publisher: text},
		Texts: []changes.Run{{Left: text, Right: "x"}, {Same: true, Left: text, Right: text}}}
	curve := figures.Curve{Setting: "near", Present: 4}
	for k := range 9 {
		curve.Steps = append(curve.Steps, figures.Step{Value: float64(k) / 10, Recall: float64(k) / 9, Missed: 9 - k})
	}
	interval := &figures.Interval{Low: .9123, High: .9456, Families: n / 100, Few: true}
	wrong := figures.WrongPair{A: text, B: text, Kind: text, Reason: "opposite", Distance: 64, Beside: beside}
	recipes := [2]string{"classic-python-200", "news"}
	if onPage { // which is as wide as its texts
		recipes[0] = text
	}
	missed := wrong
	missed.Label, missed.Possible = figures.Copy, true
	return map[string]Report{
		"pairs": Pairs(figures.PairsResult{
			Docs: n, Pairs: n, Copies: n / 10, LookAlikes: n / 10, Debatable: n / 100, WithoutFamily: n,
			Curves:    []figures.Curve{curve},
			Intervals: figures.Intervals{Recall: interval}, Wrong: []figures.WrongPair{wrong, wrong, missed},
			Warnings: []string{"the recall rests on few families of pairs, so that it may be chance: 3 of them hold " +
				"most of the pairs"},
			Kinds: map[string]figures.KindResult{
				text: {Label: figures.Copy, N: n / 100, Flagged: n / 100, Possible: n / 100, Interval: interval,
					Relations: map[string]int{"equal": 1}},
				"look-alike": {N: 1}, "part": {Label: figures.Partial, N: 1},
			},
		}, onPage),
		"stream": Stream(figures.StreamResult{
			Articles: n, Skipped: n / 100, Dead: n / 100, OriginalMissing: n / 100,
			Languages: counts, Kinds: counts, Publishers: counts, Dropped: repeats, Wrong: repeats, Missed: repeats,
			Gaps:    []figures.GapCounts{{From: "0", Copies: 2, Caught: 1}, {From: "1h"}},
			Curves:  []figures.Curve{curve},
			Samples: []figures.JoinPair{{Publishers: "across", Beside: beside}}, Delay: figures.Delay{Median: 1e6, P90: 1e7},
		}, onPage),
		"versus": Versus(figures.VersusResult{Recipes: recipes,
			Samples: []figures.VersusPair{{Recipe: text, Beside: beside}}}, onPage),
		"nothing flagged": Pairs(figures.PairsResult{
			Curves: []figures.Curve{{Setting: "near", Steps: make([]figures.Step, 2)}},
			Kinds:  map[string]figures.KindResult{"copy": {Label: figures.Copy, N: 1}}}, onPage),
		"nothing caught": Stream(figures.StreamResult{Kinds: map[string]figures.StreamCounts{"copy": {Copies: 1}},
			Gaps: []figures.GapCounts{{From: "0", Copies: 1}}}, onPage),
		"empty versus": Versus(figures.VersusResult{}, onPage),
		"empty pairs":  Pairs(figures.PairsResult{}, onPage),
		"empty stream": Stream(figures.StreamResult{}, onPage),
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
	for name, report := range reports(hostile, true) {
		var b strings.Builder
		require.NoError(t, report.Page(&b, about))
		page := b.String()
		root, err := html.Parse(strings.NewReader(page)) // as a browser does
		require.NoError(t, err)
		for n := range root.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
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
		}
		require.Contains(t, page, `content="default-src 'none'; style-src 'unsafe-inline'"`, name)
		require.Contains(t, page, `name="viewport" content="width=device-width, initial-scale=1"`, name)
		require.NotContains(t, page, "<script", name)
		require.NotContains(t, page, "ZgotmplZ", name)
		require.True(t, name != "stream" || strings.Contains(page, "&lt;script"), "the text itself is shown")
	}
}

func TestReportsFitATerminal(t *testing.T) {
	for _, long := range []string{"a-name-of-a-kind-or-publisher-that-somebody-has-made-much-longer",
		"高校团队研制出可在土壤中降解的薄膜电池 and a title that goes on and on, as titles do"} {
		for name, report := range reports(long, false) {
			var b strings.Builder
			require.NoError(t, report.Print(&b))
			commandtest.FitsTerminal(t, b.String())
			shown := map[string]string{"pairs": "false alarm", "stream": "Copies missed"}[name]
			require.Contains(t, b.String(), shown)
		}
	}
}

// Every chart of a page shows bars or lines. The other charts are left out, and so are sections without anything.
func TestChartsShowSomething(t *testing.T) {
	charts := map[string]int{}
	for name, report := range reports("news", true) {
		var b strings.Builder
		require.NoError(t, report.Page(&b, about))
		for _, figure := range strings.Split(b.String(), "<figure")[1:] {
			figure, _, _ = strings.Cut(figure, "</figure>")
			require.Regexp(t, `style="width:0*[.1-9]|<i style|d="M[^"]+L[^"]+"`, figure, name)
			charts[name]++
		}
		require.NotRegexp(t, `</h2>\s*<(h2|footer)`, b.String(), name)
	}
	require.Equal(t, map[string]int{"pairs": 2, "stream": 3}, charts)
}
