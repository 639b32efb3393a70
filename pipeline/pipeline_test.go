package pipeline_test

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/memindex"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
)

const articleJSON = `{"id":"%","text":"The harbour board voted on Monday to deepen the eastern channel so that ` +
	`larger grain ships can reach the silos before the autumn harvest, ` +
	`ending a dispute that had lasted eleven years."}`

// news is the default recipe. A recipe takes a third of a second to load, and pipelines may share one.
var news = sync.OnceValues(func() (*recipe.Recipe, error) { return recipe.Load(recipe.DefaultConfig()) })

func newPipeline(t *testing.T, index pipeline.Index, reg prometheus.Registerer,
	change func(*pipeline.Config)) *pipeline.Pipeline {
	t.Helper()
	recipe, err := news()
	require.NoError(t, err)
	cfg := pipeline.Config{Decode: decode.DefaultConfig(), RecordConfig: pipeline.DefaultRecordConfig(),
		MaxMessageBytes: 1 << 20}
	if change != nil {
		change(&cfg)
	}
	return pipeline.New(cfg, recipe, index, reg)
}

func records(values ...string) []record.Record {
	recs := make([]record.Record, len(values))
	for i, v := range values {
		recs[i] = record.Record{
			Coordinates: article.Coordinates{Topic: "articles", Offset: int64(i)}, Value: []byte(v),
			Time: time.UnixMilli(1_700_000_000_000),
		}
		if v == "null" {
			recs[i].Value = nil
		}
	}
	return recs
}

func header(o pipeline.Output, key string) string {
	for _, h := range o.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// counted returns the series of a metric that are not 0, by the values of their labels.
func counted(t *testing.T, reg prometheus.Gatherer, name string) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if n := m.GetCounter().GetValue(); f.GetName() == name && n != 0 {
				values[strings.Join(labels, " ")] = n
			}
		}
	}
	return values
}

func TestBatchThroughAllStages(t *testing.T) {
	reg := prometheus.NewRegistry()
	p := newPipeline(t, newMemIndex(), reg, nil)
	recs := records(
		strings.Replace(articleJSON, "%", "a", 1),
		"no JSON",
		strings.Replace(articleJSON, "%", "b", 1),
		`{"id":"c","text":"<br> &nbsp; !!!"}`,
		"null",
		`{"id":"d","text":"short flash"}`,
		strings.Replace(articleJSON, "%", strings.Repeat("x", 1<<20), 1),
	)
	outputs, err := p.Decide(t.Context(), prepare(t, p, recs))
	require.NoError(t, err)
	require.Len(t, outputs, len(recs))
	for i, want := range []struct {
		to             article.Destination
		verdict, cause string
	}{
		{article.ToUnique, "unique", ""},
		{article.ToDead, "", "not_json"},
		{article.ToDuplicate, "exact", "digest"},
		{article.ToDead, "", "empty_text"},
		{article.ToUnique, "unique", ""},
		{article.ToUnique, "unique", ""},
		{article.ToDead, "", "too_large"},
	} {
		require.Same(t, &recs[i], outputs[i].Record)
		require.Equal(t, want.to, outputs[i].Destination, i)
		require.Equal(t, want.verdict, header(outputs[i], pipeline.HeaderVerdict), i)
		require.Equal(t, want.cause, header(outputs[i], pipeline.HeaderReason), i)
		require.Equal(t, recs[i].String(), header(outputs[i], pipeline.HeaderInput), i)
	}
	require.Equal(t, "a", header(outputs[2], pipeline.HeaderOriginalID))
	require.Nil(t, outputs[6].Value, "not even the dead topic takes it")

	p.Acknowledged(outputs, time.Millisecond)
	require.Equal(t, map[string]float64{"digest exact": 1, "empty_text dead": 1, "none unique": 2, "not_json dead": 1,
		"tombstone unique": 1, "too_large dead": 1}, counted(t, reg, "echosieve_pipeline_records_total"))
	require.Empty(t, counted(t, reg, "echosieve_pipeline_no_words_total"))
	require.Equal(t, map[string]float64{"article": 379}, counted(t, reg, "echosieve_pipeline_text_bytes_total"))
}

