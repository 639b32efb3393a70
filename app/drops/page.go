package drops

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // page.html, page.css, page.js
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"

	"echosieve/app/sidebyside"
	"echosieve/app/told"
	"echosieve/app/visible"
	"echosieve/pipeline/article"
	"echosieve/pipeline/changes"
)

// Pair is a drop beside its original.
type Pair struct {
	Earlier, Later told.Article // an article that is Gone has no text
	Verdict        article.Verdict
	Why            string // the row of the rule that decided, in words with its figures
	Texts          []changes.Run
	New            *changes.Changes
}

// NewPair compares a dropped article with its original, as far as their texts are known.
func NewPair(judge *told.Judge, earlier, later told.Article, v article.Verdict) Pair {
	version := judge.Version(&earlier, &later, &v)
	p := Pair{Earlier: earlier, Later: later, Verdict: v, Why: version.Says, New: version.Changes}
	if p.New != nil {
		p.Texts = told.Align(&earlier, &later)
	}
	return p
}

// Publishers names both publishers, as the page filters by them.
func (p Pair) Publishers() string {
	name := func(a *told.Article) string {
		return cmp.Or(visible.Line(article.PublisherOf(a.Publisher, a.URL)), "?")
	}
	return name(&p.Later) + " \u2192 " + name(&p.Earlier)
}

// Kind is the verdict with its reason.
func (p Pair) Kind() string { return p.Verdict.Kind.String() + " " + p.Verdict.Reason.String() }

// Figures says what the verdict measured.
func (p Pair) Figures() string {
	v := &p.Verdict
	if v.Similarity == 0 {
		return visible.Count(v.Distance, "bit")
	}
	return fmt.Sprintf("%s, %s %% of it is in the original, %s %% of the original is in it, %s", v.Relation,
		percent(v.Contained), percent(v.Contains), visible.Count(v.Distance, "bit"))
}

func percent(s article.Share) string { return fmt.Sprint(int(s)) }

// Saved is an article as a file of marks holds it: an object that every command reads without settings.
func Saved(a told.Article) string {
	if a.Gone != "" {
		return ""
	}
	fields := map[string]any{"id": a.ID, "text": a.Text, "title": a.Title, "publisher": a.Publisher, "url": a.URL}
	maps.DeleteFunc(fields, func(_ string, v any) bool { return v == "" })
	if !a.Time.IsZero() {
		fields["ts"] = a.Time.Unix()
	}
	object, _ := json.Marshal(fields) // strings and numbers always become JSON
	return string(object)
}

// Page is a page of drops.
type Page struct {
	Title string
	Lead  []string // what comes first
	Pairs []Pair   // the least sure first
}

// choice is a value by which the page filters, and how many pairs have it.
type choice struct {
	Name string
	N    int
}

// choices counts the values, the most frequent first.
func choices(pairs []Pair, of func(Pair) string) (list []choice) {
	counts := map[string]int{}
	for _, p := range pairs {
		counts[of(p)]++
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		list = append(list, choice{name, counts[name]})
	}
	slices.SortStableFunc(list, func(a, b choice) int { return cmp.Compare(b.N, a.N) })
	return list
}

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	style string
	//go:embed page.js
	script string

	page = template.Must(template.New("page").Funcs(template.FuncMap{
		"line":  visible.Line,
		"news":  told.News,
		"saved": Saved,
		"texts": func(runs []changes.Run) template.HTML { return template.HTML(sidebyside.HTML(runs, false)) },
	}).Parse(pageHTML))
)

// Write writes the page. It loads nothing from anywhere. What comes from articles is made visible and escaped, and its
// content security policy lets the browser run no other script than that of the page.
func (p Page) Write(w io.Writer) error {
	sum := sha256.Sum256([]byte(script))
	return page.Execute(w, struct {
		Page
		Style              template.CSS
		Script             template.JS
		Policy             string
		Kinds, Publishers  []choice
		Columns            []string
		Right, Wrong, Vers string
	}{
		p, template.CSS(style + sidebyside.Style), template.JS(script),
		"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" +
			base64.StdEncoding.EncodeToString(sum[:]) + "'",
		choices(p.Pairs, Pair.Kind), choices(p.Pairs, Pair.Publishers), markColumns,
		LabelRight, LabelWrong, LabelVersion,
	})
}

// Lead says in the first lines of a page what it shows: of how many articles, how many were dropped or marked.
func Lead(articles string, all, shown int) []string {
	lines := []string{fmt.Sprintf("%s; %d dropped as copies or marked as possible ones.", articles, all)}
	if shown < all {
		lines[0] += fmt.Sprintf(" The page has the %d of which their original has least.", shown)
	}
	return append(lines, "First stand the articles of which their original has least, then the newest. Left is the "+
		"original, right the article; marked is what only one of them has, greyed what is not compared because the "+
		"publisher repeats it.")
}
