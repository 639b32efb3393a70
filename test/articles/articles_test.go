package articles

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
)

// The rule says of two articles of a family what their facts say, whichever comes first. Who published them, and when,
// is evidence as well.
func TestFactsAreWhatTheRuleSays(t *testing.T) {
	news, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	decoder := decode.New(decode.DefaultConfig())
	w := NewWriter(1, "a", news, true)
	w.Famous, w.MaxFamily = 40, 39 // as rounds of stories have them
	plan := w.Index.Plan()
	families := map[string][]article.Article{}
	pairs := map[Role]int{}
	for range 1500 {
		for _, r := range w.Write() {
			fact, known := w.Facts[string(r.Key)]
			if !known {
				continue
			}
			content, reject := decoder.Decode(&record.Record{Key: r.Key, Value: r.Value, Time: r.Timestamp})
			require.Nil(t, reject)
			a, _ := news.Fingerprint(content.Text, content.Origin(r.Timestamp))
			a.ID, a.Time = content.ID, r.Timestamp
			for _, b := range families[fact.Family] {
				other := w.Facts[b.ID]
				pairs[max(fact.Role, other.Role)]++
				for _, judged := range []article.Judgement{
					plan.Judge(&w.Index.Rule, &a, &b), plan.Judge(&w.Index.Rule, &b, &a),
				} {
					if isCopy := judged.Kind.IsCopy(); isCopy && !fact.MayMatch(other) || !isCopy && fact.MustMatch(other) {
						t.Errorf("%s (%+v) and %s (%+v) are %s by %s", a.ID, fact, b.ID, other, judged.Kind, judged.Reason)
					}
				}
			}
			families[fact.Family] = append(families[fact.Family], a)
		}
	}
	for _, role := range []Role{Exact, Near, Version} {
		require.Greater(t, pairs[role], 200, role)
	}
}
