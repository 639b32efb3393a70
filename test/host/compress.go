package host

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// Gzip returns the text compressed by gzip.
func Gzip(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// Zstd returns the text compressed by Zstandard.
func Zstd(t testing.TB, text string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return string(w.EncodeAll([]byte(text), nil))
}
