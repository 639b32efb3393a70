package pipeline

import (
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics of this package; docs/metrics.md explains each.
type metrics struct {
	records    *prometheus.CounterVec
	relations  *prometheus.CounterVec
	littleText prometheus.Counter
	noWords    prometheus.Counter
	costly     prometheus.Counter
	mostly     prometheus.Counter
	notUTF8    prometheus.Counter
	scripts    *prometheus.CounterVec
	text       *prometheus.CounterVec
	stage      *prometheus.HistogramVec
	delay      prometheus.Histogram
	distance   prometheus.Histogram
	eventTime  *prometheus.CounterVec
}

// The values of the label case of eventTime.
const (
	eventLate   = "late"   // the timestamp is older than the window
	eventFuture = "future" // the timestamp is further ahead of the clock than maxFuture
)

// The values of the label part of text.
const (
	textArticle   = "article"
	textFurniture = "furniture" // lines of the page around the article
	textRepeated  = "repeated"  // sentences that the publisher repeats
)

// MostlyLeftOut is the share of an article's clean text that may be left out without a count of its own.
const MostlyLeftOut = .5

// countText counts the words, the script and the parts of an article's text.
func (m *metrics) countText(a *article.Article) {
	if a.LittleText {
		m.littleText.Inc()
	}
	if a.Features == 0 {
		m.noWords.Inc()
	}
	if a.CostlyPage {
		m.costly.Inc()
	}
	if a.LeftOut() > MostlyLeftOut {
		m.mostly.Inc()
	}
	m.scripts.WithLabelValues(a.Script.String()).Inc()
	m.text.WithLabelValues(textArticle).Add(float64(a.CleanBytes - a.FurnitureBytes - a.RepeatedBytes))
	m.text.WithLabelValues(textFurniture).Add(float64(a.FurnitureBytes))
	m.text.WithLabelValues(textRepeated).Add(float64(a.RepeatedBytes))
}

// newMetrics makes the metrics and registers them, except with a nil registerer.
func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		records: counters("echosieve_pipeline_records_total", "Records with an acknowledged verdict.", "verdict", "reason"),
		relations: counters("echosieve_pipeline_relations_total",
			"Copies with an acknowledged verdict, by their relation to the original and the topic that the policy chose.",
			"relation", "topic"),
		littleText: counter("echosieve_pipeline_little_text_total", "Articles with too few words for a fingerprint."),
		noWords: counter("echosieve_pipeline_no_words_total",
			"Articles with letters or digits, but without a word that counts."),
		costly: counter("echosieve_pipeline_costly_pages_total",
			"Articles whose HTML document would take too long to be read as one: all its text counts, "+
				"or its largest part."),
		mostly: counter("echosieve_pipeline_mostly_left_out_total",
			"Articles of which more than half of the clean text is left out of what is compared, as is usual for "+
				"HTML documents."),
		notUTF8: counter("echosieve_pipeline_not_utf8_total",
			"Articles with bytes outside of their text that are no UTF-8. With output.verdict: value these became U+FFFD."),
		scripts: counters("echosieve_pipeline_script_articles_total",
			"Articles by the script of most of their letters.", "script"),
		text: counters("echosieve_pipeline_text_bytes_total",
			"Bytes of clean text: of the article, and of the parts that fingerprints ignore (furniture, repeated).", "part"),
		stage: f.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "echosieve_pipeline_stage_seconds",
			Help:    "Time of a stage: decode to fingerprint for one article, claim and publish for one batch.",
			Buckets: prometheus.ExponentialBuckets(10e-6, 4, 11), // 10 us to 10 s
		}, []string{"stage"}),
		delay: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "echosieve_pipeline_verdict_delay_seconds",
			Help:    "From the record timestamp to the acknowledged verdict; 0 for a timestamp ahead of the clock.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 86400},
		}),
		distance: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "echosieve_pipeline_match_distance_bits",
			Help:    "Hamming distance of copies and possible copies to their original, in bits.",
			Buckets: []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32},
		}),
		eventTime: counters("echosieve_pipeline_event_time_total",
			"Records with an acknowledged verdict whose timestamp is far from the clock.", "case"),
	}
	for script := range article.Scripts {
		m.scripts.WithLabelValues(script.String())
	}
	for _, part := range []string{textArticle, textFurniture, textRepeated} {
		m.text.WithLabelValues(part)
	}
	m.eventTime.WithLabelValues(eventLate)
	m.eventTime.WithLabelValues(eventFuture)
	for _, v := range [][2]string{
		{"unique", "none"},
		{"unique", reasonReleased},
		{"unique", "tombstone"},
		{"near", article.ReasonDistance.String()},
		{"near", article.ReasonOverlap.String()},
		{"exact", article.ReasonDigest.String()},
		{"possible", article.ReasonOverlap.String()},
		{"possible", article.ReasonValues.String()},
		{"possible", article.ReasonLead.String()},
		{"possible", article.ReasonSubject.String()},
		{"skipped", "tombstone"},
	} {
		// so that the series exists with 0 from the start: rate() needs a first value
		m.records.WithLabelValues(v[0], v[1])
	}
	for _, reason := range []record.RejectReason{record.NotJSON, record.NotAvro, record.NoSchema, record.NotUTF8,
		record.NoText, record.WrongType, record.EmptyText, record.TooCostly, record.TooLarge, record.Timestamp,
		record.Refused} {
		m.records.WithLabelValues("dead", string(reason))
	}
	for _, r := range article.Relations() {
		for _, to := range article.VerdictDestinations() {
			m.relations.WithLabelValues(r.String(), to.String())
		}
	}
	for _, s := range []Stage{StageDecode, StageClean, StageSegment, StageFingerprint, StageClaim, StagePublish} {
		m.stage.WithLabelValues(string(s))
	}
	return m
}

// Stage is a step of the pipeline, as it stands in metrics.
type Stage string

// The stages. The first four are measured for each article, StageClaim and StagePublish for each batch.
const (
	StageDecode      Stage = "decode"
	StageClean       Stage = "clean"
	StageSegment     Stage = "segment"
	StageFingerprint Stage = "fingerprint"
	StageClaim       Stage = "claim"
	StagePublish     Stage = "publish"
)

func (m *metrics) observe(s Stage, d time.Duration) {
	m.stage.WithLabelValues(string(s)).Observe(d.Seconds())
}
