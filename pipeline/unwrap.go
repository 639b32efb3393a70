package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"echosieve/pipeline/record"
)

// The values of DecodeConfig.Framing and DecodeConfig.Compression.
const (
	FramingNone      = "none"
	FramingConfluent = "confluent"
	CompressionAuto  = "auto"
	CompressionNone  = "none"
	CompressionGzip  = "gzip"
	CompressionZstd  = "zstd"
)

const (
	// maxDecompressedBytes bounds the text of a compressed value. Longer values are dead letters: a record of a megabyte can claim a terabyte.
	maxDecompressedBytes = 4 << 20
	gzipMagic            = "\x1f\x8b"
	zstdMagic            = "\x28\xb5\x2f\xfd"
	// headerSchemaID is the record header in which Confluent's serializers can put the schema's id, instead of bytes before the value.
	headerSchemaID = "__value_schema_id"
)

// unwrap returns the value without compression and framing, and the id of the schema, if the framing has one. The result shares the memory of
// the record unless the value was compressed.
func (c *DecodeConfig) unwrap(r *record.Record) (value []byte, schema string, reject *RejectError) {
	compression, framed := c.Compression, c.Framing == FramingConfluent
	if compression == CompressionAuto && c.Format == FormatAvro && !framed {
		compression = CompressionNone // an Avro value can begin like gzip
	}
	if value, reject = decompress(r.Value, compression); reject != nil || !framed {
		return value, "", reject
	}
	header := slices.IndexFunc(r.Headers, func(h record.Header) bool { return h.Key == headerSchemaID })
	if header >= 0 {
		if schema, _ = schemaID(r.Headers[header].Value); schema != "" {
			return value, schema, nil
		}
	}
	if schema, rest := schemaID(value); schema != "" {
		return rest, schema, nil
	}
	if header >= 0 {
		return value, "", nil
	}
	reason := NotJSON
	if c.Format == FormatAvro {
		reason = NotAvro
	}
	return nil, "", &RejectError{reason, fmt.Sprintf("the value has no schema registry framing (a zero byte and four bytes of the schema's id) and the record no header %s: %s; "+
		"set input.framing to none if producers use no registry", headerSchemaID, excerpt(value))}
}

// CompressionOf returns the compression of data by its first four bytes. Neither JSON nor a text in UTF-8 begins like gzip or zstd.
func CompressionOf(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte(gzipMagic)):
		return CompressionGzip
	case bytes.HasPrefix(data, []byte(zstdMagic)):
		return CompressionZstd
	}
	return CompressionNone
}

// decompress returns a value without its compression.
func decompress(value []byte, compression string) ([]byte, *RejectError) {
	found := CompressionOf(value)
	expected := compression == CompressionAuto || compression == found
	switch {
	case expected && found == CompressionGzip:
		dec, _ := gzipReaders.Get().(*gzip.Reader)
		defer gzipReaders.Put(dec)
		if err := dec.Reset(bytes.NewReader(value)); err != nil {
			return nil, damaged(CompressionGzip, err)
		}
		return readBounded(CompressionGzip, dec)
	case expected && found == CompressionZstd:
		dec, _ := zstdReaders.Get().(*zstd.Decoder)
		defer zstdReaders.Put(dec)
		if err := dec.Reset(bytes.NewReader(value)); err != nil {
			return nil, damaged(CompressionZstd, err)
		}
		return readBounded(CompressionZstd, dec)
	case compression == CompressionGzip || compression == CompressionZstd:
		return nil, &RejectError{NotJSON, fmt.Sprintf("the value is not compressed with %s: %s; input.compression auto takes both kinds", compression, excerpt(value))}
	}
	return value, nil
}

// gzipReaders and zstdReaders keep decoders, which take longer to make than an article to decompress. None has a goroutine of its own, and the
// window is bounded.
var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

var zstdReaders = sync.Pool{New: func() any {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxDecompressedBytes), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(fmt.Sprintf("pipeline: options of the zstd decoder: %v", err)) // the options are constants
	}
	return dec
}}

func readBounded(codec string, in io.Reader) ([]byte, *RejectError) {
	value, err := io.ReadAll(io.LimitReader(in, maxDecompressedBytes+1))
	switch {
	case len(value) > maxDecompressedBytes || errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return nil, &RejectError{TooLarge, fmt.Sprintf("decompressed with %s, the value has more than %d MiB", codec, maxDecompressedBytes>>20)}
	case err != nil:
		return nil, damaged(codec, err)
	}
	return value, nil
}

func damaged(codec string, err error) *RejectError {
	return &RejectError{NotJSON, fmt.Sprintf("the value begins like %s and cannot be decompressed: %v", codec, err)}
}
