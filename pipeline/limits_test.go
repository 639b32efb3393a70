package pipeline_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/memindex"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/test/host"
)

// limitsOf returns the limits of one output topic, and of the dead topic if it has the same.
func limitsOf(l pipeline.TopicLimits, to ...article.Destination) (b pipeline.BatchLimits) {
	for _, d := range to {
		b[d] = &l
	}
	return b
}

func TestRecordsBeyondTheLimitsOfATopic(t *testing.T) {
	const most = 20_000
	limits := pipeline.TopicLimits{Topic: "out", MaxBytes: most, MaxBehind: 2 * time.Hour, MaxAhead: time.Hour}
	keys := pipeline.NoLimits("compacted")
	keys.NeedsKey = true
	verdicts := []article.Destination{article.ToUnique, article.ToPossible, article.ToDuplicate}
	for _, c := range []struct {
		name   string
		limits pipeline.TopicLimits
		change func(r *record.Record, now time.Time)
		reason record.RejectReason // empty: an article
	}{
		{"now", limits, func(*record.Record, time.Time) {}, ""},
		{"just early enough", limits,
			func(r *record.Record, now time.Time) { r.Time = now.Add(-2*time.Hour + time.Minute) }, ""},
		{"too old", limits, func(r *record.Record, now time.Time) { r.Time = now.Add(-2*time.Hour - time.Minute) },
			record.Timestamp},
		{"ahead", limits, func(r *record.Record, now time.Time) { r.Time = now.Add(time.Hour + time.Minute) },
			record.Timestamp},
		{"as far as it goes", limits, func(r *record.Record, _ time.Time) { r.Time = time.UnixMilli(math.MaxInt64) },
			record.Timestamp},
		{"as far back", limits, func(r *record.Record, _ time.Time) { r.Time = time.UnixMilli(math.MinInt64) },
			record.Timestamp},
		{"no timestamp", limits, func(r *record.Record, _ time.Time) { r.Time = time.UnixMilli(-1) }, ""},
		{"1969", limits, func(r *record.Record, _ time.Time) { r.Time = time.UnixMilli(-2) }, record.Timestamp},
		{"too large", limits, func(r *record.Record, _ time.Time) { r.Key = make([]byte, most) }, record.TooLarge},
		{"a tombstone", limits, func(r *record.Record, _ time.Time) { r.Value, r.Time = nil, time.UnixMilli(0) },
			record.Timestamp},
		{"no limits", pipeline.NoLimits("out"), func(r *record.Record, _ time.Time) {
			r.Time, r.Key = time.UnixMilli(math.MaxInt64), make([]byte, most)
		}, ""},
		{"without a key", keys, func(*record.Record, time.Time) {}, record.Refused},
		{"with an empty key", keys, func(r *record.Record, _ time.Time) { r.Key = []byte{} }, ""},
	} {
		for _, to := range verdicts { // each alone: the topic is not known before the article is decided
			t.Run(c.name+" "+to.String(), func(t *testing.T) {
				p := newPipeline(t, newMemIndex(), nil, nil)
				recs := records(articleJSON)
				now := time.Now() // of this case: the cases before it can take minutes on a busy machine
				recs[0].Time = now
				c.change(&recs[0], now)
				b := prepare(t, p, recs)
				b.Limits = limitsOf(c.limits, to, article.ToDead)
				out, err := p.Decide(t.Context(), b)
				require.NoError(t, err)
				require.Len(t, out, 1)
				if c.reason == "" {
					require.Equal(t, "unique", out[0].VerdictName(), out[0].Reason)
					require.Equal(t, recs[0].Time, out[0].Time)
					return
				}
				require.Equal(t, string(c.reason), out[0].Reason)
				require.Equal(t, article.ToDead, out[0].Destination)
				require.Equal(t, c.reason == record.TooLarge || recs[0].Value == nil, out[0].Value == nil)
				if c.reason == record.Timestamp {
					require.WithinDuration(t, time.Now(), out[0].Time, time.Minute)
					require.NotEmpty(t, header(out[0], pipeline.HeaderTime))
				}

				copied := records(articleJSON)
				copied[0].Offset, copied[0].Time, copied[0].Key = 9, now, []byte("k")
				out, err = p.Decide(t.Context(), prepare(t, p, copied))
				require.NoError(t, err)
				require.Equal(t, "unique", out[0].VerdictName(), "no copy of an article that was not published")
			})
		}
	}
}

func newMemIndex() *memindex.Index {
	return memindex.New(memindex.Config{Window: 24 * time.Hour, Slices: 2,
		Search: recipe.DefaultConfig().Search()})
}

// The dead topic alone has a limit: no article is a dead letter because of it.
func TestDeadLettersBeyondTheLimitOfTheirTopic(t *testing.T) {
	p := newPipeline(t, newMemIndex(), nil, nil)
	recs := records(articleJSON, "no JSON")
	b := prepare(t, p, recs) // of the year 2023
	b.Limits = limitsOf(pipeline.TopicLimits{Topic: "dead", MaxBytes: 4000, MaxBehind: time.Hour,
		MaxAhead: time.Hour}, article.ToDead)
	out, err := p.Decide(t.Context(), b)
	require.NoError(t, err)
	require.Equal(t, "unique", out[0].VerdictName())
	require.WithinDuration(t, time.Now(), out[1].Time, time.Minute)
	require.Equal(t, "2023-11-14T22:13:20.000Z", header(out[1], pipeline.HeaderTime))
}

