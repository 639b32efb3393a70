package drops

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

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
