package registry

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"echosieve/internal/diag"
	"echosieve/internal/remote"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/test/host"
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
	fake := before(t, nil, func(*http.Request) bool { return false })
	fake.SeedSchema("person", 1, 12,
		sr.Schema{Schema: `{"type":"record","name":"Person","fields":[{"name":"name","type":"string"}]}`})
	fake.SeedSchema("pair", 1, 9, sr.Schema{
		Schema:     `{"type":"record","name":"Pair","fields":[{"name":"a","type":"Person"},{"name":"b","type":"Person"}]}`,
		References: []sr.SchemaReference{{Name: "Person", Subject: "person", Version: 1}},
	})
	fake.SeedSchema("json", 1, 10, sr.Schema{Schema: `{}`, Type: sr.TypeJSON})
	fake.SeedSchema("broken", 1, 11, sr.Schema{Schema: `{"type":"record"}`})
	c := open(t, Server{URLs: []string{fake.URL()}})
	require.NoError(t, c.Ping(t.Context()))

	for id, value := range map[string][2]string{"7": {"\x02x", `{"text":"x"}`},
		"9": {"\x02x\x02y", `{"a":{"name":"x"},"b":{"name":"y"}}`}} {
		schema, err := c.Schema(t.Context(), id)
		require.NoError(t, err)
		got, err := schema.JSON([]byte(value[0]), 100)
		require.NoError(t, err)
		require.JSONEq(t, value[1], string(got))
	}
	for id, detail := range map[string]string{
		"13": "knows no schema 13", "10": "of the type JSON", "11": "none that Avro allows", "": "names no schema",
		"00000000-0000-0000-0000-000000000000": "knows no schema 0000",
	} {
		_, err := c.Schema(t.Context(), id)
		requireNoSchema(t, err, detail)
	}
}

// What is remembered of ids has a bound. Ids without a schema displace none, and a schema that is used stays.
func TestMadeUpIDsDisplaceNoSchema(t *testing.T) {
	c := newClient(nil)
	live, err := decode.ParseSchema(text)
	require.NoError(t, err)
	c.rememberSchema("live", live, len(text), time.Time{})
	isLive := func() {
		t.Helper()
		schema, err := c.remembered("live")
		require.NoError(t, err)
		require.NotNil(t, schema)
	}
	for id := range mostUnknown + 10 {
		c.rememberUnknown(strconv.Itoa(id), record.Reject(record.NoSchema, "none"))
		require.LessOrEqual(t, len(c.unknown), mostUnknown)
		c.rememberSchema(strconv.Itoa(-id), live, len(text), time.Time{})
		isLive()
	}
	require.Equal(t, mostSchemas, c.schemas.Len())
	for id := range 20 {
		c.rememberSchema(strconv.Itoa(id), live, 1<<20, time.Time{})
		isLive()
	}
	require.LessOrEqual(t, c.text, mostText)
	for c.schemas.Len() > 0 {
		c.schemas.RemoveOldest()
	}
	require.Zero(t, c.text)
}

func TestLogin(t *testing.T) {
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
	login.URLs, login.TLS = []string{"https://127.0.0.1:1", server.URL}, remote.Files{CAFile: ca}
	require.NoError(t, open(t, login).Ping(t.Context()), "the second address answers")
	require.Equal(t, []string{"crawler", "s3cret"}, []string{user, password})

	_, err := Config{Registry: Server{URLs: []string{server.URL},
		TLS: remote.Files{CAFile: "/nowhere"}}}.Open()
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
	of := func(url string) Config { return Config{Registry: Server{URLs: []string{url}}} }
	asked := of("http://registry:8081")
	require.NoError(t, asked.Validate(true, true))
	require.NoError(t, Config{SchemaFile: "x"}.Validate(true, false))
	require.NoError(t, Config{}.Validate(false, true))
	secured := asked
	secured.Registry.TLS.CAFile = "x"
	for want, err := range map[string]error{
		"format: avro needs the schemas":        Config{}.Validate(true, true),
		"registry.urls is of no use":            asked.Validate(false, true),
		"schema_file is of no use":              Config{SchemaFile: "x"}.Validate(false, false),
		"schema_file and registry.urls exclude": Config{SchemaFile: "x", Registry: asked.Registry}.Validate(true, true),
		"needs framing: confluent":              asked.Validate(true, false),
		"an address must be like":               of("registry:8081").Validate(true, true),
		"an address holds a password":           of("http://u:p@registry:8081").Validate(true, true),
		"registry.tls needs addresses":          secured.Validate(true, true),
		"registry.tls.cert_file and tls.key_file": Config{Registry: Server{TLS: remote.Files{CertFile: "x"}}}.Validate(
			false, false),
	} {
		require.ErrorContains(t, errors.Join(err), want)
	}
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}

