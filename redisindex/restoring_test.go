package redisindex_test

import (
	"context"
	"time"

	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/admin"
)

func init() {
	redisindex.Restore = func(ctx context.Context, x *redisindex.Index, now time.Time, articles []article.Article,
		verdicts []article.Verdict) ([]string, error) {
		r, err := admin.New(x).StartRestore(ctx, now)
		if err != nil {
			return nil, err
		}
		published := make([]admin.Published, len(articles))
		for i, a := range articles {
			published[i] = admin.Published{Article: a, Verdict: verdicts[i]}
		}
		results, err := r.Restore(ctx, published)
		outcomes := make([]string, len(results))
		for i, result := range results {
			outcomes[i] = []string{"new", "held", "hidden", "differs"}[result]
		}
		return outcomes, err
	}
}
