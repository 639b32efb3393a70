package consumer

import (
	"echosieve/internal/base/metricset"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are described in docs/metrics.md.
type metrics struct {
	lag                 *prometheus.GaugeVec
	assigned            prometheus.Gauge
	inFlightRecords     prometheus.Gauge
	inFlightBytes       prometheus.Gauge
	fetchedRecords      prometheus.Counter
	fetchedBytes        prometheus.Counter
	skipped             *prometheus.CounterVec
	acknowledged        *prometheus.CounterVec
	alreadyAcknowledged prometheus.Counter
	exactlyOnce         prometheus.Gauge
	takeovers           *prometheus.CounterVec
	takeoverSeconds     prometheus.Histogram
	commits             *prometheus.CounterVec
	rebalances          prometheus.Counter
	retries             *prometheus.CounterVec
	errors              *prometheus.CounterVec
	offsetResets        prometheus.Counter
	lostRecords         prometheus.Counter
}

// Operations as they stand in metrics and logs.
const (
	opJoin    = "join"
	opFetch   = "fetch"
	opPublish = "publish"
	opCommit  = "commit"
	// opTakeOver is the take-over of an input partition.
	opTakeOver = "takeover"
)

var operations = []string{opJoin, opFetch, opPublish, opCommit, opTakeOver}

// Outcomes of take-overs, as label values.
const (
	outcomeFenced   = "fenced"
	outcomeUnfenced = "unfenced"
	outcomeLost     = "lost"
)

// newMetrics registers all metrics. Label values that are known beforehand are exposed as 0 from the start.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m, set := &metrics{}, metricset.New(reg)
	f := promauto.With(set)
	m.lag = gaugeVec(f, "lag_records", "High watermark minus the next offset to commit.", "partition")
	m.assigned = gauge(f, "assigned_partitions", "Partitions of this process.")
	m.inFlightRecords = gauge(f, "in_flight_records", "Records fetched and not yet marked.")
	m.inFlightBytes = gauge(f, "in_flight_bytes", "Payload of the records in flight.")
	m.fetchedRecords = counter(f, "fetched_records_total", "Records fetched.")
	m.fetchedBytes = counter(f, "fetched_bytes_total", "Payload of the records fetched.")
	m.skipped = counterVec(f, "skipped_records_total",
		"Records not processed: of aborted transactions, transaction markers, and foreign ones that a take-over "+
			"met in output topics.", "reason")
	m.acknowledged = counterVec(f, "acknowledged_records_total", "Acknowledged records by output topic.", "topic")
	m.alreadyAcknowledged = counter(f, "already_acknowledged_records_total",
		"Records decided again and not published again, because an earlier owner of the partition had published them.")
	m.exactlyOnce = gauge(f, "exactly_once", "1 if delivery is exactly once, 0 if it is at least once.")
	m.takeovers = counterVec(f, "takeovers_total",
		"Take-overs of input partitions: fenced, unfenced (an earlier owner may have published records again), "+
			"lost to another process.", "outcome")
	m.takeoverSeconds = f.NewHistogram(prometheus.HistogramOpts{
		Namespace: "echosieve", Subsystem: "consumer", Name: "takeover_seconds",
		Help:    "Duration of take-overs of input partitions.",
		Buckets: []float64{.01, .03, .1, .3, 1, 3, 10, 30, 60, 180},
	})
	m.commits = counterVec(f, "commits_total", "Offset commits.", "result")
	m.rebalances = counter(f, "rebalances_total", "Group generations that this process has joined.")
	m.retries = counterVec(f, "retries_total", "Operations tried again.", "operation")
	m.errors = counterVec(f, "errors_total", "Failed operations.", "operation", "kind")
	m.offsetResets = counter(f, "offset_resets_total",
		"Times the broker no longer had the next offset: records were lost unread, or the topic was recreated.")
	m.lostRecords = counter(f, "lost_records_total",
		"Offsets deleted before they were read: at most so many records were lost.")

	for _, v := range []string{"aborted", "control", "foreign"} {
		m.skipped.WithLabelValues(v)
	}
	for _, v := range []string{"unique", "possible", "duplicate", "dead"} {
		m.acknowledged.WithLabelValues(v)
	}
	for _, v := range []string{outcomeFenced, outcomeUnfenced, outcomeLost} {
		m.takeovers.WithLabelValues(v)
	}
	for _, v := range []string{"ok", "error"} {
		m.commits.WithLabelValues(v)
	}
	for _, op := range operations {
		m.retries.WithLabelValues(op)
		for _, k := range []string{"connection", "timeout", "auth", "not_leader", "coordinator", kindTooLarge,
			kindRefused, "other"} {
			m.errors.WithLabelValues(op, k)
		}
	}
	if err := set.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

func opts(name, help string) prometheus.Opts {
	return prometheus.Opts{Namespace: "echosieve", Subsystem: "consumer", Name: name, Help: help}
}

func gaugeVec(f promauto.Factory, name, help string, labels ...string) *prometheus.GaugeVec {
	return f.NewGaugeVec(prometheus.GaugeOpts(opts(name, help)), labels)
}

func gauge(f promauto.Factory, name, help string) prometheus.Gauge {
	return f.NewGauge(prometheus.GaugeOpts(opts(name, help)))
}

func counterVec(f promauto.Factory, name, help string, labels ...string) *prometheus.CounterVec {
	return f.NewCounterVec(prometheus.CounterOpts(opts(name, help)), labels)
}

func counter(f promauto.Factory, name, help string) prometheus.Counter {
	return f.NewCounter(prometheus.CounterOpts(opts(name, help)))
}
