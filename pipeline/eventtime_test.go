package pipeline_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/memindex"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
)

// A delay is never negative: a timestamp a little ahead of the clock counts as 0, a timestamp far ahead is
// left out. A negative observation would make the sum of the histogram fall, which Prometheus takes for a
// restart.
func TestDelayOfTimestampsAheadOfTheClock(t *testing.T) {
	reg := prometheus.NewRegistry()
	index := memindex.New(memindex.Config{Window: time.Hour, Generations: 2, Search: recipe.DefaultConfig().Search()})
	p := newPipeline(t, index, reg, nil)
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
	index := memindex.New(memindex.Config{Window: window, Generations: 2, Search: recipe.DefaultConfig().Search()})
	p := newPipeline(t, index, reg, func(c *pipeline.Config) { c.Window = window })
	now := time.Now()
	var recs []record.Record
	var want []string
	for _, at := range []time.Time{
		now,
		now.Add(-2 * window),
		now.Add(12 * time.Hour), // ahead, but less than input.max_future
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

// The first path that holds a time counts: other fields of these names hold flags.
func TestPublished(t *testing.T) {
	cfg := decode.DefaultConfig()
	cfg.FindPublished = true
	for value, want := range map[string]string{
		`"published":true,"pubDate":"Tue, 14 Nov 2023 22:13:20 GMT"`: "2023-11-14T22:13:20Z",
		`"date":1700000000000`:                                          "2023-11-14T22:13:20Z",
		`"date":{"$date":"2023-11-14T22:13:20.000Z"}`:                   "2023-11-14T22:13:20Z",
		`"date":"yesterday"`:                                            "0001-01-01T00:00:00Z",
		`"published":{"a":1},"date":[],"fetched_at":"2023-11-14T00:00"`: "0001-01-01T00:00:00Z",
	} {
		c, reject := cfg.Decode(&record.Record{Value: []byte(`{"text":"x",` + value + `}`)})
		require.Nil(t, reject)
		require.Equal(t, want, c.Published.UTC().Format(time.RFC3339Nano), value)
	}
	cfg.FindPublished = false
	c, _ := cfg.Decode(&record.Record{Value: []byte(`{"text":"x","date":1700000000000}`)})
	require.Zero(t, c.Published, "the service does not ask")
}
