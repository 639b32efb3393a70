package registry

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"echosieve/internal/base/tlsfiles"
	"echosieve/pipeline/record"
)

const text = `{"type":"record","name":"Story","fields":[{"name":"text","type":"string"}]}`

func open(t testing.TB, s Server) *Client {
	t.Helper()
	c := Config{Registry: s}
	require.NoError(t, c.Validate(true, true))
	schemas, err := c.Open()
	require.NoError(t, err)
	return schemas.(*Client)
}

func requireNoSchema(t testing.TB, err error, detail string) {
	t.Helper()
	reject := (*record.RejectError)(nil)
	require.ErrorAs(t, err, &reject)
	require.Equal(t, record.NoSchema, reject.Reason)
	require.Contains(t, reject.Detail, detail)
}

func TestSchema(t *testing.T) {
	fake := srfake.New()
	t.Cleanup(fake.Close)
	fake.SeedSchema("story", 1, 7, sr.Schema{Schema: text})
	fake.SeedSchema("person", 1, 8,
		sr.Schema{Schema: `{"type":"record","name":"Person","fields":[{"name":"name","type":"string"}]}`})
	fake.SeedSchema("pair", 1, 9, sr.Schema{
		Schema:     `{"type":"record","name":"Pair","fields":[{"name":"a","type":"Person"},{"name":"b","type":"Person"}]}`,
		References: []sr.SchemaReference{{Name: "Person", Subject: "person", Version: 1}},
	})
	fake.SeedSchema("json", 1, 10, sr.Schema{Schema: `{}`, Type: sr.TypeJSON})
	fake.SeedSchema("broken", 1, 11, sr.Schema{Schema: `{"type":"record"}`})
	c := open(t, Server{URLs: []string{fake.URL()}})
	require.NoError(t, c.Ping(t.Context()))

	schema, err := c.Schema(t.Context(), "7")
	require.NoError(t, err)
	value, err := schema.JSON([]byte("\x02x"), 100)
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"x"}`, string(value))
	schema, err = c.Schema(t.Context(), "9")
	require.NoError(t, err)
	value, err = schema.JSON([]byte("\x02x\x02y"), 100)
	require.NoError(t, err)
	require.JSONEq(t, `{"a":{"name":"x"},"b":{"name":"y"}}`, string(value))

	for id, detail := range map[string]string{
		"12": "knows no schema 12", "10": "of the type JSON", "11": "none that Avro allows", "": "names no schema",
		"00000000-0000-0000-0000-000000000000": "knows no schema 0000",
	} {
		_, err := c.Schema(t.Context(), id)
		requireNoSchema(t, err, detail)
	}
}

// An id that was unknown is asked for again after some seconds. What is remembered of ids has a bound.
func TestUnknownIDs(t *testing.T) {
	fake := srfake.New()
	t.Cleanup(fake.Close)
	var asked atomic.Int32
	fake.Intercept(func(http.ResponseWriter, *http.Request) bool { asked.Add(1); return false })
	c := open(t, Server{URLs: []string{fake.URL()}})
	now := time.Now()
	c.now = func() time.Time { return now }
	for range 3 {
		_, err := c.Schema(t.Context(), "7")
		requireNoSchema(t, err, "knows no schema 7")
	}
	require.EqualValues(t, 1, asked.Load())
	fake.SeedSchema("story", 1, 7, sr.Schema{Schema: text})
	now = now.Add(unknownFor)
	for range 3 {
		_, err := c.Schema(t.Context(), "7")
		require.NoError(t, err)
	}
	require.EqualValues(t, 2, asked.Load())
	require.Empty(t, c.unknown)

	for id := range mostUnknown + 10 {
		_ = c.rememberUnknown(strconv.Itoa(id), record.Reject(record.NoSchema, "none"), true)
		c.rememberSchema(strconv.Itoa(-id), c.schemas["7"].schema, len(text))
	}
	require.Len(t, c.unknown, mostUnknown)
	require.Len(t, c.schemas, mostSchemas)
	for id := range 20 {
		c.rememberSchema(strconv.Itoa(id), c.schemas["7"].schema, 1<<20)
	}
	require.LessOrEqual(t, c.text, mostText)
}

func TestLogin(t *testing.T) {
	fake := srfake.New()
	t.Cleanup(fake.Close)
	var user, password string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ = r.BasicAuth()
		fmt.Fprint(w, `["AVRO"]`)
	}))
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	login := Server{URLs: []string{"http://127.0.0.1:1", server.URL}, Username: "crawler", Password: "s3cret"}
	require.ErrorContains(t, open(t, login).Ping(t.Context()), "certificate is not trusted")
	login.URLs, login.TLS = []string{"https://127.0.0.1:1", server.URL}, tlsfiles.Config{Enabled: true, CAFile: ca}
	require.NoError(t, open(t, login).Ping(t.Context()), "the second address answers")
	require.Equal(t, []string{"crawler", "s3cret"}, []string{user, password})

	_, err := Config{Registry: Server{URLs: []string{server.URL},
		TLS: tlsfiles.Config{Enabled: true, CAFile: "/nowhere"}}}.Open()
	require.ErrorContains(t, err, "input.registry.tls.ca_file")
}

func TestSchemaFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "story.avsc")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	schemas, err := Config{SchemaFile: file}.Open()
	require.NoError(t, err)
	schema, err := schemas.Schema(t.Context(), "")
	require.NoError(t, err)
	require.NotNil(t, schema)
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	_, err = Config{SchemaFile: file}.Open()
	require.ErrorContains(t, err, "holds no Avro schema")
	_, err = Config{SchemaFile: file + "x"}.Open()
	require.ErrorContains(t, err, "input.schema_file")
	none, err := Config{}.Open()
	require.NoError(t, err)
	require.Nil(t, none)
}

func TestValidate(t *testing.T) {
	asked := Config{Registry: Server{URLs: []string{"http://registry:8081"}}}
	require.NoError(t, asked.Validate(true, true))
	require.NoError(t, Config{SchemaFile: "x"}.Validate(true, false))
	require.NoError(t, Config{}.Validate(false, true))
	both := asked
	both.SchemaFile = "x"
	secured := asked
	secured.Registry.TLS.Enabled = true
	for want, err := range map[string]error{
		"format: avro needs the schemas":        Config{}.Validate(true, true),
		"registry.urls is of no use":            asked.Validate(false, true),
		"schema_file is of no use":              Config{SchemaFile: "x"}.Validate(false, false),
		"schema_file and registry.urls exclude": both.Validate(true, true),
		"needs framing: confluent":              asked.Validate(true, false),
		"an address must be like": Config{Registry: Server{URLs: []string{"registry:8081"}}}.Validate(
			true, true),
		"an address holds a password": Config{
			Registry: Server{URLs: []string{"http://u:p@registry:8081"}}}.Validate(true, true),
		"registry.tls.enabled needs addresses": secured.Validate(true, true),
		"registry.tls has settings but tls.enabl": Config{
			Registry: Server{TLS: tlsfiles.Config{CAFile: "x"}}}.Validate(false, false),
	} {
		require.ErrorContains(t, errors.Join(err), want)
	}
}