func endless(code int, of string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		for chunk := strings.Repeat(of, 1000); ; {
			if _, err := fmt.Fprint(w, chunk); err != nil {
				return
			}
		}
	}
}

// fault is an answer of a server that is no registry, or of one that cannot answer, with the cause that /readyz gives
// and its words in a dead letter; none: the record waits.
type fault struct {
	answer        http.HandlerFunc
	cause, detail string
}

func faults() map[string]fault {
	all := map[string]fault{
		"page":        {status(200, "<!doctype html><title>Log in</title>"), "without a schema", ""},
		"null":        {status(200, "null"), "without a schema", ""},
		"proxy's 404": {status(404, "<html>nginx</html>"), "no schema registry at this address", ""},
		"gateway's": {status(404, `{"message":"no Route matched with those values"}`),
			"no schema registry at this address", ""},
		"lost its store": {status(404, `{"error_code":40403,"message":"Schema not found"}`),
			"check that it has its data", "the registry knows no schema"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://login.invalid/", http.StatusFound)
		}, "leads to another server", ""},
		"endless":      {endless(200, "[1,"), "without a schema", ""},
		"endless page": {endless(502, "<p>"), "cannot answer", ""},
		"closes": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"closed the connection", ""},
		"cut short": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"schema":"`)
		}, "closed the connection", ""},
	}
	for code, cause := range map[int]string{400: "cannot answer", 401: "refuses this user", 403: "refuses this user",
		407: "refuses this user", 408: "cannot answer", 429: "no more requests", 500: "cannot answer"} {
		all[fmt.Sprint(code)] = fault{status(code, fmt.Sprintf(`{"error_code":%d01,"message":"no"}`, code)), cause, ""}
	}
	return all
}

// before is a registry in whose place another server answers what refuses returns true for.
func before(t *testing.T, a http.HandlerFunc, refuses func(*http.Request) bool) *srfake.Registry {
	t.Helper()
	fake := srfake.New()
	t.Cleanup(fake.Close)
	fake.SeedSchema("story", 1, 7, sr.Schema{Schema: text})
	fake.SeedSchema("story", 2, 8, sr.Schema{Schema: text})
	fake.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		refused := refuses(r)
		if refused {
			a(w, r)
		}
		return refused
	})
	return fake
}

// reports are what /readyz would show.
type reports struct {
	waits sync.Map // why a call waits
	red   chan error
}

func (r *reports) report(_ string, call fmt.Stringer, err error) {
	if err == nil {
		r.waits.Delete(call.String())
		return
	}
	r.waits.Store(call.String(), err)
	select {
	case r.red <- err:
	default:
	}
}

// waitsFor says whether the record of settled waits for a schema.
func (r *reports) waitsFor(id string) bool {
	_, waits := r.waits.Load("schema " + id + " of articles/3@17")
	return waits
}

func waitingFor(t *testing.T, url string) (*Client, decode.Schemas, *reports) {
	t.Helper()
	c := open(t, Server{URLs: []string{url}})
	c.patience = 120 * time.Millisecond
	r := &reports{red: make(chan error, 1)}
	go func() { // as the service does
		for t.Context().Err() == nil {
			_ = c.Ping(t.Context())
			time.Sleep(c.patience / 50)
		}
	}()
	return c, c.Waiting(r.report), r
}

