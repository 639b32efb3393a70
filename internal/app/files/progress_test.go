package files

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"echosieve/internal/app/files/filestest"

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
	l, err := newLineReader(p.Counting(strings.NewReader(text)), 100)
	require.NoError(t, err)
	for err == nil {
		_, _, err = l.Next()
	}
	require.ErrorIs(t, err, io.EOF)
	require.EqualValues(t, len(text), p.read.Load())
}

func TestShowLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		stop := ShowLine(&log, func(elapsed time.Duration) string {
			if elapsed < 6*time.Second {
				return ""
			}
			return fmt.Sprint(elapsed, TimeLeft(elapsed, 1, 3))
		})
		time.Sleep(16 * time.Second)
		stop()
		time.Sleep(time.Minute)
		require.Equal(t, "10s, about 20s left\n15s, about 30s left\n", log.String())
		require.Empty(t, TimeLeft(time.Minute, 0, 3))
	})
}
