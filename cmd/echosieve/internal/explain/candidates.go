package explain

import (
	"context"
	"fmt"
	"slices"

	"echosieve/app/told"
	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/keyspace"
)

// candidate is a stored article that the look-ups for a unique article find now, and why the article is no copy of it.
type candidate struct {
	described
	told.Judged
	Why string `json:"why"`
}

// mostCandidates bounds the candidates that are described. Earlier articles come first, and of these the nearest.
const mostCandidates = 5

// addCandidates adds to the explanation of a unique article the nearest articles that the index has, and
// compares the texts with the nearest.
func (e *explainer) addCandidates(ctx context.Context, x *explanation) *explanation {
	if x.Article.made == nil {
		return x
	}
	found := e.candidatesOf(ctx, x, &x.Article)
	if len(found) == 0 && e.index != nil {
		x.Notes = append(x.Notes, "the index holds no article that the look-ups for this one find")
	}
	own := x.Article.stored
	if own != nil { // articles that came later are no reason for the verdict
		slices.SortStableFunc(found, func(a, b redisindex.Candidate) int {
			switch {
			case a.Ticket > own.Ticket == (b.Ticket > own.Ticket):
				return 0
			case a.Ticket > own.Ticket:
				return 1
			default:
				return -1
			}
		})
	}
	for i := range found[:min(len(found), mostCandidates)] {
		c := &found[i]
		d := e.fetch(ctx, x, c.Ref(), found)
		d.setStored(&c.StoredArticle)
		compared := e.compare(&d, &x.Article)
		x.Candidates = append(x.Candidates, candidate{d, compared.Judged, why(own, c, compared.Explanation)})
		if x.Comparison == nil && d.Text != "" {
			x.compareWith(e, &d)
		}
	}
	return x
}

// why says why a unique article is no copy of a candidate.
func why(own *keyspace.StoredArticle, c *redisindex.Candidate, explanation string) string {
	switch {
	case !c.Kind.IsCopy():
		return explanation
	case own == nil:
		return "By the rule, one is a copy of the other. The index does not have this article, so it is unknown " +
			"which came first."
	case c.Hidden:
		return "By the rule this article is a copy, but the index hides the other one (echosieve index forget, or " +
			"a refill)."
	case c.Ticket > own.Ticket:
		return fmt.Sprintf("It came later (ticket %d, this article has %d): it is the copy.", c.Ticket, own.Ticket)
	case own.Verdict.Kind == article.Unique:
		return "By the rule this article is a copy, but it was not found when the verdict fell: more candidates " +
			"were nearer " +
			"than the 24 that are compared, a list was full, or the settings of the look-ups were others."
	default:
		return explanation
	}
}
