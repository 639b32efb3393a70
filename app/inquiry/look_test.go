package inquiry

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"echosieve/app/config"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/record"
	"echosieve/sample"
	"echosieve/test/host"
	"echosieve/test/redisrig"
	"echosieve/test/redisrig/indexrig"
)

// rig is a Looker, and the pipeline of a service with the same index.
type rig struct {
	*Looker
	stages *pipeline.Pipeline
	offset int64
}

func newRig(t testing.TB, redis string) *rig {
	t.Helper()
	cfg := config.Default()
	cfg.Redis.Addrs = []string{redis}
	made, err := cfg.LoadRecipe()
	require.NoError(t, err)
	index := indexrig.New(t, redisrig.Connect(t, cfg.Redis.Options), cfg.IndexConfig(made.ID()))
	stages := pipeline.New(pipeline.Config{Decode: cfg.Input.Config, RecordConfig: cfg.Input.Records,
		MaxMessageBytes: cfg.Kafka.MaxMessageBytes}, made, index, nil)
	return &rig{Looker: NewLooker(cfg, made, index), stages: stages}
}

// publish gives a value its verdict, as the service does.
func (r *rig) publish(t testing.TB, value []byte) pipeline.Output {
	t.Helper()
	rec := record.Record{Coordinates: article.Coordinates{Topic: "articles", Offset: r.offset},
		Value: bytes.Clone(value), Time: time.Now()}
	r.offset++
	prepared, err := r.stages.Prepare(t.Context(), []record.Record{rec})
	require.NoError(t, err)
	outputs, err := r.stages.Decide(t.Context(), prepared)
	require.NoError(t, err)
	return outputs[0]
}

func (r *rig) look(t testing.TB, request string) []LookedUp {
	t.Helper()
	values, err := split([]byte(request))
	require.NoError(t, err)
	answer, err := r.Look(t.Context(), values)
	require.NoError(t, err)
	require.Equal(t, note, answer.Note)
	return answer.Articles
}

// A look foretells the verdict of each article of the sample, and stores nothing.
func TestLookForetellsVerdicts(t *testing.T) {
	r := newRig(t, redisrig.Own(t))
	verdicts := map[string]int{}
	for line := range sample.Lines() {
		if !json.Valid(line) { // no request can hold it
			continue
		}
		first, again := r.look(t, string(line)), r.look(t, string(line))
		require.Equal(t, first, again, "a look has changed something")
		x, out := first[0], r.publish(t, line)
		verdicts[x.Verdict]++
		require.Equal(t, out.VerdictName(), x.Verdict, "%s", line)
		require.Equal(t, out.Destination.String(), x.Topic)
		v := out.Verdict
		switch v.Kind {
		case 0:
			require.Equal(t, out.Reason, x.Reason)
			continue
		case article.Unique:
			require.Nil(t, x.Original)
			continue
		}
		require.Equal(t, Ref{v.Original.String(), v.Original.ID}, *x.Original)
		require.Equal(t, v.Reason.String(), x.Reason)
		require.Equal(t, v.Distance, x.Distance)
		require.Equal(t, v.Relation.String(), x.Name)
		if v.Kind.IsCopy() {
			require.Equal(t, v.Root.String(), x.Root.Record)
		}
		near := slices.IndexFunc(x.Nearest, func(n Nearest) bool { return n.Ref == *x.Original })
		require.GreaterOrEqual(t, near, 0, "the original is among the nearest")
		require.Equal(t, x.Verdict, x.Nearest[near].Kind)
		require.NotEmpty(t, x.Nearest[near].Figures)
	}
	for _, verdict := range []string{"near", "exact", "unique", "dead"} {
		require.Positive(t, verdicts[verdict])
	}
}

