package drops

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"echosieve/app/inquiry"
	"echosieve/app/visible"
	"echosieve/pipeline/article"
	"echosieve/pipeline/changes"
)

// Most is the number of drops that a page shows.
const Most = 2000

// Drop is an article that was dropped as a copy, or marked as possibly one.
type Drop struct {
	Input   article.Coordinates
	Time    time.Time
	Verdict article.Verdict
	Output  *inquiry.Output // of a running service; nil for an article of a file
}

// sure says how much of the article its original has, in percent: of a dropped article with little of it, a reader
// loses most. Classic recipes tell no shares: there the nearest fingerprint is the surest.
func (d *Drop) sure() int {
	if d.Verdict.Similarity == 0 {
		return 100 - d.Verdict.Distance
	}
	return int(d.Verdict.Contained)
}

// Weakest keeps the least sure of the drops that it is offered, and of equally sure ones the newest.
type Weakest struct {
	All  int // drops that were offered
	list []Drop
}

// Offer adds a drop. Verdicts without an original are none, nor are copies that the policy has sent to unique.
func (w *Weakest) Offer(d Drop) {
	v := &d.Verdict
	if !v.HasOriginal() || v.Kind.IsCopy() && v.Destination == article.ToUnique {
		return
	}
	w.All++
	if w.list = append(w.list, d); len(w.list) == 2*Most {
		w.list = w.List()
	}
}

// List returns at most Most drops, the least sure first.
func (w *Weakest) List() []Drop {
	slices.SortStableFunc(w.list, func(a, b Drop) int {
		return cmp.Or(cmp.Compare(a.sure(), b.sure()), b.Time.Compare(a.Time))
	})
	return w.list[:min(len(w.list), Most)]
}

// pair is a drop beside its original.
type pair struct {
	*inquiry.Version // an article that is Gone has no text
	verdict          article.Verdict
	texts            []changes.Run
}

// newPair compares a dropped article with its original, as far as their texts are known.
func newPair(judge *inquiry.Judge, earlier, later inquiry.Article, v article.Verdict) pair {
	p := pair{Version: judge.Version(&earlier, &later, &v), verdict: v}
	if p.Changes != nil {
		p.texts = inquiry.Align(&earlier, &later)
	}
	return p
}

// publishers names both publishers, as the page filters by them.
func (p pair) publishers() string {
	name := func(a *inquiry.Article) string {
		return cmp.Or(visible.Line(article.PublisherOf(a.Publisher, a.URL)), "?")
	}
	return name(&p.Article) + " \u2192 " + name(&p.Original)
}

// kind is the verdict with its reason.
func (p pair) kind() string { return p.Verdict + " " + p.Reason }

// figures says what the verdict measured.
func (p pair) figures() string {
	v := &p.verdict
	if v.Similarity == 0 {
		return visible.Count(v.Distance, "bit")
	}
	return fmt.Sprintf("%s, %d %% of it is in the original, %d %% of the original is in it, %s", v.Relation,
		int(v.Contained), int(v.Contains), visible.Count(v.Distance, "bit"))
}

// saved is an article as a file of marks holds it: an object that every command reads without settings.
func saved(a inquiry.Article) string {
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
	title string
	Lead  []string // what comes first
	pairs []pair   // the least sure first
}

// NewPage returns the page of the weakest drops among so many articles. both finds a drop and its original.
func NewPage(title string, articles int, weakest *Weakest, judge *inquiry.Judge,
	both func(*Drop) (earlier, later inquiry.Article, err error)) (*Page, error) {
	p := &Page{title: title}
	for _, drop := range weakest.List() {
		earlier, later, err := both(&drop)
		if err != nil {
			return nil, err
		}
		p.pairs = append(p.pairs, newPair(judge, earlier, later, drop.Verdict))
	}
	said := fmt.Sprintf("%s; %d dropped as copies or marked as possible ones.", visible.Count(articles, "article"),
		weakest.All)
	if kept := len(p.pairs); kept < weakest.All {
		said += fmt.Sprintf(" The page has the %d of which their original has least.", kept)
	}
	p.Lead = []string{said, "First stand the articles of which their original has least, then the newest. Left is the " +
		"original, right the article; marked is what only one of them has, greyed what is not compared because the " +
		"publisher repeats it."}
	return p, nil
}
