package pipeline

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"echosieve/pipeline/avrojson"
	"echosieve/pipeline/record"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
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

// Schemas finds the schemas with which Avro values were written. Safe for concurrent use.
type Schemas interface {
	// Schema returns the schema with an id: a number, a UUID, or "" for values without an id. It may ask a server. An error that is a
	// *RejectError says that there is no such schema, or none that Avro values can have. Any other error says that the server did not answer.
	Schema(ctx context.Context, id string) (*avrojson.Schema, error)
}

// schemaTimeout bounds the time that Decode waits for a schema.
const schemaTimeout = 10 * time.Second

// schemaFraming is the length of the beginning that serializers of a schema registry write: a zero byte and the number of the schema.
const schemaFraming = 5

// schemaID returns the id of the schema at the beginning of a value or header, and what follows. The framing has two forms: a zero byte with
// a number in four bytes, and a one with a UUID in sixteen. Without a framing the id is empty.
func schemaID(b []byte) (id string, rest []byte) {
	switch {
	case len(b) >= schemaFraming && b[0] == 0:
		return strconv.FormatUint(uint64(binary.BigEndian.Uint32(b[1:])), 10), b[schemaFraming:]
	case len(b) >= 17 && b[0] == 1:
		h := hex.EncodeToString(b[1:17])
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], b[17:]
	}
	return "", b
}

// fromAvro returns an Avro value as JSON.
func (c *DecodeConfig) fromAvro(ctx context.Context, id string, value []byte) ([]byte, *RejectError, error) {
	if n, err := strconv.ParseUint(id, 10, 64); err == nil && n > math.MaxInt32 {
		return nil, &RejectError{NoSchema, fmt.Sprintf("%d can be no number of a schema", n)}, nil
	}
	if c.Schemas == nil {
		return nil, &RejectError{NoSchema, "the program was given no schemas"}, nil
	}
	schema, err := c.Schemas.Schema(ctx, id)
	if reject := (*RejectError)(nil); errors.As(err, &reject) {
		return nil, reject, nil
	}
	if err != nil {
		return nil, nil, err
	}
	asJSON, err := schema.JSON(value, maxDecompressedBytes+2*len(value))
	if err != nil {
		return nil, &RejectError{NotAvro, err.Error() + of(id)}, nil
	}
	return asJSON, nil, nil
}

// of names a schema at the end of a sentence.
func of(id string) string {
	if id == "" {
		return ""
	}
	return "; its schema is " + id
}

// AsJSON returns the settings for an article that is not in a record of the input topic, but in a file or a request: without framing and
// compression, and with the same paths.
func (c DecodeConfig) AsJSON() DecodeConfig {
	c.Framing, c.Compression = FramingNone, CompressionNone
	if c.Format == FormatAvro {
		c.Format, c.Schemas = FormatJSON, nil
	}
	return c
}

// yielding lets other articles have the core while a schema is asked for. The caller holds a core.
type yielding struct {
	Schemas
	cores chan struct{}
}

func (y yielding) Schema(ctx context.Context, id string) (*avrojson.Schema, error) {
	<-y.cores
	defer func() { y.cores <- struct{}{} }()
	return y.Schemas.Schema(ctx, id)
}
