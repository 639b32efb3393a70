package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"echosieve/cmd/echosieve/internal/compare"
	"echosieve/pipeline/article"
	"echosieve/redisindex"
)

// candidate is a stored article that the look-ups for a unique article find now, and why the article is no copy of it.
type candidate struct {
	described
	Distance int              `json:"distance"` // bits
	Why      string           `json:"why"`
	Figures  []compare.Figure `json:"figures"`
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
	if own := x.Article.Index; own != nil { // those that came later are no reason for the verdict
		slices.SortStableFunc(found, func(a, b redisindex.Candidate) int {
			return cmp.Compare(later(a, own), later(b, own))
		})
	}
	for _, c := range found[:min(len(found), mostCandidates)] {
		d := e.fetch(ctx, x, c.Ref(), found)
		d.setStored(c.StoredArticle)
		compared := e.compare(&d, &x.Article)
		x.Candidates = append(x.Candidates, candidate{
			described: d, Distance: c.Distance, Why: why(&x.Article, c, compared.Explanation),
			Figures: compared.Figures,
		})
		if x.Comparison == nil && d.text != "" {
			x.compareWith(e, &d)
		}
	}
	return x
}

// later is 1 for a candidate that came later than the article, and 0 for others.
func later(c redisindex.Candidate, own *stored) int {
	if c.Ticket > own.Ticket {
		return 1
	}
	return 0
}

// why says why a unique article is no copy of a candidate.
func why(d *described, c redisindex.Candidate, explanation string) string {
	switch {
	case !c.Kind.IsCopy():
		return explanation
	case d.Index == nil:
		return "By the rule, one is a copy of the other. The index does not have this article, so it is unknown " +
			"which came first."
	case c.Hidden:
		return "By the rule this article is a copy, but the index hides the other one (echosieve index forget, or " +
			"a refill)."
	case c.Ticket > d.Index.Ticket:
		return fmt.Sprintf("It came later (ticket %d, this article has %d): it is the copy.", c.Ticket, d.Index.Ticket)
	case d.Index.verdict.Kind == article.Unique:
		return "By the rule this article is a copy, but it was not found when the verdict fell: more candidates " +
			"were nearer " +
			"(redis.max_candidates), a list was full, or the settings of the look-ups were others."
	default:
		return explanation
	}
}
