package decode

import (
	"bytes"
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/test/host"
)

// Each field is among the paths that a member with the verdict must not replace, and each preset looks for it within
// its envelope.
func TestFieldsAreAllFields(t *testing.T) {
	defaults := reflect.ValueOf(DefaultConfig().Fields)
	for field, list := range defaults.Fields() {
		of := "config.go, Fields: " + field.Name
		fields := DefaultConfig().Fields
		reflect.ValueOf(&fields).Elem().FieldByIndex(field.Index).Set(reflect.ValueOf([]string{"mine"}))
		assert.Contains(t, fields.Paths(), "mine", "%s, in Paths", of)
		if list.Len() == 0 {
			continue
		}
		for preset := range envelopes {
			cfg := DefaultConfig()
			cfg.Preset = preset
			within := reflect.ValueOf(cfg.paths()).FieldByIndex(field.Index)
			assert.NotZero(t, within.Len(), "%s, in paths, preset %s", of, preset)
		}
	}
}

// streamed is compressed by a writer that does not know how much will come: the frame declares a window of 8 MiB.
func streamed(t *testing.T, text string) string {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(8<<20),
		zstd.WithSingleSegment(false), zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	_, err = io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	require.NoError(t, w.Close())
	return b.String()
}

func TestUnwrap(t *testing.T) {
	const plain, framed = `{"id":"a","text":"x"}`, "\x00\x00\x00\x01\x2c" + `{"id":"a","text":"x"}`
	const most = 300 << 10
	bomb, large := strings.Repeat("a", most+1), plain+strings.Repeat(" ", most-len(plain))
	for _, c := range []struct {
		name, framing, value string
		reason               record.RejectReason // empty: the article is found
		detail               string
	}{
		{"plain", FramingNone, plain, "", ""},
		{"gzip", FramingNone, host.Gzip(t, plain), "", ""},
		{"zstd", FramingNone, host.Zstd(t, plain), "", ""},
		{"gzip, cut", FramingNone, host.Gzip(t, plain)[:25], record.NotJSON, "cannot be decompressed"},
		{"zstd, cut", FramingNone, host.Zstd(t, plain)[:12], record.NotJSON, "cannot be decompressed"},
		{"gzip, as large as allowed", FramingNone, host.Gzip(t, large), "", ""},
		{"zstd, as large as allowed", FramingNone, host.Zstd(t, large), "", ""},
		{"zstd of a stream, as large as allowed", FramingNone, streamed(t, large), "", ""},
		{"gzip bomb", FramingNone, host.Gzip(t, bomb), record.TooLarge, "more than 307200 bytes"},
		{"zstd bomb", FramingNone, host.Zstd(t, bomb), record.TooLarge, "more than 307200 bytes"},
		{"zstd bomb of a stream", FramingNone, streamed(t, bomb), record.TooLarge, "more than 307200 bytes"},
		{"zstd of a stream with a large window", FramingNone, streamed(t, plain), "", ""},
		{"two frames", FramingNone, host.Zstd(t, plain[:9]) + streamed(t, plain[9:]), "", ""},
		{"two members", FramingNone, host.Gzip(t, plain[:9]) + host.Gzip(t, plain[9:]), "", ""},
		{"zstd that claims 256 MiB in one segment", FramingNone,
			"\x28\xb5\x2f\xfd\xa0\x00\x00\x00\x10\x01\x00\x00", record.TooLarge, "kafka.max_message_bytes"},
		{"framed", FramingConfluent, framed, "", ""},
		{"framed, then compressed", FramingConfluent, host.Gzip(t, framed), "", ""},
		{"framed, none expected", FramingNone, framed, record.NotJSON, "set input.framing to confluent"},
		{"framing expected", FramingConfluent, plain, record.NotJSON, "set input.framing to none"},
		{"cut within the framing", FramingConfluent, framed[:4], record.NotJSON,
			"set input.framing to none"},
		{"nothing after the framing", FramingConfluent, framed[:5], record.NotJSON, "empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.Framing, cfg.MaxBytes = c.framing, most
			require.NoError(t, cfg.Validate())
			r := recordOf(c.value)
			content, reject := cfg.Decode(r)
			require.Equal(t, c.value, string(r.Value), "it is published")
			if c.reason != "" {
				require.NotNil(t, reject)
				require.Equal(t, c.reason, reject.Reason, reject.Detail)
				require.Contains(t, reject.Detail, c.detail)
				return
			}
			require.Nil(t, reject)
			require.Equal(t, "a", content.ID)
			require.Equal(t, "x", content.Text)
		})
	}
}

