package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"echosieve/app/told"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/stories"
)

// row is one verdict of the feed; nobody changes it. Its JSON names are those of console.js.
type row struct {
	Time     int64  `json:"time"` // when the output was acknowledged, in milliseconds since 1970
	Verdict  string `json:"verdict"`
	Reason   string `json:"reason,omitempty"` // that decided, or why the record is a dead letter
	Says     string `json:"says,omitempty"`   // the reason as a sentence
	Distance int    `json:"distance"`         // bits; -1 if there is no original
	// Relation and Similarity are those to the original; empty if there is none.
	Relation   string `json:"relation,omitempty"`
	Similarity string `json:"similarity,omitempty"`
	ID         string `json:"id"`
	Title      string `json:"title,omitempty"`
	Publisher  string `json:"publisher,omitempty"`
	At         string `json:"at"` // coordinates of the input record
	// OriginalID and Original name the article that this one repeats or resembles.
	OriginalID string `json:"original_id,omitempty"`
	Original   string `json:"original,omitempty"`
	// Root names the first article of the story, perhaps this one. A possible copy has the root that it resembles.
	Root string `json:"root,omitempty"`
	// OriginalTitle is empty if the original is not among the verdicts that are kept.
	OriginalTitle string `json:"original_title,omitempty"`
}

// maxRowText is the length in bytes at which titles and publishers in the feed are cut.
const maxRowText = 200

// newRow makes the row of an acknowledged output. It holds no reference to the record, whose value may be large.
func newRow(o *pipeline.Output, now time.Time) *row {
	r := &row{
		Time: now.UnixMilli(), Verdict: o.VerdictName(), Distance: -1, At: o.Record.String(),
		ID: shortened(o.Content.ID), Title: shortened(o.Content.Title), Publisher: shortened(o.Content.Publisher),
	}
	if o.Verdict.Kind == 0 { // a dead letter
		r.Reason = o.Reason
		return r
	}
	if root, found := stories.RootOf(&o.Verdict); found {
		r.Root = root.String()
	}
	if v := &o.Verdict; v.HasOriginal() {
		r.Reason, r.Says, r.Distance = v.Reason.String(), told.Says(v.Kind, v.Reason), v.Distance
		r.Relation, r.Similarity = v.Relation.String(), v.Similarity.String()
		r.OriginalID, r.Original = shortened(v.Original.ID), v.Original.String()
	}
	return r
}

// shortened returns a copy of at most maxRowText bytes.
func shortened(s string) string {
	if len(s) <= maxRowText {
		return strings.Clone(s)
	}
	return article.Cut(s, maxRowText) + "…"
}

// filter selects rows. The zero filter selects all.
type filter struct {
	verdicts    []string // any of them; empty: all
	relation    string   // empty: any
	publisher   string   // part of the publisher, in lower case
	minDistance int      // bits; -1: also rows without an original
	maxDistance int
}

// maxBits is the largest Hamming distance.
const maxBits = 64

// newFilter reads a filter from the parameters of a request. A parameter that cannot be read selects all.
func newFilter(q url.Values) filter {
	number := func(name string, otherwise int) int {
		n, err := strconv.Atoi(q.Get(name))
		if err != nil {
			return otherwise
		}
		return n
	}
	return filter{
		verdicts: q["verdict"], relation: q.Get("relation"), publisher: strings.ToLower(q.Get("publisher")),
		minDistance: number("min", -1), maxDistance: number("max", maxBits),
	}
}

func (f *filter) selects(r *row) bool {
	return (len(f.verdicts) == 0 || slices.Contains(f.verdicts, r.Verdict)) &&
		(f.relation == "" || r.Relation == f.relation) &&
		r.Distance >= f.minDistance && r.Distance <= f.maxDistance &&
		(f.publisher == "" || strings.Contains(strings.ToLower(r.Publisher), f.publisher))
}
