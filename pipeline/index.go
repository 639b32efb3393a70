package pipeline

import (
	"context"

	"echosieve/pipeline/article"
)

// Index remembers articles for a window and answers each with the article it repeats, if any.
//
// Claim stores the articles and answers articles[i] with the i-th Verdict. Within one call earlier articles come first: an article can
// repeat an earlier one of the same call, never a later one. Claim is idempotent and stable: the same Coordinates get the same Verdict
// again, for as long as the window remembers them, whatever other calls claimed in between and however often an earlier call failed
// half-way. Of two copies that can see each other at least one gets a verdict that IsCopy; the earlier of the two never gets it because
// of the later one.
//
// Claim blocks while its store is away and returns an error only when ctx ends; it never guesses. Safe for concurrent use.
type Index interface {
	Claim(ctx context.Context, articles []article.Article) ([]article.Verdict, error)
}