func TestPresets(t *testing.T) {
	const inner = `{"id":"a","title":"T","text":"x","source":"S","url":"u"}`
	quoted := `"` + strings.ReplaceAll(inner, `"`, `\"`) + `"`
	event := []record.Header{{Key: "ce_id", Value: []byte("event-7")}, {Key: "ce_source", Value: []byte("//crawler")}}
	for _, c := range []struct {
		name, preset, value string
		headers             []record.Header
		id, source          string
	}{
		{"no envelope", "", inner, nil, "a", "S"},
		{"Connect", "connect", `{"schema":{"type":"struct"},"payload":` + inner + `}`, nil, "a", "S"},
		{"Debezium", "debezium", `{"before":null,"after":` + inner + `,"source":{"db":"news"},"op":"c"}`, nil, "a",
			"S"},
		{"Debezium with a schema", "debezium", `{"schema":{},"payload":{"before":null,"after":` + inner +
			`,"op":"u"}}`, nil, "a", "S"},
		{"Debezium of MongoDB", "debezium", `{"after":` + quoted + `,"op":"c"}`, nil, "a", "S"},
		{"CloudEvents, structured", "cloudevents",
			`{"specversion":"1.0","id":"event-7","source":"//crawler","data":` + inner + `}`, nil, "a", "S"},
		{"CloudEvents, id of the event", "cloudevents",
			`{"specversion":"1.0","id":"event-7","source":"//crawler","data":{"title":"T","text":"x"}}`, nil,
			"event-7", "//crawler"},
		{"CloudEvents, binary", "cloudevents", inner, event, "a", "S"},
		{"CloudEvents, binary, id of the event", "cloudevents", `{"title":"T","text":"x"}`, event, "event-7",
			"//crawler"},
		{"MongoDB", "mongo", `{"operationType":"insert","fullDocument":` + inner + `}`, nil, "a", "S"},
		{"MongoDB, all as a string", "mongo", `{"fullDocument":` + quoted + `}`, nil, "a", "S"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.Preset = c.preset
			require.NoError(t, cfg.Validate())
			r := recordOf(c.value)
			r.Headers = c.headers
			content, reject := cfg.Decode(r)
			require.Nil(t, reject)
			require.Equal(t, []string{c.id, "T", "x", c.source}, []string{content.ID, content.Title, content.Text,
				content.Publisher})
		})
	}

	for preset, value := range map[string]string{
		"debezium": `{"before":{"id":"a"},"after":null,"op":"d"}`,
		"mongo":    `{"operationType":"delete","documentKey":{"_id":"a"}}`,
	} {
		cfg := DefaultConfig()
		cfg.Preset = preset
		_, reject := cfg.Decode(recordOf(value))
		require.NotNil(t, reject, preset)
		require.Equal(t, record.Deleted, reject.Reason, preset)
	}

	cfg := DefaultConfig()
	cfg.Preset, cfg.Fields.Text = "debezium", []string{"after.story"}
	content, reject := cfg.Decode(recordOf(`{"after":{"id":"a","text":"teaser","story":"x"},"op":"c"}`))
	require.Nil(t, reject)
	require.Equal(t, "x", content.Text, "a list that the user sets stays")
	cfg.Preset = "avro"
	require.ErrorContains(t, cfg.Validate(), "cloudevents, connect, debezium, mongo")
}

// Any value, in any framing, is decoded or refused, and takes memory within the bound.
func FuzzUnwrap(f *testing.F) {
	for _, value := range []string{`{"text":"x"}`, "\x00\x00\x00\x01\x2c{}", host.Gzip(f, `{"text":"x"}`),
		host.Zstd(f, `{"text":"x"}`)} {
		f.Add([]byte(value))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, framing := range []string{FramingNone, FramingConfluent} {
			cfg := DefaultConfig()
			cfg.Framing = framing
			cfg.Memory = NewMemory(defaultMaxBytes)
			room := share{memory: cfg.Memory}
			got, err := cfg.open(t.Context(), value, &room, func(n int) int { return n })
			_, rejected := errors.AsType[*record.RejectError](err)
			if err != nil && !rejected || !rejected && len(got.bytes) > max(defaultMaxBytes, len(value)) {
				t.Fatalf("%d bytes of %d: %v", len(got.bytes), len(value), err)
			}
			if !rejected && room.held != min(int64(len(got.bytes)), defaultMaxBytes) {
				t.Fatalf("%d bytes are held for %d", room.held, len(got.bytes))
			}
		}
	})
}

// Values wait for memory, before they are decompressed if they can be large, until others have given it back. The
// largest passes alone.
func TestValuesWaitForMemory(t *testing.T) {
	long := `{"text":"x","a":"` + strings.Repeat("a", 400<<10) + `"}`
	for name, value := range map[string]string{
		"plain": long, "gzip": host.Gzip(t, long), "zstd": host.Zstd(t, long), "small, gzip": host.Gzip(t, `{"text":"x"}`),
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
	schema, err := ParseSchema(`{"type":"record","name":"r","fields":[{"name":"text","type":"string"}]}`)
	require.NoError(t, err)
	framed := "\x00\x00\x00\x00\x07\x02x"
	for name, value := range map[string]string{"plain": framed, "gzip": host.Gzip(t, framed),
		"zstd": host.Zstd(t, framed)} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Format: FormatAvro, Framing: FramingConfluent,
				Memory: NewMemory(1000)}
			cfg.Fields = DefaultConfig().Fields
			cfg.Schemas = askedSchema(func(id string) (*Schema, error) {
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

type askedSchema func(id string) (*Schema, error)

func (a askedSchema) Schema(_ context.Context, id string) (*Schema, error) { return a(id) }

// An Avro value may claim much more JSON than its bytes, up to a bound. It then waits for the memory of that JSON.
func TestLongAvro(t *testing.T) {
	schema, err := ParseSchema(`{"type":"record","name":"r","fields":[{"name":"text","type":"string"},
		{"name":"nulls","type":{"type":"array","items":"null"}}]}`)
	require.NoError(t, err)
	// 32,768 and 491,520 items of five bytes
	for items, reason := range map[byte]record.RejectReason{0x01: "", 0x0f: record.NotAvro} {
		cfg := Config{Format: FormatAvro, Framing: FramingNone, Memory: NewMemory(1 << 10), MaxBytes: 1 << 20}
		cfg.Fields = DefaultConfig().Fields
		cfg.Schemas = askedSchema(func(string) (*Schema, error) { return schema, nil })
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