func TestScriptsAreCounted(t *testing.T) {
	reg := prometheus.NewRegistry()
	p := newPipeline(t, nil, reg, nil)
	prepare(t, p, records(`{"text":"The harbour board voted."}`, `{"text":"港务局昨日宣布开工"}`,
		`{"text":"港务局今日宣布停工"}`, `{"text":"15:30"}`, `{"text":"的"}`, "no JSON"))
	require.Equal(t, map[string]float64{"": 1}, counted(t, reg, "echosieve_pipeline_no_words_total"))
	require.Equal(t, map[string]float64{"han": 3, "latin": 1, "none": 1},
		counted(t, reg, "echosieve_pipeline_script_articles_total"))
}

func TestRecordsThatFitNoOutputTopicAreDead(t *testing.T) {
	p := newPipeline(t, newMemIndex(), nil, nil)
	recs := records("null", "null", "null", "null", "null")
	recs[0].Key = make([]byte, 1<<20) // not Oversize, but too large with our headers
	recs[1].Key, recs[1].Oversize = []byte("k"), &record.Oversize{Bytes: 3 << 20, ValueBytes: 3<<20 - 100}
	recs[2].Oversize = &record.Oversize{Bytes: 3 << 20, ValueBytes: 100}
	recs[3].Oversize = &record.Oversize{Bytes: 3 << 20}
	recs[4].Oversize = &record.Oversize{ValueBytes: -1, Batch: 200 << 20}
	outputs, err := p.Decide(t.Context(), prepare(t, p, recs))
	require.NoError(t, err)
	for i, want := range []struct {
		omitKey bool
		bytes   string
	}{{true, "0"}, {false, "3145628"}, {true, "100"}, {true, "0"}, {true, "-1"}} {
		require.Equal(t, article.ToDead, outputs[i].Destination, i)
		require.Equal(t, "too_large", header(outputs[i], pipeline.HeaderReason), i)
		require.Equal(t, want.bytes, header(outputs[i], pipeline.HeaderValueOmitted), i)
		require.Nil(t, outputs[i].Value)
		require.Equal(t, want.omitKey, outputs[i].Key == nil, i)
	}
}

// A deletion that an envelope reports is treated as a null value, and keeps its value.
func TestDeletionsAreTombstones(t *testing.T) {
	deletion := `{"before":{"id":"d","text":"short flash"},"after":null,"op":"d"}`
	for _, tombstones := range []string{pipeline.TombstonesUnique, pipeline.TombstonesSkip} {
		p := newPipeline(t, newMemIndex(), nil, func(c *pipeline.Config) {
			c.Decode.Preset, c.Tombstones = "debezium", tombstones
		})
		outputs, err := p.Decide(t.Context(),
			prepare(t, p, records(deletion, `{"after":{"id":"d","text":"short flash"},"op":"c"}`)))
		require.NoError(t, err)
		verdicts := make([]string, len(outputs))
		for i, o := range outputs {
			verdicts[i] = o.VerdictName() + " " + o.Reason
		}
		if tombstones == pipeline.TombstonesSkip {
			require.Len(t, outputs, 1)
			continue
		}
		require.Equal(t, []string{"unique tombstone", "unique " + outputs[1].Reason}, verdicts)
		require.JSONEq(t, deletion, string(outputs[0].Record.Value))
	}
}

func TestNothingIsDecidedWithoutTheIndex(t *testing.T) {
	p := newPipeline(t, newMemIndex(), nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	outputs, err := p.Decide(ctx, prepare(t, p, records(strings.Replace(articleJSON, "%", "a", 1))))
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, outputs)
}

// prepare prepares records that need no schema.
func prepare(t testing.TB, p interface {
	Prepare(ctx context.Context, recs []record.Record) (*pipeline.Batch, error)
}, recs []record.Record,
) *pipeline.Batch {
	t.Helper()
	b, err := p.Prepare(t.Context(), recs)
	require.NoError(t, err)
	return b
}