// settled asks as the service does: it waits and asks again until there is an answer.
func settled(ctx context.Context, s decode.Schemas, id string) (*decode.Schema, error) {
	for {
		schema, err := s.Schema(ctx, id)
		var pending *decode.Pending
		if !errors.As(err, &pending) {
			return schema, err
		}
		pending.Record = "articles/3@17"
		if err := pending.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// An id that the registry does not know makes the record a dead letter if the registry answers for others: also if the
// record is the first of all. The registry is not red. With any other answer for the id the record waits, and records
// with other ids go on.
func TestARefusalOfOneIDIsItsOwn(t *testing.T) {
	for name, fault := range faults() {
		id := "9"
		if name == "gateway's" {
			id = "00000000-0000-0000-0000-000000000009"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mended atomic.Bool
			server := before(t, fault.answer, func(r *http.Request) bool {
				return !mended.Load() && strings.HasSuffix(r.URL.Path, "/"+id)
			})
			_, schemas, reports := waitingFor(t, server.URL())
			refused := make(chan error, 1)
			go func() { _, err := settled(t.Context(), schemas, id); refused <- err }()
			if fault.detail != "" {
				requireNoSchema(t, <-refused, fault.detail)
				require.False(t, reports.waitsFor(id))
				require.Empty(t, reports.red, "the registry was never red")
			} else {
				for !strings.Contains((<-reports.red).Error(), fault.cause) {
					continue // on a busy machine, an answer without an end may take too long before it is too large
				}
				require.True(t, reports.waitsFor(id))
			}
			_, err := settled(t.Context(), schemas, "7")
			require.NoError(t, err)
			if mended.Store(true); fault.detail == "" {
				requireNoSchema(t, <-refused, "knows no schema")
				require.False(t, reports.waitsFor(id))
			}
		})
	}
}

// A registry that answers rightly for no id makes no dead letter: the call waits, says why, and goes on by itself.
// That is so at the start, and after it has answered.
func TestARegistryThatIsAwayMakesNoDeadLetters(t *testing.T) {
	for name, fault := range faults() {
		for _, worked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s worked=%t", name, worked), func(t *testing.T) {
				t.Parallel()
				var back atomic.Bool
				var asked atomic.Int32
				back.Store(worked)
				server := before(t, fault.answer, func(r *http.Request) bool {
					if strings.HasSuffix(r.URL.Path, "/7") {
						asked.Add(1)
					}
					return !back.Load()
				})
				c, schemas, reports := waitingFor(t, server.URL())
				if worked {
					_, err := settled(t.Context(), schemas, "8")
					require.NoError(t, err)
					back.Store(false)
				}
				if err := c.Ping(t.Context()); name != "403" && name != "null" {
					require.ErrorContains(t, err, fault.cause)
				}
				ended, end := context.WithCancel(t.Context())
				stopped, found := make(chan error, 1), make(chan error, 1)
				go func() { _, err := settled(ended, schemas, "7"); stopped <- err }()
				go func() { _, err := settled(t.Context(), schemas, "7"); found <- err }()
				var err error
				for err == nil || !strings.Contains(err.Error(), fault.cause) {
					select {
					case err = <-reports.red:
					case err = <-found:
						require.Fail(t, "a dead letter", "%v", err)
					}
				}
				require.ErrorAs(t, err, new(*diag.Problem))
				// Both calls have one name: until both know that the registry is down, one may say that it does not wait.
				require.Eventually(t, func() bool { return reports.waitsFor("7") }, time.Minute, time.Millisecond)
				more := asked.Load() + 6
				require.Eventually(t, func() bool { return asked.Load() > more }, time.Minute, time.Millisecond)
				require.Empty(t, found, "no answer")
				end()
				require.ErrorIs(t, <-stopped, context.Canceled)
				back.Store(true)
				require.NoError(t, <-found)
				require.False(t, reports.waitsFor("7"))
			})
		}
	}
}

// A right answer that comes after the registry was asked for an id does not show that it worked when it refused the id.
func TestALateAnswerShowsNothing(t *testing.T) {
	var held atomic.Bool
	arrived, answer := make(chan string), map[string]chan struct{}{"7": make(chan struct{}), "8": make(chan struct{})}
	server := before(t, status(404, `{"error_code":40403}`), func(r *http.Request) bool {
		id := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		if held.Load() {
			arrived <- id
			<-answer[id]
		}
		return id == "7"
	})
	c := open(t, Server{URLs: []string{server.URL()}})
	_, err := c.Schema(t.Context(), "8")
	require.NoError(t, err)
	c.patience = time.Nanosecond
	w, call, no := waiting{c, (&reports{}).report}, &request{id: "7"}, (*refusal)(nil)
	_, err = w.try(t.Context(), call)
	require.ErrorAs(t, err, &no)
	held.Store(true)
	pinged, tried := make(chan error), make(chan error)
	go func() { pinged <- c.Ping(t.Context()) }()
	require.Equal(t, "8", <-arrived)
	go func() { _, err := w.try(t.Context(), call); tried <- err }()
	require.Equal(t, "7", <-arrived)
	answer["8"] <- struct{}{}
	require.NoError(t, <-pinged)
	answer["7"] <- struct{}{}
	require.ErrorAs(t, <-tried, &no, "no dead letter")
}

