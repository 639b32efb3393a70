package redisindex

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"echosieve/redisindex/connection"
)

// metrics are the metrics of claims. docs/metrics.md describes them.
type metrics struct {
	roundTrip    *prometheus.HistogramVec
	lookups      prometheus.Histogram
	members      prometheus.Counter
	candidates   prometheus.Histogram
	capped       prometheus.Counter
	missing      prometheus.Counter
	full         prometheus.Counter
	overflow     prometheus.Counter
	ticketsGiven prometheus.Counter
	waits        prometheus.Counter
	withdrawn    prometheus.Counter
	damaged      prometheus.Counter
	replayed     prometheus.Counter
	retries      prometheus.Counter
	errors       *prometheus.CounterVec
}

// stepLabels are the values of the label step: the steps of the package comment in snake case, and "wait" for
// originals without a verdict.
var stepLabels = []string{"store_lists", "store_entries", "draw_tickets", "look_up", "fetch_entries", "give_tickets",
	"decide", "wait"}

// errorKinds are the values of the metric label kind.
var errorKinds = append(slices.Clone(connection.Kinds), "lost")

// newMetrics registers the metrics with reg. With a nil reg they are not registered.
func newMetrics(reg prometheus.Registerer) *metrics {
	factory := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return factory.NewCounter(prometheus.CounterOpts{Name: "echosieve_redisindex_" + name, Help: help})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return factory.NewHistogram(prometheus.HistogramOpts{Name: "echosieve_redisindex_" + name, Help: help,
			Buckets: buckets})
	}
	counts := []float64{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 1024, 4096}
	m := &metrics{
		roundTrip: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: "echosieve_redisindex_round_trip_seconds", Help: "One pipelined round trip of a claim.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 12),
		}, []string{"step"}),
		lookups: histogram("lookups_per_article", "Block lists read for an article.", counts),
		members: counter("members_read_total", "Fingerprints read from block lists."),
		candidates: histogram("candidates_per_article",
			"Fingerprints within the maximal distance whose entries were read: at most 24, the "+
				"nearest.", counts),
		capped: counter("candidates_capped_total", "Articles with more than 24 candidates."),
		missing: counter("missing_entries_total",
			"Fingerprints of candidates without an entry, though it cannot have expired."),
		full: counter("full_lists_total", "Fingerprints that full block lists have lost to newer ones."),
		overflow: counter("overflow_entries_total",
			"Entries beyond eight per fingerprint, which only exact repeats find."),
		ticketsGiven: counter("tickets_given_total", "Articles whose ticket another claim drew."),
		waits:        counter("waits_total", "Times a claim waited for another process to decide an original."),
		withdrawn: counter("withdrawn_total",
			"Originals that stayed undecided too long and lost their ticket, so that their copies no longer waited."),
		damaged:  counter("damaged_total", "Entries and block lists with bytes of another program, set aside."),
		replayed: counter("replayed_total", "Redelivered articles that got their stored verdict."),
		retries:  counter("retries_total", "Claims run again after an error or a lost entry."),
		errors: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "echosieve_redisindex_errors_total", Help: "Failed round trips.",
		}, []string{"kind"}),
	}
	for _, step := range stepLabels {
		m.roundTrip.WithLabelValues(step)
	}
	for _, kind := range errorKinds {
		m.errors.WithLabelValues(kind)
	}
	return m
}
