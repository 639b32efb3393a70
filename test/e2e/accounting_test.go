package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/ledger"
)

// account requires that every input record has its output and that all deliveries of a record are the same.
func account(t testing.TB, inputs map[string]*kgo.Record, outputs []*kgo.Record) map[string]*ledger.Outcome {
	t.Helper()
	seen, bad := ledger.Account(inputs, outputs)
	require.Empty(t, bad)
	return seen
}

// checkVerdicts checks every verdict against a brute-force comparison of all articles: a copy names an article of which
// it is one, of two copies that a look-up finds never both are held to be none, chains end in an article that is no
// copy.
func checkVerdicts(t testing.TB, recipe *pipeline.Recipe, search pipeline.Search, decode pipeline.DecodeConfig, windowMillis int64,
	inputs map[string]*kgo.Record, seen map[string]*ledger.Outcome,
) (copies int) {
	t.Helper()
	type article struct {
		source string
		millis int64
		print  pipeline.Article
	}
	var all []article
	for source, in := range inputs {
		o := seen[source]
		doc, reject := decode.Decode(&pipeline.Record{Value: in.Value})
		var a pipeline.Article
		if reject == nil {
			a, _ = recipe.Fingerprint(doc.Text)
		}
		switch {
		case in.Value == nil:
			require.Equal(t, "unique", o.Headers[pipeline.HeaderVerdict], source)
			continue
		case reject != nil || a.Empty:
			require.NotEmpty(t, o.Headers[pipeline.HeaderReason], source)
			require.Empty(t, o.Headers[pipeline.HeaderVerdict], source)
			continue
		}
		require.NotEmpty(t, o.Headers[pipeline.HeaderVerdict], source)
		all = append(all, article{source, in.Timestamp.UnixMilli(), a})
	}
	isCopy := func(a, b *article) bool {
		if d := a.millis - b.millis; d > windowMillis || d < -windowMillis {
			return false
		}
		return search.Compare(&a.print, &b.print).Kind.IsCopy()
	}
	copyOf := map[string]bool{"near": true, "exact": true}
	for i := range all {
		a := &all[i]
		h := seen[a.source].Headers
		neighbours := map[string]bool{}
		for j := range all {
			if i == j || !isCopy(a, &all[j]) {
				continue
			}
			neighbours[all[j].source] = true
			// Probes follow the weak bits of the one that looks, and either may be the later one.
			if search.Finds(&a.print, &all[j].print) && search.Finds(&all[j].print, &a.print) {
				one := copyOf[h[pipeline.HeaderVerdict]] || copyOf[seen[all[j].source].Headers[pipeline.HeaderVerdict]]
				require.True(t, one, "%s and %s are copies of each other and neither is held to be one", a.source, all[j].source)
			}
		}
		if !copyOf[h[pipeline.HeaderVerdict]] {
			require.Equal(t, a.source, h[pipeline.HeaderRoot], a.source)
			continue
		}
		copies++
		require.True(t, neighbours[h[pipeline.HeaderOriginal]], "%s repeats %s, of which it is no copy", a.source, h[pipeline.HeaderOriginal])
	}
	require.Empty(t, ledger.Chains(seen))
	return copies
}