// A shadow decides as the service does. All its outputs go to one topic, are marked, and hold no values.
func TestShadow(t *testing.T) {
	shadow := newPipeline(t, newMemIndex(), nil, func(c *pipeline.Config) { c.Shadow = true })
	recs := records(strings.Replace(articleJSON, "%", "a", 1), "no JSON", strings.Replace(articleJSON, "%", "b", 1),
		strings.Replace(articleJSON, "%", strings.Repeat("x", 1<<20), 1))
	recs[0].Headers = []record.Header{{Key: pipeline.HeaderShadow, Value: []byte("forged")}}
	outputs, err := shadow.Decide(t.Context(), prepare(t, shadow, recs))
	require.NoError(t, err)
	require.Len(t, outputs, len(recs))
	for i, want := range []struct{ destination, verdict string }{
		{"unique", "unique"}, {"dead", ""}, {"duplicate", "exact"}, {"dead", ""},
	} {
		require.Equal(t, article.ToShadow, outputs[i].Destination, i)
		require.Equal(t, want.destination, header(outputs[i], pipeline.HeaderShadow), i)
		require.Equal(t, want.verdict, header(outputs[i], pipeline.HeaderVerdict), i)
		require.Nil(t, outputs[i].Value, i)
	}
}

// A delay is never negative: a timestamp a little ahead of the clock counts as 0, a timestamp far ahead is
// left out. A negative observation would make the sum of the histogram fall, which Prometheus takes for a
// restart.
func TestDelayOfTimestampsAheadOfTheClock(t *testing.T) {
	reg := prometheus.NewRegistry()
	p := newPipeline(t, newMemIndex(), reg, nil)
	recs := records("null", "null", "null")
	recs[0].Time = time.Now().Add(-20 * time.Minute)
	recs[1].Time = time.Now().Add(time.Hour)     // by a machine whose clock is fast
	recs[2].Time = time.UnixMilli(math.MaxInt64) // in microseconds instead of milliseconds, for example
	outputs, err := p.Decide(t.Context(), prepare(t, p, recs))
	require.NoError(t, err)
	p.Acknowledged(outputs, time.Millisecond)
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() == "echosieve_pipeline_verdict_delay_seconds" {
			h := family.GetMetric()[0].GetHistogram()
			require.EqualValues(t, 2, h.GetSampleCount())
			require.InDelta(t, 1200, h.GetSampleSum(), 300)
			return
		}
	}
	require.Fail(t, "no histogram of the delay")
}

// Timestamps far from the clock are counted, and verdicts do not depend on it: articles whose timestamps are
// within a window of each other are compared, in the past and in the future.
func TestTimestampsFarFromTheClock(t *testing.T) {
	const window = time.Hour
	reg := prometheus.NewRegistry()
	index := memindex.New(memindex.Config{Window: window, Slices: 2, Search: recipe.DefaultConfig().Search()})
	p := newPipeline(t, index, reg, func(c *pipeline.Config) { c.Window = window })
	now := time.Now()
	var recs []record.Record
	var want []string
	for _, at := range []time.Time{
		now,
		now.Add(-2 * window),
		now.Add(12 * time.Hour), // ahead, but less than maxFuture
		now.Add(48 * time.Hour),
		time.UnixMilli(-1), // Kafka's "no timestamp"
		time.UnixMilli(math.MaxInt64),
	} {
		recs = append(recs, records(strings.Replace(articleJSON, "%", "a", 1),
			strings.Replace(articleJSON, "%", "b", 1))...)
		recs[len(recs)-1].Time, recs[len(recs)-2].Time = at, at
		want = append(want, "unique", "exact")
	}
	for i := range recs {
		recs[i].Offset = int64(i)
	}
	outputs, err := p.Decide(t.Context(), prepare(t, p, recs))
	require.NoError(t, err)
	for i := range outputs {
		require.Equal(t, want[i], header(outputs[i], pipeline.HeaderVerdict), recs[i].Time)
	}
	p.Acknowledged(outputs, time.Millisecond)
	require.Equal(t, map[string]float64{"future": 4, "late": 4}, counted(t, reg, "echosieve_pipeline_event_time_total"))
}
