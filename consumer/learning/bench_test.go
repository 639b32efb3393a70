package learning

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/learnt"
)

// BenchmarkOpen reads 100,000 rows at the start of a process.
func BenchmarkOpen(b *testing.B) {
	const many = 100_000
	cfg, w := configured(b), &warnings{}
	rows := make([]learnt.Row, many)
	for i := range rows {
		rows[i] = learnt.Row{Publisher: fmt.Sprint("house ", i%5000), Hash: uint64(i), Articles: 5,
			Sentence: fmt.Sprintf("Whoever finds a mistake in report %d writes to the desk of the paper.", i)}
	}
	writer := opened(b, cfg, w)
	for some := range slices.Chunk(rows, maxPending) {
		require.NoError(b, writer.Publish(b.Context(), some))
	}
	for b.Loop() {
		topic, err := New(cfg, 7*24*time.Hour, &learnt.Rows{}, nil, slog.New(slog.DiscardHandler), w.health())
		require.NoError(b, err)
		require.NoError(b, topic.Open(b.Context()))
		require.Equal(b, many, topic.book.rows.Len())
		topic.Close()
	}
}