func TestRequests(t *testing.T) {
	r := newRig(t, miniredis.RunT(t).Addr())
	const one = `{"id": "a", "text": "The harbour board voted to deepen the eastern channel."}`
	require.Len(t, r.look(t, one), 1)
	both := r.look(t, "["+one+`, {"x": 1}]`)
	require.Equal(t, []string{"unique", "dead", "unique"},
		[]string{both[0].Verdict, both[1].Verdict, r.look(t, one+"\n"+one+"\n")[1].Verdict})
	require.Len(t, r.look(t, "["+strings.Repeat(one+",", MostLooked-1)+one+"]"), MostLooked)
	require.Equal(t, "too_large", r.look(t, `{"text": "`+strings.Repeat("x ", 1<<20)+`"}`)[0].Reason)
	require.Empty(t, r.look(t, `{"text": "Rain."}`)[0].ID, "without coordinates an article without an id has none")
	require.Equal(t, "not_utf8", r.look(t, "{\"text\": \"\xff\xfe harbour\"}")[0].Reason)
	r.input.Format = decode.FormatText
	require.Equal(t, "unique", r.look(t, `"The harbour board voted."`)[0].Verdict)
	for request, want := range map[string]string{
		"": "empty", "[]": "empty", " ": "empty", "{": "no JSON", "x": "no JSON", "[" + one: "no JSON",
		"[" + one + "}": "no JSON", "[" + one + "," + one + ",": "no JSON", "[[" + one + "]": "no JSON",
		"[]" + one: "empty", "[" + one + "]" + one: "no JSON", "]": "no JSON",
		"[" + strings.Repeat(one+",", MostLooked) + one + "]": "at most 100",
		strings.Repeat(one, MostLooked+1):                     "at most 100",
	} {
		_, err := split([]byte(request))
		wrong := (*refusal)(nil)
		require.ErrorAs(t, err, &wrong, "%.20q", request)
		require.ErrorContains(t, err, want)
	}
}

// A list of millions of values takes memory for as many as a look may have.
func TestLongListsAreNotBuilt(t *testing.T) {
	request := []byte("[" + strings.Repeat("1,", maxBody/2-1) + "1]")
	require.Less(t, host.Allocated(func() {
		_, err := split(request)
		require.ErrorContains(t, err, "at most 100")
	}), uint64(1<<20))
}

func ask(ctx context.Context, h http.Handler, method, path string, body io.Reader) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, body).WithContext(ctx))
	return w
}

func post(ctx context.Context, h http.Handler, body io.Reader) *httptest.ResponseRecorder {
	return ask(ctx, h, http.MethodPost, Path, body)
}

func TestLooksAreBounded(t *testing.T) {
	store := miniredis.RunT(t)
	h := newRig(t, store.Addr()).Handler(slog.New(slog.DiscardHandler))
	const one = `{"text": "The harbour board voted to deepen the eastern channel."}`
	w := post(t.Context(), h, strings.NewReader(one))
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), `"unique"`)
	require.Equal(t, http.StatusBadRequest, post(t.Context(), h, strings.NewReader("{")).Code)
	require.Equal(t, http.StatusRequestEntityTooLarge,
		post(t.Context(), h, strings.NewReader(`{"text": "`+strings.Repeat("x", maxBody))).Code)
	require.Equal(t, http.StatusBadRequest,
		ask(t.Context(), h, http.MethodPost, Path+"?limit=3", strings.NewReader(one)).Code)
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		require.Equal(t, http.StatusMethodNotAllowed, ask(t.Context(), h, method, Path, nil).Code)
	}

	// Requests whose bodies do not end take no place among the looks, but their share of the memory.
	var bodies [maxReading / maxBody]*io.PipeWriter
	ended := make(chan int, len(bodies))
	for i := range bodies {
		var body *io.PipeReader
		body, bodies[i] = io.Pipe()
		go func() { ended <- post(context.Background(), h, body).Code }()
		_, err := io.WriteString(bodies[i], one) // returns when the handler reads
		require.NoError(t, err)
	}
	w = post(t.Context(), h, strings.NewReader(one))
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	for i, body := range bodies {
		require.NoError(t, body.Close())
		require.Equal(t, http.StatusOK, <-ended, i)
		require.Equal(t, http.StatusOK, post(t.Context(), h, strings.NewReader(one)).Code)
	}

	store.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.Equal(t, http.StatusServiceUnavailable, post(ctx, h, strings.NewReader(one)).Code)
}

// The description names exactly the fields of an answer.
func TestDescription(t *testing.T) {
	h := newRig(t, miniredis.RunT(t).Addr()).Handler(slog.New(slog.DiscardHandler))
	w := ask(t.Context(), h, http.MethodGet, Description, nil)
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	file, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	require.JSONEq(t, string(file), w.Body.String())
	require.True(t, gjson.GetBytes(file, "paths."+Path+".post").Exists())
	described := func(schema string) []string {
		return slices.Collect(maps.Keys(gjson.GetBytes(file, "components.schemas."+schema+".properties").Map()))
	}
	for _, v := range []any{Answer{}, LookedUp{}, Ref{}, Nearest{}} {
		of := reflect.TypeOf(v)
		require.ElementsMatch(t, namesOf(of), described(of.Name()), of.Name())
	}
	require.ElementsMatch(t, namesOf(reflect.TypeFor[evidence.Asked]()), described("Nearest.properties.figures.items"))
}

// namesOf returns the JSON names of a struct, those of embedded structs included.
func namesOf(of reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(of) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}
