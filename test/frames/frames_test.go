package frames

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

func TestFramesAreZstd(t *testing.T) {
	plain := []byte("article " + strings.Repeat("x", 1<<20) + " article")
	packed, _ := Zstd{}.Compress(&bytes.Buffer{}, plain)
	require.Less(t, len(packed), 3*block)
	var h zstd.Header
	require.NoError(t, h.Decode(packed))
	require.EqualValues(t, Window, h.WindowSize)
	r, err := zstd.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	defer r.Close()
	read, err := io.ReadAll(r)
	require.NoError(t, err)
	require.True(t, bytes.Equal(plain, read))
}
