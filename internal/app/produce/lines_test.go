package produce

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/internal/app/config"
	"echosieve/internal/app/files"
)

// A page of a web archive becomes a record with the page's address as its key and the time of the visit as its own.
func TestRecordsOfAWebArchive(t *testing.T) {
	const archive = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/1\r\nWARC-Date: 2026-11-23T15:35:00Z\r\nContent-Length: 54\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>港</p>" + "\r\n\r\n"
	records := 0
	for r, err := range NewLines(config.Default(), files.NewProgress(io.Discard, -1, "published", func() int64 { return 0 })).Records(t.Context(), []string{"-"}, strings.NewReader(archive)) {
		require.NoError(t, err)
		records++
		require.Equal(t, "http://a/1", string(r.Key))
		require.True(t, r.Time.Equal(time.Date(2026, 11, 23, 15, 35, 0, 0, time.UTC)))
		require.JSONEq(t, `{"id":"http://a/1","url":"http://a/1","text":"<p>港</p>"}`, string(r.Value))
	}
	require.Equal(t, 1, records)
}
