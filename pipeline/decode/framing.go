package decode

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"

	"echosieve/pipeline/record"
)

// headerSchemaID is the record header in which Confluent's serializers can put the schema's id, instead of bytes before
// the value.
const headerSchemaID = "__value_schema_id"

// unframe returns a value without its framing, and the id of the schema, if the framing has one. It shares the memory
// of the value.
func (c *Config) unframe(r *record.Record, value []byte) (rest []byte, schema string, err error) {
	if c.Framing != FramingConfluent {
		return value, "", nil
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
	reason := record.NotJSON
	if c.Format == FormatAvro {
		reason = record.NotAvro
	}
	return nil, "", record.Reject(reason,
		"the value has no schema registry framing (a zero byte and four bytes of the schema's id) and the record no "+
			"header %s: %s; set input.framing to none if producers use no registry", headerSchemaID, excerpt(value))
}

// longestFraming is the length of the longer form of a framing, in bytes.
const longestFraming = 17

// schemaFraming is the length of the beginning that serializers of a schema registry write: a zero byte and the number
// of the schema.
const schemaFraming = 5

// schemaID returns the id of the schema at the beginning of a value or header, and what follows. The framing has two
// forms: a zero byte with a number in four bytes, and a one with a UUID in sixteen. Without a framing the id is empty.
func schemaID(b []byte) (id string, rest []byte) {
	switch {
	case len(b) >= schemaFraming && b[0] == 0:
		return strconv.FormatUint(uint64(binary.BigEndian.Uint32(b[1:])), 10), b[schemaFraming:]
	case len(b) >= longestFraming && b[0] == 1:
		h := hex.EncodeToString(b[1:17])
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], b[17:]
	}
	return "", b
}

// schemaOf returns the schema of a record's value. It waits for the server of schemas, so it is asked before the value
// takes memory.
func (c *Config) schemaOf(ctx context.Context, r *record.Record) (*Schema, error) {
	begin := r.Value
	if c.compressionOf(begin) != CompressionNone {
		room := share{memory: c.Memory}
		p, err := c.open(ctx, r.Value, &room, func(n int) int { return n })
		begin = bytes.Clone(p.bytes[:min(len(p.bytes), longestFraming)])
		p.release()
		room.keep(0)
		if err != nil {
			return nil, err
		}
	}
	_, id, err := c.unframe(r, begin)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.ParseUint(id, 10, 64); err == nil && n > math.MaxInt32 {
		return nil, record.Reject(record.NoSchema, "%d can be no number of a schema", n)
	}
	if c.Schemas == nil {
		return nil, record.Reject(record.NoSchema, "the program was given no schemas")
	}
	return c.Schemas.Schema(ctx, id)
}

// AsJSON returns the settings for an article that is not in a record of the input topic, but in a file or a request:
// without framing, and with the same paths.
func (c Config) AsJSON() Config {
	c.Framing = FramingNone
	if c.Format == FormatAvro {
		c.Format, c.Schemas = FormatJSON, nil
	}
	return c
}

// Schemas finds the schemas with which Avro values were written. Safe for concurrent use.
type Schemas interface {
	// Schema returns the schema with an id: a number, a UUID, or "" for values without an id. It may ask a server. An
	// error that is a *record.RejectError says that there is no such schema, or none that Avro values can have. Any
	// other error says that the server did not answer.
	Schema(ctx context.Context, id string) (*Schema, error)
}

// Pending is an error of Schemas and of With: it is not known yet whether there is a schema. The caller
// gives the memory of the batch back, calls Wait, and begins with the record again.
type Pending struct {
	Schema string // id
	Record string // coordinates of the record that needs the schema; With sets them
	Why    error
	// Settle returns nil when Schemas can say more of the schema, and an error only if ctx ends. record is
	// named to those who watch.
	Settle func(ctx context.Context, record string) error
}

func (p *Pending) Error() string {
	return fmt.Sprintf("schema %s of %s is not known yet: %v", p.Schema, p.Record, p.Why)
}

func (p *Pending) Unwrap() error { return p.Why }

// Wait returns nil when it may be known whether there is the schema, and an error only if ctx ends.
func (p *Pending) Wait(ctx context.Context) error { return p.Settle(ctx, p.Record) }