// A topic refuses an article although its limits allowed it.
func TestRefusedArticleIsRetracted(t *testing.T) {
	index := newMemIndex()
	for _, shadow := range []bool{false, true} {
		p := newPipeline(t, index, nil, func(c *pipeline.Config) { c.Shadow = shadow })
		to := article.ToDead
		if shadow {
			to = article.ToShadow
		}
		recs := records(articleJSON, articleJSON)
		recs[0].Headers = []record.Header{{Key: "kept", Value: []byte("1")}}
		recs[1].Offset = 7
		b := prepare(t, p, recs[:1])
		b.Traceparent = "trace"
		out, err := p.Decide(t.Context(), b)
		require.NoError(t, err)
		require.Equal(t, "unique", out[0].VerdictName())
		dead, err := p.Refused(t.Context(), b, &out[0], record.Reject(record.Timestamp, "why"))
		require.NoError(t, err)
		require.Equal(t, to, dead.Destination)
		require.Equal(t, shadow, dead.Value == nil)
		for name, want := range map[string]string{
			"kept": "1", pipeline.HeaderReason: "timestamp", pipeline.HeaderDetail: "why",
			pipeline.HeaderInput:       "articles/0/0",
			pipeline.HeaderTraceparent: "trace", pipeline.HeaderTime: "2023-11-14T22:13:20.000Z",
		} {
			require.Equal(t, want, header(dead, name))
		}
		smallest, err := p.Refused(t.Context(), b, &dead, &record.RejectError{Reason: record.TooLarge})
		require.NoError(t, err)
		require.True(t, smallest.Smallest && smallest.Value == nil)
		require.Equal(t, to, smallest.Destination)
		require.Equal(t, "articles/0/0", string(smallest.Key))
		require.Equal(t, "timestamp", header(smallest, pipeline.HeaderReason), "the first reason")
		require.Equal(t, shadow, header(smallest, pipeline.HeaderShadow) == "dead")
		require.Empty(t, header(smallest, "kept"))

		out, err = p.Decide(t.Context(), prepare(t, p, recs[1:]))
		require.NoError(t, err)
		require.Equal(t, "unique", out[0].VerdictName(), "no copy of an article that was not published")
		index = newMemIndex()
	}
}

// With a verdict in the value, the value is the record's and the verdict, and records are measured with it.
func TestVerdictInTheValue(t *testing.T) {
	index := newMemIndex()
	decide := func(most int, limits pipeline.BatchLimits, values ...string) []pipeline.Output {
		p := newPipeline(t, index, nil, func(c *pipeline.Config) { c.Member, c.MaxMessageBytes = true, most })
		b, err := p.Prepare(t.Context(), records(values...))
		require.NoError(t, err)
		b.Limits = limits
		outputs, err := p.Decide(t.Context(), b)
		require.NoError(t, err)
		return outputs
	}
	with := strings.Replace(articleJSON, "{", `{ "echosieve" : {"verdict":"near"}, `, 1)
	zipped := host.Gzip(t, articleJSON)
	outputs := decide(1<<20, pipeline.BatchLimits{}, articleJSON, with, zipped, "null", "{")
	const unique = `"echosieve":{"verdict":"unique","topic":"unique","record":"articles/0/0"}}`
	require.Equal(t, strings.TrimSuffix(articleJSON, "}")+","+unique, string(outputs[0].Value))
	var copied struct{ Echosieve pipeline.Member }
	require.NoError(t, json.Unmarshal(outputs[1].Value, &copied))
	require.Equal(t, outputs[1].Member(), copied.Echosieve)
	require.Equal(t, "exact", copied.Echosieve.Verdict)
	require.Equal(t, 1, strings.Count(string(outputs[1].Value), `"echosieve":{`))
	require.Equal(t, zipped, string(outputs[2].Value))
	require.Nil(t, outputs[3].Value)
	require.Equal(t, "{", string(outputs[4].Value), "a dead letter can be published again as it is")
	broken := decide(1<<20, pipeline.BatchLimits{}, strings.Replace(articleJSON, "{", "{\"n\xff\":\"\xe4\xb8\",", 1))[0]
	require.Equal(t, "unique", broken.VerdictName(), "as the record at these coordinates")
	require.True(t, utf8.Valid(broken.Value), "%q", broken.Value)
	for _, o := range outputs[:3] {
		require.NotEmpty(t, header(o, pipeline.HeaderVerdict), "headers stay")
	}

	small := pipeline.NoLimits("small")
	small.MaxBytes = 8 << 10 // the headers alone would fit
	for _, o := range [][]pipeline.Output{decide(8<<10, pipeline.BatchLimits{}, articleJSON),
		decide(1<<20, pipeline.BatchLimits{article.ToUnique: &small}, articleJSON)} {
		require.Equal(t, string(record.TooLarge), o[0].Reason)
		require.Equal(t, articleJSON, string(o[0].Value))
	}
}
