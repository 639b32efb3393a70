package learning

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are described in docs/metrics.md.
type metrics struct {
	known  prometheus.Gauge
	rows   *prometheus.CounterVec
	waits  prometheus.Counter
	ahead  prometheus.Counter
	errors prometheus.Counter
}

// What became of rows, as label values.
const (
	resultRead      = "read"
	resultRefused   = "refused" // no writer of this version made it, or its writer stamped it
	resultPublished = "published"
	resultDropped   = "dropped" // it was too long, or there was no room
	resultLost      = "lost"    // not a row: the topic was made again
)

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(prometheus.WrapRegistererWithPrefix("echosieve_learnt_", reg))
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		known: f.NewGauge(prometheus.GaugeOpts{Name: "known_rows", Help: "Rows that this process knows."}),
		rows: f.NewCounterVec(prometheus.CounterOpts{Name: "rows_total",
			Help: "Rows of the topic of learnt sentences, by what became of them."}, []string{"result"}),
		waits: counter("waits_total", "Batches that waited until the topic of learnt sentences was read to its end."),
		ahead: counter("ahead_total",
			"Batches with a record stamped too far ahead: redelivered, it may meet more learnt sentences."),
		errors: counter("errors_total", "Failed attempts to read or publish learnt sentences."),
	}
	for _, result := range []string{resultRead, resultRefused, resultPublished, resultDropped, resultLost} {
		m.rows.WithLabelValues(result)
	}
	return m
}
