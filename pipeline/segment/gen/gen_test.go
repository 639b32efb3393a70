package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// The embedded table is the one that the dictionaries make, byte for byte. Its zstd frame may differ between versions
// of the library.
func TestTableIsUpToDate(t *testing.T) {
	want, err := build()
	require.NoError(t, err)
	packed, err := os.ReadFile("../table.zst")
	require.NoError(t, err)
	dec, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer dec.Close()
	got, err := dec.DecodeAll(packed, nil)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got), "run: go generate ./pipeline/segment")
}