// A node that lags behind knows the schema some seconds later: no dead letter.
func TestANodeThatLagsIsAskedAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := before(t, status(404, `{"error_code":40403,"message":"Schema not found"}`),
		func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/7") && asked.Add(1) <= 2 })
	_, schemas, reports := waitingFor(t, server.URL())
	_, err := settled(t.Context(), schemas, "7")
	require.NoError(t, err)
	require.Empty(t, reports.red)
}

// Whoever writes records chooses their ids: after one that the registry does not know, each further one costs one
// request, and an id that was asked for costs none for some seconds.
func TestManyUnknownIDsCostOneRequestEach(t *testing.T) {
	var asked atomic.Int32
	server := before(t, status(404, `{"error_code":40403}`), func(r *http.Request) bool {
		unknown := strings.HasPrefix(r.URL.Path, "/schemas/ids/2")
		if unknown {
			asked.Add(1)
		}
		return unknown
	})
	c, schemas, _ := waitingFor(t, server.URL())
	_, err := settled(t.Context(), schemas, "1000")
	requireNoSchema(t, err, "knows no schema 1000")
	const many = 300
	for range 2 {
		c.mu.Lock()
		c.since = time.Now() // on a slow machine, too, the first round is remembered in the second one
		c.mu.Unlock()
		for id := range many {
			_, err := settled(t.Context(), schemas, fmt.Sprint(2000+id))
			requireNoSchema(t, err, "knows no schema 2")
		}
	}
	// An id that is asked for when Ping is late is asked for again.
	require.GreaterOrEqual(t, asked.Load(), int32(many))
	require.Less(t, asked.Load(), int32(many+many/4))
	server.SeedSchema("late", 1, 1000, sr.Schema{Schema: text})
	c.mu.Lock()
	c.since, c.dead = c.since.Add(-unknownFor), c.dead.Add(-lately)
	c.mu.Unlock()
	_, err = schemas.Schema(t.Context(), "1000")
	require.NoError(t, err)
	_, err = schemas.Schema(t.Context(), "4000")
	require.ErrorAs(t, err, new(*decode.Pending), "patience comes back after a minute")
}

// The login goes to the server of the settings alone. Redirects on it are followed.
func TestRedirects(t *testing.T) {
	var login atomic.Int32
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		login.Add(1)
		fmt.Fprintf(w, `{"schema":%q}`, text)
	}))
	t.Cleanup(stranger.Close)
	server := before(t, func(w http.ResponseWriter, r *http.Request) {
		to := "/schemas/ids/7"
		if strings.HasSuffix(r.URL.Path, "/9") {
			to = stranger.URL + r.URL.Path
		}
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	}, func(r *http.Request) bool { return !strings.HasSuffix(r.URL.Path, "/7") })
	c := open(t, Server{URLs: []string{server.URL()}, Username: "u", Password: "p"})
	_, err := c.Schema(t.Context(), "6")
	require.NoError(t, err)
	_, err = c.Schema(t.Context(), "9")
	require.ErrorContains(t, err, "leads to another server")
	require.Zero(t, login.Load())
}

// A body that comes slowly ends the request, too.
func TestSlowAnswersEnd(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			fmt.Fprint(w, " ")
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}))
	t.Cleanup(server.Close)
	_, err := open(t, Server{URLs: []string{server.URL}}).Schema(t.Context(), "7")
	require.ErrorAs(t, err, new(*diag.Problem))
	require.ErrorContains(t, err, "did not answer in time")
}

// Answers without an end take little memory, however many come at a time.
func TestAnswersAreBounded(t *testing.T) {
	zipped := host.Gzip(t, `{"schema":"`+strings.Repeat("x", 64<<20))
	for name, a := range map[string]http.HandlerFunc{
		"bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			fmt.Fprint(w, zipped)
		},
		"endless": endless(200, `"`),
		"references": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, `{"schema":%q,"references":[{"name":"a","subject":%q,"version":1}]}`,
				strings.Repeat("x", 1<<20), r.URL.Path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(a)
			t.Cleanup(server.Close)
			c := open(t, Server{URLs: []string{server.URL}})
			require.Less(t, host.Allocated(func() {
				for id := range 4 {
					_, err := c.Schema(t.Context(), fmt.Sprint(id))
					require.ErrorContains(t, err, "more than 2 MiB")
				}
			}), uint64(4*24<<20), "the server of the test included")
		})
	}
}
