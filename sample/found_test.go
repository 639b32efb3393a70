package sample_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	judged "echosieve/pipeline/article"
	"echosieve/pipeline/memindex"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex/keyspace"
	"echosieve/sample"
	"echosieve/simhash"
)

// fed counts what the service with its default settings says of a feed's articles.
type fed struct {
	originals, joined, marked int // originals; those taken for copies, and for possible copies
	copies, found             int // copies; those of which the verdict names the right root
	candidates                int // of the originals: fingerprints that are near enough to be compared
}

// feed gives n articles to an index as an operator has it who changed no setting.
func feed(t *testing.T, n int) (counts fed) {
	t.Helper()
	made, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	layout := keyspace.DefaultConfig()
	layout.Search, layout.Window = made.Search(), 168*time.Hour
	plan := layout.Plan()
	index := memindex.New(memindex.Config{Window: layout.Window, Generations: 1, Search: made.Search(),
		BlockBits: plan.Layout.Bits})
	lists := map[simhash.Block][]simhash.Fingerprint{}
	articles := sample.NewFeed("test", .3, 5)
	now := time.Now()
	for i := range n {
		_, value := articles.Next()
		var line struct {
			ID, Text string
			CopyOf   string `json:"copy_of"`
		}
		require.NoError(t, json.Unmarshal(value, &line))
		a, _ := made.Fingerprint(line.Text, judged.Origin{Time: now})
		a.ID, a.Coordinates, a.Time = line.ID, judged.Coordinates{Topic: "articles", Offset: int64(i)}, now
		verdicts, err := index.Claim(t.Context(), []judged.Article{a})
		require.NoError(t, err)
		if line.CopyOf != "" {
			counts.copies++
			if verdicts[0].Kind.IsCopy() && verdicts[0].Root.ID == line.CopyOf {
				counts.found++
			}
			continue
		}
		counts.originals++
		var near []simhash.Fingerprint
		filter := plan.NewFilter()
		for _, block := range plan.AppendLookups(nil, &a) {
			for _, fp := range lists[block] {
				if filter.Accepts(block.Index, fp, simhash.Distance(fp, a.Fingerprint)) && !slices.Contains(near, fp) {
					near = append(near, fp)
				}
			}
		}
		counts.candidates += len(near)
		for _, block := range plan.AppendStored(nil, &a) {
			lists[block] = append(lists[block], a.Fingerprint)
		}
		switch {
		case verdicts[0].Kind.IsCopy():
			counts.joined++
		case verdicts[0].Kind == judged.Possible:
			counts.marked++
		}
	}
	return counts
}

// TestServiceOnFeed requires of the feed what dashboards show for a day: copies are found, different articles
// are not joined, and an article has so few candidates that after a day of 432,000 articles (five a second)
// their mean is below half of redis.max_candidates. Candidates grow in proportion to the articles stored.
// Single articles have more than the mean: at the end of such a day, 1.5 % are capped.
func TestServiceOnFeed(t *testing.T) {
	const n, day = 12_000, 432_000
	counts := feed(t, n)
	t.Logf("%+v", counts)
	require.Zero(t, counts.joined)
	require.LessOrEqual(t, counts.marked, counts.originals/1000)
	require.Greater(t, counts.found, counts.copies*98/100)
	// On average, half of the articles were stored before.
	atTheEnd := float64(counts.candidates) / float64(counts.originals) * 2 * day / n
	require.Less(t, atTheEnd, float64(keyspace.DefaultConfig().MaxCandidates)/2, "candidates of an article after a day")
}
