package decode

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/decode/avrojson"
	"echosieve/pipeline/internal/hostiletext"
	"echosieve/pipeline/record"
)

// Values wait for memory, before they are decompressed if they can be large, until others have given it back. The
// largest passes alone.
func TestValuesWaitForMemory(t *testing.T) {
	long := `{"text":"x","a":"` + strings.Repeat("a", 400<<10) + `"}`
	for name, value := range map[string]string{
		"plain": long, "gzip": hostiletext.Gzip(long), "zstd": hostiletext.Zstd(long), "small, gzip": hostiletext.Gzip(`{"text":"x"}`),
	} {
		t.Run(name, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.Memory = NewMemory(100 << 10) // less than the value
			var free bool
			require.NoError(t, cfg.With(t.Context(), recordOf(value), func(c article.Content, reject *record.RejectError) {
				require.Nil(t, reject)
				require.Equal(t, "x", c.Text)
				free = cfg.Memory.free.TryAcquire(100 << 10)
			}))
			require.False(t, free, "the value holds its memory as long as it is worked on")
			require.True(t, cfg.Memory.free.TryAcquire(100<<10), "and gives it back")

			ended, end := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer end()
			err := cfg.With(ended, recordOf(value),
				func(article.Content, *record.RejectError) { t.Error("there is no memory") })
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
}

// Texts from elsewhere than a record wait, too.
func TestTextsWaitForMemory(t *testing.T) {
	m, called := NewMemory(10), false
	require.NoError(t, m.While(t.Context(), 7, func() { called = !m.free.TryAcquire(4) }))
	require.True(t, called, "7 of 10 bytes are held")
	require.True(t, m.free.TryAcquire(10), "and given back")
	ended, end := context.WithTimeout(t.Context(), time.Millisecond)
	defer end()
	require.ErrorIs(t, m.While(ended, 1, func() { t.Error("there is no memory") }), context.DeadlineExceeded)
	require.NoError(t, (*Memory)(nil).While(t.Context(), 1, func() {}))
}

// While a schema is asked for, no memory is held, whatever the value is wrapped in.
func TestNoMemoryIsHeldForASchema(t *testing.T) {
	schema, err := avrojson.Parse(`{"type":"record","name":"r","fields":[{"name":"text","type":"string"}]}`)
	require.NoError(t, err)
	framed := "\x00\x00\x00\x00\x07\x02x"
	for name, value := range map[string]string{"plain": framed, "gzip": hostiletext.Gzip(framed),
		"zstd": hostiletext.Zstd(framed)} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Format: FormatAvro, Framing: FramingConfluent, Compression: CompressionAuto,
				Memory: NewMemory(1000)}
			cfg.Fields = DefaultConfig().Fields
			cfg.Schemas = askedSchema(func(id string) (*avrojson.Schema, error) {
				require.Equal(t, "7", id)
				require.True(t, cfg.Memory.free.TryAcquire(1000))
				cfg.Memory.free.Release(1000)
				return schema, nil
			})
			content, reject := cfg.Decode(recordOf(value))
			require.Nil(t, reject)
			require.Equal(t, "x", content.Text)
		})
	}
}

type askedSchema func(id string) (*avrojson.Schema, error)

func (a askedSchema) Schema(_ context.Context, id string) (*avrojson.Schema, error) { return a(id) }

// An Avro value may claim much more JSON than its bytes, up to a bound. It then waits for the memory of that JSON.
func TestLongAvro(t *testing.T) {
	schema, err := avrojson.Parse(`{"type":"record","name":"r","fields":[{"name":"text","type":"string"},
		{"name":"nulls","type":{"type":"array","items":"null"}}]}`)
	require.NoError(t, err)
	// 32,768 and 491,520 items of five bytes
	for items, reason := range map[byte]record.RejectReason{0x01: "", 0x0f: record.NotAvro} {
		cfg := Config{Format: FormatAvro, Framing: FramingNone, Memory: NewMemory(1 << 10), MaxBytes: 1 << 20}
		cfg.Fields = DefaultConfig().Fields
		cfg.Schemas = askedSchema(func(string) (*avrojson.Schema, error) { return schema, nil })
		value := []byte{2, 'x', 0x80, 0x80, 4 * items, 0}
		if items == 0x01 {
			value[4] = 4
		}
		content, reject := cfg.Decode(&record.Record{Value: value})
		if reason == "" {
			require.Nil(t, reject)
			require.Equal(t, "x", content.Text)
		} else {
			require.NotNil(t, reject)
			require.Equal(t, reason, reject.Reason, reject.Detail)
		}
		require.True(t, cfg.Memory.free.TryAcquire(1<<10), "all is given back")
	}
}

// What a batch keeps of an article is short, and is no part of a long text.
func TestContentIsCut(t *testing.T) {
	long := strings.Repeat("新", 1000)
	value := `{"id":"a","text":"x","title":"` + long + `","source":"` + long + `","url":"http://x/` + long + `"}`
	content, reject := new(Config{Format: FormatJSON, Fields: DefaultConfig().Fields}).Decode(
		recordOf(value))
	require.Nil(t, reject)
	require.Equal(t, long[:510], content.Title)
	require.Equal(t, long[:255], content.Publisher)
	require.Empty(t, content.URL)
	content, reject = new(Config{Format: FormatHTML}).Decode(recordOf("<title>" + long))
	require.Nil(t, reject)
	require.Equal(t, long[:510], content.Title)
}

// An error of the schemas' server is no dead letter: the record waits.
func TestErrorOfSchemas(t *testing.T) {
	away := errors.New("away")
	cfg := Config{Format: FormatAvro, Framing: FramingNone,
		Schemas: askedSchema(func(string) (*avrojson.Schema, error) { return nil, away })}
	require.ErrorIs(t, cfg.With(t.Context(), recordOf("x"), nil), away)
}
