package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/memindex"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
)

// A shadow decides as the service does. All its outputs go to one topic, are marked, and hold values only if wanted.
func TestShadow(t *testing.T) {
	for _, keep := range []bool{false, true} {
		index := memindex.New(memindex.Config{Window: time.Hour, Generations: 2,
			Search: recipe.DefaultConfig().Search()})
		shadow := pipeline.Shadow{Pipeline: newPipeline(t, index, nil, nil), KeepValues: keep}
		recs := records(strings.Replace(articleJSON, "%", "a", 1), "no JSON", strings.Replace(articleJSON, "%", "b", 1),
			strings.Replace(articleJSON, "%", strings.Repeat("x", 1<<20), 1))
		recs[0].Headers = []record.Header{{Key: pipeline.HeaderShadow, Value: []byte("forged")}}
		outputs, err := shadow.Decide(t.Context(), prepare(t, shadow, recs))
		require.NoError(t, err)
		require.Len(t, outputs, len(recs))
		for i, want := range []struct{ destination, verdict string }{
			{"unique", "unique"}, {"dead", ""}, {"duplicate", "exact"}, {"dead", ""},
		} {
			require.Equal(t, article.ToShadow, outputs[i].Destination, i)
			require.Equal(t, want.destination, header(outputs[i], pipeline.HeaderShadow), i)
			require.Equal(t, want.verdict, header(outputs[i], pipeline.HeaderVerdict), i)
			tooLarge := i == 3
			require.Equal(t, !keep || tooLarge, outputs[i].OmitValue, i)
		}
	}
}
