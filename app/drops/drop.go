package drops

import (
	"cmp"
	"slices"
	"time"

	"echosieve/app/told"
	"echosieve/pipeline/article"
)

// Most is the number of drops that a page shows.
const Most = 2000

// Drop is an article that was dropped as a copy, or marked as possibly one.
type Drop struct {
	Input   article.Coordinates
	Time    time.Time
	Verdict article.Verdict
	Output  *told.Output // of a running service; nil for an article of a file
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
