package decode

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/internal/hostiletext"
	"echosieve/pipeline/record"
)

func TestUnwrap(t *testing.T) {
	const plain, framed = `{"id":"a","text":"x"}`, "\x00\x00\x00\x01\x2c" + `{"id":"a","text":"x"}`
	const most = 300 << 10
	bomb, large := strings.Repeat("a", most+1), plain+strings.Repeat(" ", most-len(plain))
	for _, c := range []struct {
		name                 string
		framing, compression string
		value                string
		reason               record.RejectReason // empty: the article is found
		detail               string
	}{
		{"plain", FramingNone, CompressionAuto, plain, "", ""},
		{"gzip", FramingNone, CompressionAuto, hostiletext.Gzip(plain), "", ""},
		{"zstd", FramingNone, CompressionAuto, hostiletext.Zstd(plain), "", ""},
		{"gzip by name", FramingNone, CompressionGzip, hostiletext.Gzip(plain), "", ""},
		{"zstd by name", FramingNone, CompressionZstd, hostiletext.Zstd(plain), "", ""},
		{"gzip, none expected", FramingNone, CompressionNone, hostiletext.Gzip(plain), record.NotJSON, "input.compression"},
		{"plain, gzip expected", FramingNone, CompressionGzip, plain, record.NotJSON, "not compressed with gzip"},
		{"zstd, gzip expected", FramingNone, CompressionGzip, hostiletext.Zstd(plain), record.NotJSON,
			"not compressed with gzip"},
		{"gzip, cut", FramingNone, CompressionAuto, hostiletext.Gzip(plain)[:25], record.NotJSON, "cannot be decompressed"},
		{"zstd, cut", FramingNone, CompressionAuto, hostiletext.Zstd(plain)[:12], record.NotJSON, "cannot be decompressed"},
		{"gzip, as large as allowed", FramingNone, CompressionAuto, hostiletext.Gzip(large), "", ""},
		{"zstd, as large as allowed", FramingNone, CompressionAuto, hostiletext.Zstd(large), "", ""},
		{"zstd of a stream, as large as allowed", FramingNone, CompressionAuto, hostiletext.Streamed(large), "", ""},
		{"gzip bomb", FramingNone, CompressionAuto, hostiletext.Gzip(bomb), record.TooLarge, "more than 307200 bytes"},
		{"zstd bomb", FramingNone, CompressionAuto, hostiletext.Zstd(bomb), record.TooLarge, "more than 307200 bytes"},
		{"zstd bomb of a stream", FramingNone, CompressionAuto, hostiletext.Streamed(bomb), record.TooLarge, "more than 307200 bytes"},
		{"zstd of a stream with a large window", FramingNone, CompressionAuto, hostiletext.Streamed(plain), "", ""},
		{"two frames", FramingNone, CompressionAuto, hostiletext.Zstd(plain[:9]) + hostiletext.Streamed(plain[9:]), "", ""},
		{"two members", FramingNone, CompressionAuto, hostiletext.Gzip(plain[:9]) + hostiletext.Gzip(plain[9:]), "", ""},
		{"zstd that claims 256 MiB in one segment", FramingNone, CompressionAuto,
			"\x28\xb5\x2f\xfd\xa0\x00\x00\x00\x10\x01\x00\x00", record.TooLarge, "kafka.max_message_bytes"},
		{"framed", FramingConfluent, CompressionAuto, framed, "", ""},
		{"framed, then compressed", FramingConfluent, CompressionAuto, hostiletext.Gzip(framed), "", ""},
		{"framed, none expected", FramingNone, CompressionAuto, framed, record.NotJSON, "set input.framing to confluent"},
		{"framing expected", FramingConfluent, CompressionAuto, plain, record.NotJSON, "set input.framing to none"},
		{"cut within the framing", FramingConfluent, CompressionAuto, framed[:4], record.NotJSON,
			"set input.framing to none"},
		{"nothing after the framing", FramingConfluent, CompressionAuto, framed[:5], record.NotJSON, "empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.Framing, cfg.Compression, cfg.MaxBytes = c.framing, c.compression, most
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

// The schema's id can stand in a header. Then the value has no framing.
func TestUnwrapSchemaHeader(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Framing = FramingConfluent
	r := recordOf(`{"text":"x"}`)
	r.Headers = []record.Header{{Key: "__value_schema_id", Value: make([]byte, 17)}}
	content, reject := cfg.Decode(r)
	require.Nil(t, reject)
	require.Equal(t, "x", content.Text)
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
	for _, value := range []string{`{"text":"x"}`, "\x00\x00\x00\x01\x2c{}", hostiletext.Gzip(`{"text":"x"}`),
		hostiletext.Zstd(`{"text":"x"}`)} {
		f.Add([]byte(value))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, framing := range []string{FramingNone, FramingConfluent} {
			cfg := DefaultConfig()
			cfg.Framing = framing
			cfg.Memory = NewMemory(defaultMaxBytes)
			room := share{memory: cfg.Memory}
			got, reject, err := cfg.open(t.Context(), value, &room, func(n int) int { return n })
			if err != nil || reject == nil && len(got.bytes) > max(defaultMaxBytes, len(value)) {
				t.Fatalf("%d bytes of %d: %v", len(got.bytes), len(value), err)
			}
			if reject == nil && room.held != min(int64(len(got.bytes)), defaultMaxBytes) {
				t.Fatalf("%d bytes are held for %d", room.held, len(got.bytes))
			}
		}
	})
}
