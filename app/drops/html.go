package drops

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed" // page.css, page.js
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"maps"
	"slices"
	"strings"

	"echosieve/app/inquiry"
	"echosieve/app/sidebyside"
	"echosieve/app/visible"
)

// The page is written without html/template, with which the program would be larger by megabytes: see printUsage in
// package command. So all text of articles passes through shown or attribute.
var (
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

// shown is text for people, in an element.
func shown(text string) string { return html.EscapeString(visible.Line(text)) }

// attribute is a value for the script, within quotation marks.
func attribute(text string) string { return html.EscapeString(text) }

// Write writes the page. It loads nothing from anywhere. What comes from articles is made visible and escaped, and its
// content security policy lets the browser run no other script than that of the page.
func (p Page) Write(w io.Writer) error {
	sum := sha256.Sum256([]byte(script))
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-%s'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>%[2]s</title>
<style>%[3]s</style>
</head>
<body>
<h1>%[2]s</h1>
`, base64.StdEncoding.EncodeToString(sum[:]), shown(p.title), style+sidebyside.Style)
	for _, line := range p.Lead {
		fmt.Fprintf(b, "<p>%s</p>\n", shown(line))
	}
	fmt.Fprintf(b, `<nav>
<label>Reason <select id="kind">%s</select></label>
<label>Publishers <select id="publishers">%s</select></label>
<span><kbd>j</kbd> <kbd>k</kbd> next, previous; <kbd>r</kbd> rightly dropped; <kbd>w</kbd> wrong: another article; `+
		`<kbd>v</kbd> wrong: a version to publish</span>
<button id="save" disabled>Save marks.tsv</button> <output id="count"></output>
</nav>
<main data-columns="%s" data-r="%s" data-w="%s" data-v="%s">
`, options(p.pairs, pair.kind), options(p.pairs, pair.publishers), attribute(strings.Join(markColumns, " ")),
		attribute(LabelRight), attribute(LabelWrong), attribute(LabelVersion))
	for i := range p.pairs {
		p.pairs[i].write(b)
	}
	fmt.Fprintf(b, "</main>\n<script>%s</script>\n</body>\n</html>\n", script)
	return b.Flush()
}

// options are the values by which the page filters, the most frequent first.
func options(pairs []pair, of func(pair) string) string {
	counts := map[string]int{}
	for _, p := range pairs {
		counts[of(p)]++
	}
	names := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	list := `<option value="">all</option>`
	for _, name := range names {
		list += fmt.Sprintf(`<option value="%s">%s (%d)</option>`, attribute(name), shown(name), counts[name])
	}
	return list
}

func (p pair) write(b *bufio.Writer) {
	fmt.Fprintf(b, `<article tabindex="0" data-kind="%s" data-publishers="%s" data-ida="%s" data-idb="%s" `+
		`data-recorda="%s" data-recordb="%s" data-a="%s" data-b="%s">
<header><b>%s</b> &middot; %s <span class="marks"><button data-key="r">right</button><button data-key="w">wrong</button>`+
		`<button data-key="v">version</button></span></header>
<p>%s</p>
`, attribute(p.kind()), attribute(p.publishers()), attribute(p.Original.ID), attribute(p.Article.ID),
		attribute(p.Original.Record), attribute(p.Article.Record), attribute(saved(p.Original)), attribute(saved(p.Article)),
		shown(p.kind()), shown(p.figures()), shown(p.Says))
	p.writeNews(b)
	fmt.Fprint(b, `<div class="sides">`)
	writeSide(b, &p.Original)
	writeSide(b, &p.Article)
	fmt.Fprintf(b, "</div>\n%s</article>\n", sidebyside.HTML(p.texts, false))
}

func (p pair) writeNews(b *bufio.Writer) {
	if p.Changes == nil {
		return
	}
	fmt.Fprintf(b, `<details><summary dir="auto">New: %s</summary>`, shown(inquiry.News(p.Changes)))
	for _, s := range p.Changes.Added {
		fmt.Fprintf(b, `<p dir="auto">+ %s</p>`, shown(s))
	}
	for _, c := range p.Changes.Changed {
		fmt.Fprintf(b, `<p dir="auto">&ne; %s<br>%s</p>`, shown(c.Old), shown(c.New))
	}
	for _, s := range p.Changes.Removed {
		fmt.Fprintf(b, `<p dir="auto">&minus; %s</p>`, shown(s))
	}
	fmt.Fprint(b, "</details>\n")
}

// writeSide writes what is known of one of the two articles beside its text.
func writeSide(b *bufio.Writer, a *inquiry.Article) {
	about := []string{a.ID, a.Publisher, "", a.Record}
	if !a.Time.IsZero() {
		about[2] = a.Time.UTC().Format("2006-01-02 15:04")
	}
	about = slices.DeleteFunc(about, func(s string) bool { return s == "" })
	for i := range about {
		about[i] = shown(about[i])
	}
	fmt.Fprintf(b, `<section><h3 dir="auto">%s</h3><small dir="auto">%s</small>`, shown(cmp.Or(a.Title, "-")),
		strings.Join(about, " &middot; "))
	if a.Gone != "" {
		fmt.Fprintf(b, "<p>no text: %s</p>", shown(a.Gone))
	}
	if len(a.Repeated) > 0 {
		fmt.Fprintf(b, "<details><summary>Greyed: %d left out, because the publisher repeats them</summary>", len(a.Repeated))
		for _, r := range a.Repeated {
			fmt.Fprintf(b, `<p dir="auto">%s</p>`, shown(r.String()))
		}
		fmt.Fprint(b, "</details>")
	}
	fmt.Fprint(b, "</section>")
}
