package refill

import (
	"context"
	"errors"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/redisindex/admin"
)

// decide stores the articles of records with new verdicts, as the service does, and returns how many it stored, and how
// many were forgotten. Those it leaves out: their records are below the committed offsets, so they are not delivered
// again. What would be published is dropped. Dead letters have nothing to store.
func decide(ctx context.Context, by *pipeline.Pipeline, marks *admin.Tools, records []record.Record) (
	stored, forgotten int, err error,
) {
	prepared, err := prepare(ctx, by, records)
	if err != nil {
		return 0, 0, err
	}
	var refs []article.Ref
	var articles []record.Record
	for i := range records {
		if a, _ := prepared.Article(i); a != nil {
			refs, articles = append(refs, a.Ref()), append(articles, records[i])
		}
	}
	marked, err := marks.AreForgotten(ctx, refs)
	if err != nil {
		return 0, 0, err
	}
	for i := range articles {
		if !marked[i] {
			articles[stored] = articles[i]
			stored++
		}
	}
	if stored < len(articles) {
		if prepared, err = prepare(ctx, by, articles[:stored]); err != nil {
			return 0, 0, err
		}
	}
	_, err = by.Decide(ctx, prepared)
	return stored, len(articles) - stored, err
}

// prepare waits until it is known of each schema whether there is one.
func prepare(ctx context.Context, by *pipeline.Pipeline, records []record.Record) (*pipeline.Batch, error) {
	for {
		prepared, err := by.Prepare(ctx, records)
		if pending := (*decode.Pending)(nil); !errors.As(err, &pending) {
			return prepared, err
		} else if err := pending.Wait(ctx); err != nil {
			return nil, err
		}
	}
}
