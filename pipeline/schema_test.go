package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/avro"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
)

const storySchema = `{"type":"record","name":"Story","fields":[{"name":"id","type":"string"},
	{"name":"text","type":["null","string"]},
	{"name":"after","type":["null",{"type":"record","name":"After","fields":[
	{"name":"id","type":"long"},{"name":"text","type":"string"}]}],"default":null},
	{"name":"op","type":"string"},{"name":"source","type":"string"}]}`

// avroValue is a value of storySchema.
func avroValue(t testing.TB, id, text string) []byte {
	t.Helper()
	value, err := avro.MustParse(storySchema).Encode(map[string]any{"id": id, "text": text, "op": "c",
		"source": "Reuters"})
	require.NoError(t, err)
	return value
}

// schemas are a registry that knows storySchema under some ids. With err it does not answer.
type schemas struct {
	ids map[string]bool
	err func(ctx context.Context) error
}

func (s schemas) Schema(ctx context.Context, id string) (*decode.Schema, error) {
	if s.err != nil {
		if err := s.err(ctx); err != nil {
			return nil, err
		}
	}
	if !s.ids[id] {
		return nil, fmt.Errorf("asked: %w", record.Reject(record.NoSchema, "%s", "no schema "+id))
	}
	return decode.ParseSchema(storySchema)
}

func avroConfig(framing string, known ...string) decode.Config {
	cfg := decode.DefaultConfig()
	s := schemas{ids: map[string]bool{}}
	for _, id := range known {
		s.ids[id] = true
	}
	cfg.Format, cfg.Framing, cfg.Schemas = decode.FormatAvro, framing, s
	return cfg
}

func TestAvroValues(t *testing.T) {
	value := string(avroValue(t, "a", "x"))
	const guid = "\x01" + "0123456789abcdef"
	guidText := "30313233-3435-3637-3839-616263646566"
	for name, c := range map[string]struct {
		framing, header, value string
		reason                 record.RejectReason
		detail                 string
	}{
		"number before the value": {decode.FramingConfluent, "", "\x00\x00\x00\x00\x07" + value, "", ""},
		"UUID before the value":   {decode.FramingConfluent, "", guid + value, "", ""},
		"number in the header":    {decode.FramingConfluent, "\x00\x00\x00\x00\x07", value, "", ""},
		"UUID in the header":      {decode.FramingConfluent, guid, value, "", ""},
		"other number": {decode.FramingConfluent, "", "\x00\x00\x00\x00\x08" + value,
			record.NoSchema, "no schema 8"},
		"number above all": {decode.FramingConfluent, "", "\x00\xff\xff\xff\xff" + value,
			record.NoSchema, "4294967295 can be no number"},
		"header without an id": {decode.FramingConfluent, "x", value, record.NoSchema, "no schema"},
		"no framing": {decode.FramingConfluent, "", value, record.NotAvro,
			"no schema registry framing"},
		"empty": {decode.FramingConfluent, "", "", record.NotAvro,
			"no schema registry framing"},
		"nothing behind the framing": {decode.FramingConfluent, "", "\x00\x00\x00\x00\x07", record.NotAvro,
			"cut off, at byte 0 of 0; its schema is 7"},
		"JSON behind the framing": {decode.FramingConfluent, "", "\x00\x00\x00\x00\x07" + `{"text":"x"}`,
			record.NotAvro, ""},
		"one schema":      {decode.FramingNone, "", value, "", ""},
		"one schema, cut": {decode.FramingNone, "", value[:3], record.NotAvro, "cut off"},
		"no UTF-8": {decode.FramingNone, "", strings.Replace(value, "x", "\xff", 1),
			record.NotUTF8, ""},
		"no text": {decode.FramingNone, "", "\x02a\x00\x00\x00\x00", record.NoText, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := avroConfig(c.framing, "", "7", guidText)
			if c.framing == decode.FramingConfluent {
				cfg = avroConfig(c.framing, "7", guidText)
			}
			require.NoError(t, cfg.Validate())
			r := record.Record{Coordinates: article.Coordinates{Topic: "articles"}, Value: []byte(c.value)}
			if c.header != "" {
				r.Headers = []record.Header{{Key: "__value_schema_id", Value: []byte(c.header)}}
			}
			content, reject := cfg.Decode(&r)
			if c.reason != "" {
				require.NotNil(t, reject)
				require.Equal(t, c.reason, reject.Reason, reject.Detail)
				require.Contains(t, reject.Detail, c.detail)
				return
			}
			require.Nil(t, reject)
			require.Equal(t, article.Content{ID: "a", Text: "x", Publisher: "Reuters"}, content)
		})
	}
}

// While no schema can be had, Prepare waits, other batches go on, and nothing becomes a dead letter.
func TestPrepareWaitsForSchemas(t *testing.T) {
	asked, back := make(chan bool, 100), make(chan bool)
	p := newPipeline(t, newMemIndex(), nil, func(c *pipeline.Config) {
		c.Decode = avroConfig(decode.FramingConfluent)
		c.Decode.Schemas = schemas{ids: map[string]bool{"7": true, "8": true}, err: func(ctx context.Context) error {
			if ctx.Value(awayKey{}) == nil {
				return nil
			}
			asked <- true
			select {
			case <-back:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
	})
	batch := func() []record.Record {
		var recs []record.Record
		for i := range 20 {
			recs = append(recs, records("\x00\x00\x00\x00\x07"+
				string(avroValue(t, fmt.Sprint(i), "The harbour board voted on Monday")))...)
		}
		return recs
	}
	away := context.WithValue(t.Context(), awayKey{}, true)
	ended, end := context.WithCancel(away)
	failed := make(chan error)
	go func() { _, err := p.Prepare(ended, batch()); failed <- err }()
	done := make(chan *pipeline.Batch)
	go func() { b, _ := p.Prepare(away, batch()); done <- b }()
	<-asked
	outputs, err := p.Decide(t.Context(), prepare(t, p, batch())) // whose schema is known
	require.NoError(t, err)
	require.Equal(t, article.Unique.String(), outputs[0].VerdictName())
	require.Equal(t, batch()[0].Value, outputs[0].Record.Value, "the output has the bytes of the record")
	end()
	require.ErrorIs(t, <-failed, context.Canceled)
	close(back)
	b := <-done
	require.NotNil(t, b)
	for i := range b.Records {
		_, reject := b.Article(i)
		require.Nil(t, reject)
	}

	unknown := records("\x00\x00\x00\x00\x09x")
	outputs, err = p.Decide(t.Context(), prepare(t, p, unknown))
	require.NoError(t, err)
	require.Equal(t, "no_schema", header(outputs[0], pipeline.HeaderReason))
}

type awayKey struct{}

// A program that only reads waits no longer than ctx allows.
func TestDecodeSaysThatTheRegistryIsAway(t *testing.T) {
	cfg := avroConfig(decode.FramingConfluent)
	cfg.Schemas = schemas{err: func(context.Context) error { return errors.New("no registry answers") }}
	_, reject := cfg.Decode(&record.Record{Value: []byte("\x00\x00\x00\x00\x07x")})
	require.Equal(t, record.Reject(record.NoSchema, "no registry answers"), reject)
	asJSON := cfg.AsJSON()
	content, reject := asJSON.Decode(&record.Record{Value: []byte(`{"id":"a","text":"x"}`)})
	require.Nil(t, reject)
	require.Equal(t, "a", content.ID)
}
