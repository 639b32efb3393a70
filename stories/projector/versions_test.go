package projector

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/changes"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/stories"
)

// What is new is told of each copy that may bring news, and of possible copies within one publisher.
func TestVersions(t *testing.T) {
	p := &Projector{Rules: &stories.Rules{}, Decoder: decode.New(decode.DefaultConfig()),
		Root: func(_ context.Context, at article.Coordinates) (record.Record, bool, error) {
			return record.Record{Coordinates: at, Value: []byte(`{"text":"Some text.","title":"T","source":"p1"}`)},
				at.Offset != gone, nil
		},
		Health: func(string, fmt.Stringer, error) {}}
	relation := func(r record.Record, relation string) record.Record {
		for i := range r.Headers {
			if r.Headers[i].Key == pipeline.HeaderRelation {
				r.Headers[i].Value = []byte(relation)
			}
		}
		return r
	}
	records := []record.Record{
		output(0, 0, 1, "near"), output(0, 1, 1, "unique"), relation(output(0, 2, 1, "exact"), "equal"),
		relation(output(0, 3, 1, "near"), "contained"), output(0, 4, gone, "near"),
		relation(output(0, 7, 1, "possible"), "contained"), // of p1, as the original
		relation(output(0, 8, 1, "possible"), "contained"), {Value: []byte("{}")},
		relation(output(0, 9, gone, "possible"), "contained"),
	}
	records[0].Value = []byte(`{"text":"Some text. A ferry ran aground.","title":"U","source":"p2"}`)
	v := &Versions{Projector: p}
	b, err := v.Prepare(t.Context(), records)
	require.NoError(t, err)
	outputs, err := v.Decide(t.Context(), b)
	require.NoError(t, err)
	var of []int64
	var all []Version
	for _, o := range outputs {
		var one Version
		require.NoError(t, json.Unmarshal(o.Record.Value, &one))
		require.Equal(t, one.Root.Coordinates, string(o.Record.Key))
		require.Equal(t, o.Record.String(), string(o.Headers[0].Value))
		of, all = append(of, o.Record.Offset), append(all, one)
	}
	require.Equal(t, []int64{0, 4, 7}, of)
	require.Equal(t, changes.Extension, all[0].Changes.Kind)
	require.Equal(t, []string{"A ferry ran aground."}, all[0].Changes.Added)
	require.Equal(t, "T", all[0].Changes.Title.Old)
	require.Equal(t, []string{"in/0/1000", "p2", "in/0/1"}, []string{all[0].Article.Coordinates, all[0].Article.Publisher,
		all[0].Original.Coordinates})
	require.Equal(t, changes.OriginalGone, all[1].Why)
	require.Nil(t, all[1].Changes)
	require.Equal(t, []string{"possible", "in/0/1"}, []string{all[2].Verdict, all[2].Root.Coordinates})
}
