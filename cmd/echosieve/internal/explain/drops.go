package explain

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"echosieve/app/drops"
	"echosieve/app/told"
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
	page, err := drops.NewPage(fmt.Sprintf("Dropped articles of the last %s", since), read, &weakest, e.judge,
		func(d *drops.Drop) (earlier, later told.Article, _ error) { // articles that are gone say why
			later, _ = e.reader.ArticleOf(ctx, d.Output)
			earlier, _ = e.reader.Article(ctx, d.Verdict.Original)
			return earlier, later, nil
		})
	if err != nil {
		return "", err
	}
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fmt.Errorf("%w; name a file that can be written after --html", err)
	}
	if err := errors.Join(page.Write(out), out.Close()); err != nil {
		return "", err
	}
	return page.Lead[0] + "\n", nil
}
