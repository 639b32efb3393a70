package pipeline

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"echosieve/pipeline/avrojson"
)

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
