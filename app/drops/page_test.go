package drops

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
)

// Of many drops the least sure are kept, of equally sure ones the newest. What was published is no drop.
func TestWeakest(t *testing.T) {
	var w Weakest
	for i := range 5 * Most {
		v := article.Verdict{Kind: article.Near, Destination: article.ToDuplicate,
			Likeness: article.Likeness{Similarity: 50, Contained: article.Share(i % 100)}}
		w.Offer(Drop{Time: time.Unix(int64(i), 0), Verdict: v})
		v.Destination = article.ToUnique
		w.Offer(Drop{Verdict: v})
		w.Offer(Drop{Verdict: article.Verdict{Kind: article.Unique}})
	}
	require.Equal(t, 5*Most, w.All)
	list := w.List()
	require.Len(t, list, Most)
	require.EqualValues(t, 0, list[0].Verdict.Contained)
	require.EqualValues(t, 5*Most-100, list[0].Time.Unix())
	require.EqualValues(t, 19, list[Most-1].Verdict.Contained)
	require.EqualValues(t, 19, list[Most-1].Time.Unix())
}
