package explain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"echosieve/app/drops"
	"echosieve/app/told"
	"echosieve/app/visible"
	"echosieve/pipeline/article"
)

// writeDrops writes the page of what was dropped or marked in the last hours, and says how much that is. A copy that the
// policy has sent to unique was not dropped.
func (e *explainer) writeDrops(ctx context.Context, unique, file string, since time.Duration) (string, error) {
	var weakest drops.Weakest
	read := 0
	for _, topic := range e.reader.Topics {
		if err := e.reader.Each(ctx, topic, time.Now().Add(-since), func(o *told.Output) error {
			read++
			if o.Reject == nil && (o.Record.Topic != unique || o.Verdict.Kind == article.Possible) {
				weakest.Offer(drops.Drop{Input: o.Input, Time: o.Record.Time, Verdict: o.Verdict, Output: o})
			}
			return nil
		}); err != nil {
			return "", err
		}
	}
	page := drops.Page{Title: fmt.Sprintf("Dropped articles of the last %s", since)}
	for _, drop := range weakest.List() {
		later, err := e.reader.ArticleOf(ctx, drop.Output)
		if err != nil && later.Gone == "" {
			return "", err
		}
		earlier, err := e.reader.Article(ctx, drop.Verdict.Original)
		if err != nil && earlier.Gone == "" {
			return "", err
		}
		page.Pairs = append(page.Pairs, drops.NewPair(e.judge, earlier, later, drop.Verdict))
	}
	page.Lead = drops.Lead(visible.Count(read, "article"), weakest.All, len(page.Pairs))
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fmt.Errorf("%w; name a file that can be written after --html", err)
	}
	if err := errors.Join(page.Write(out), out.Close()); err != nil {
		return "", err
	}
	return page.Lead[0] + "\n", nil
}
