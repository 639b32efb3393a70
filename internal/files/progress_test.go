package files

import (
	"io"
	"strings"
	"testing"
	"time"

	"echosieve/internal/files/filestest"

	"github.com/stretchr/testify/require"
)

func TestProgressLine(t *testing.T) {
	p := NewProgress(io.Discard, 1000, "published", func() int64 { return 50 })
	require.Equal(t, "50 records published, 0 bad lines, 5 records/s", p.line(10*time.Second))
	p.read.Store(250)
	p.Bad.Store(2)
	require.Equal(t, "50 records published, 2 bad lines, 5 records/s, 25% read, about 30s left", p.line(10*time.Second))
	p.total = -1
	require.Equal(t, "50 records published, 2 bad lines, 5 records/s", p.line(10*time.Second))
}

func TestProgressCountsCompressedBytes(t *testing.T) {
	text := filestest.Gzip(t, strings.Repeat("{}\n", 1000))
	p := NewProgress(io.Discard, int64(len(text)), "published", func() int64 { return 0 })
	l, err := NewLineReader(p.Counting(strings.NewReader(text)), 100)
	require.NoError(t, err)
	for err == nil {
		_, _, err = l.Next()
	}
	require.ErrorIs(t, err, io.EOF)
	require.EqualValues(t, len(text), p.read.Load())
}
