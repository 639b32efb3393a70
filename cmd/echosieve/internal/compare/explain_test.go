package compare

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
)

// A new reason needs a sentence of its own: otherwise compare would print "Not a copy: " and nothing else.
func TestEveryReasonHasASentence(t *testing.T) {
	sentences := map[string]article.Reason{}
	for r := article.ReasonNone; r == article.ReasonUnknown || r.String() != article.ReasonUnknown.String(); r++ {
		c := Comparison{Signature: &compareSignature{}}
		c.explain(article.Judgement{Reason: r}, recipe.DefaultConfig())
		require.Regexp(t, `[a-z].*: .+|^No verdict`, c.Explanation, "reason %s: add a case to explain", r)
		require.NotContains(t, sentences, c.Explanation, "reason %s", r)
		sentences[c.Explanation] = r
	}
	require.Contains(t, sentences, "Not a copy: in one of them something rises and nothing falls, and in the other something falls and nothing rises.")
}
