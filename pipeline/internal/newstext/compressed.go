package newstext

import (
	"bytes"
	"compress/gzip"

	"github.com/klauspost/compress/zstd"
)

// Gzip returns a text compressed with gzip.
func Gzip(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	must(w.Write([]byte(text)))
	must(0, w.Close())
	return b.String()
}

// Zstd returns a text compressed with zstd.
func Zstd(text string) string {
	w, err := zstd.NewWriter(nil)
	must(w, err)
	return string(w.EncodeAll([]byte(text), nil))
}

// Streamed is compressed by a writer that does not know how much will come: the frame declares a window of 8 MiB.
func Streamed(text string) string {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(8<<20),
		zstd.WithSingleSegment(false), zstd.WithEncoderConcurrency(1))
	must(w, err)
	must(w.Write([]byte(text)))
	must(0, w.Flush())
	must(0, w.Close())
	return b.String()
}

func must[T any](_ T, err error) {
	if err != nil {
		panic(err)
	}
}
