package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex"
	"echosieve/test/ledger"
)

// account requires that every promise which needs no knowledge of the texts was kept: every record has its output, in the
// topic and the partition where it belongs, all deliveries of a record are the same, and every root is the end of its chain.
func account(t testing.TB, c cluster, r *recipe.Recipe, inputs map[string]*kgo.Record, outputs []*kgo.Record) map[string]*ledger.Outcome {
	t.Helper()
	report := ledger.Run{
		Inputs: inputs, Outputs: outputs, Partitions: partitions,
		Topics: ledger.Topics{Unique: c.topic + "-unique", Duplicate: c.topic + "-duplicate", Dead: c.topic + "-dead"},
		Reason: func(source string) pipeline.Reason { return reason(r, inputs[source]) },
	}.Check()
	require.Empty(t, report.Violations)
	return report.Seen
}

// reason is the reason of the dead letter that a record must become: of the broken ones that we put in between, what we
// know; of the articles, should one of them have no text, what decoding says.
func reason(r *recipe.Recipe, in *kgo.Record) pipeline.Reason {
	if in.Value == nil {
		return ""
	}
	if known, is := broken[string(in.Value)]; is {
		return known
	}
	decode := pipeline.DefaultDecodeConfig()
	doc, reject := decode.Decode(&pipeline.Record{Value: in.Value})
	if reject != nil {
		return reject.Reason
	}
	if a, _ := r.Fingerprint(doc.Text); a.Empty {
		return pipeline.EmptyText
	}
	return ""
}

// checkVerdicts checks every verdict against a brute-force comparison of all articles: a copy names an article of which
// it is one, of two copies that a look-up finds never both are held to be none.
func checkVerdicts(t testing.TB, r *recipe.Recipe, index redisindex.Config, decode pipeline.DecodeConfig, windowMillis int64,
	inputs map[string]*kgo.Record, seen map[string]*ledger.Outcome,
) (copies int) {
	t.Helper()
	type decided struct {
		source string
		millis int64
		print  article.Article
	}
	var all []decided
	for source, in := range inputs {
		doc, reject := decode.Decode(&pipeline.Record{Value: in.Value})
		var a article.Article
		if reject == nil {
			a, _ = r.Fingerprint(doc.Text)
		}
		if in.Value == nil || reject != nil || a.Empty {
			continue
		}
		all = append(all, decided{source, in.Timestamp.UnixMilli(), a})
	}
	plan := index.Plan()
	isCopy := func(a, b *decided) bool {
		if d := a.millis - b.millis; d > windowMillis || d < -windowMillis {
			return false
		}
		return index.Compare(&a.print, &b.print).Kind.IsCopy()
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
			if plan.Finds(&a.print, &all[j].print) && plan.Finds(&all[j].print, &a.print) {
				one := copyOf[h[pipeline.HeaderVerdict]] || copyOf[seen[all[j].source].Headers[pipeline.HeaderVerdict]]
				require.True(t, one, "%s and %s are copies of each other and neither is held to be one", a.source, all[j].source)
			}
		}
		if !copyOf[h[pipeline.HeaderVerdict]] {
			continue
		}
		copies++
		require.True(t, neighbours[h[pipeline.HeaderOriginal]], "%s repeats %s, of which it is no copy", a.source, h[pipeline.HeaderOriginal])
	}
	return copies
}
