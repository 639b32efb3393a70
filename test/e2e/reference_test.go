package e2e

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/memindex"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/redisindex/keyspace"
	"echosieve/test/ledger"
)

// checkAgainstReference runs the articles of each input partition through the in-memory index, in order, and
// compares its verdicts with those of the service. It compares only articles whose whole cluster (all copies
// of copies) lies in one partition: the verdicts of others depend on which partition was faster. It returns
// the number of compared articles.
func checkAgainstReference(t testing.TB, recipe *recipe.Recipe, index keyspace.Config, inputs map[string]*kgo.Record,
	seen map[string]*ledger.Outcome) int {
	t.Helper()
	decode := decode.DefaultConfig()
	var claims []article.Article
	for _, in := range inputs {
		doc, reject := decode.Decode(&record.Record{
			Coordinates: article.Coordinates{Topic: in.Topic, Partition: in.Partition, Offset: in.Offset},
			Value:       in.Value,
		})
		if reject != nil {
			continue
		}
		a, _ := recipe.Fingerprint(doc.Text, article.Origin{})
		if a.Empty {
			continue
		}
		claims = append(claims, article.Article{
			Coordinates: article.Coordinates{Topic: in.Topic, Partition: in.Partition, Offset: in.Offset},
			ID:          doc.ID, Time: in.Timestamp, Digest: a.Digest, Fingerprint: a.Fingerprint,
			LittleText: a.LittleText,
			Sums:       a.Sums, Anchors: a.Anchors, Signature: a.Signature,
		})
	}
	slices.SortFunc(claims, func(a, b article.Article) int {
		if a.Less(b.Coordinates) {
			return -1
		}
		return 1
	})
	mixed := mixedClusters(claims, index)
	reference := memindex.New(memindex.Config{
		Window: window, Generations: index.Generations, Search: index.Search, BlockBits: index.Plan().Layout.Bits,
	})
	matches, err := reference.Claim(t.Context(), claims)
	require.NoError(t, err)
	compared := 0
	for i, c := range claims {
		if mixed[i] {
			continue
		}
		compared++
		h := seen[c.String()].Headers
		require.Equal(t, matches[i].Kind.String(), h[pipeline.HeaderVerdict], c.String())
		require.Equal(t, matches[i].Root.String(), h[pipeline.HeaderRoot], c.String())
		if matches[i].Kind != article.Unique {
			require.Equal(t, matches[i].Original.String(), h[pipeline.HeaderOriginal], c.String())
			require.Equal(t, matches[i].Reason.String(), h[pipeline.HeaderReason], c.String())
		}
	}
	return compared
}

// mixedClusters says for each claim whether its cluster has members in several partitions. It ignores the
// window of the index, which could only make clusters smaller.
func mixedClusters(claims []article.Article, index keyspace.Config) []bool {
	parent := make([]int, len(claims))
	for i := range parent {
		parent[i] = i
	}
	var find func(int) int
	find = func(i int) int {
		if parent[i] != i {
			parent[i] = find(parent[i])
		}
		return parent[i]
	}
	for i := range claims {
		for j := range i {
			if index.Compare(&claims[i], &claims[j]).Kind != 0 {
				parent[find(i)] = find(j)
			}
		}
	}
	mixed := make([]bool, len(claims))
	for i := range claims {
		if claims[i].Partition != claims[find(i)].Partition {
			mixed[find(i)] = true
		}
	}
	for i := range claims {
		mixed[i] = mixed[find(i)]
	}
	return mixed
}
