package broker

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are described in docs/metrics.md.
type Metrics struct {
	Lag                 *prometheus.GaugeVec
	Assigned            prometheus.Gauge
	inFlightRecords     prometheus.Gauge
	inFlightBytes       prometheus.Gauge
	FetchedRecords      prometheus.Counter
	FetchedBytes        prometheus.Counter
	Skipped             *prometheus.CounterVec
	Acknowledged        *prometheus.CounterVec
	AlreadyAcknowledged prometheus.Counter
	ExactlyOnce         prometheus.Gauge
	Takeovers           *prometheus.CounterVec
	TakeoverSeconds     prometheus.Histogram
	Commits             *prometheus.CounterVec
	Rebalances          prometheus.Counter
	retries             *prometheus.CounterVec
	Errors              *prometheus.CounterVec
	OffsetResets        prometheus.Counter
	LostRecords         prometheus.Counter
}

// Operations as they stand in metrics and logs.
const (
	OpJoin    = "join"
	OpFetch   = "fetch"
	OpPublish = "publish"
	OpCommit  = "commit"
	// OpTakeOver is the take-over of an input partition.
	OpTakeOver = "takeover"
	// OpTransaction waits for the end of a producer's transaction. It never fails.
	OpTransaction = "transaction"
)

var operations = []string{OpJoin, OpFetch, OpPublish, OpCommit, OpTakeOver}

// Outcomes of take-overs, as label values.
const (
	OutcomeFenced   = "fenced"
	OutcomeUnfenced = "unfenced"
	OutcomeLost     = "lost"
)

// NewMetrics registers all metrics. Label values that are known beforehand are exposed as 0 from the start.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m, f := &Metrics{}, promauto.With(prometheus.WrapRegistererWithPrefix("echosieve_consumer_", reg))
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	counterVec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m.Lag = f.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lag_records", Help: "High watermark minus the next offset to commit.",
	}, []string{"topic", "partition"})
	m.Assigned = gauge("assigned_partitions", "Partitions of this process.")
	m.inFlightRecords = gauge("in_flight_records", "Records fetched and not yet marked.")
	m.inFlightBytes = gauge("in_flight_bytes", "Payload of the records in flight.")
	m.FetchedRecords = counter("fetched_records_total", "Records fetched.")
	m.FetchedBytes = counter("fetched_bytes_total", "Payload of the records fetched.")
	m.Skipped = counterVec("skipped_records_total",
		"Records not processed: of aborted transactions, transaction markers, and foreign ones that a take-over "+
			"met in output topics.", "reason")
	m.Acknowledged = counterVec("acknowledged_records_total", "Acknowledged records by output topic.", "topic")
	m.AlreadyAcknowledged = counter("already_acknowledged_records_total",
		"Records decided again and not published again, because an earlier owner of the partition had published them.")
	m.ExactlyOnce = gauge("exactly_once", "1 if delivery is exactly once, 0 if it is at least once.")
	m.Takeovers = counterVec("takeovers_total",
		"Take-overs of input partitions: fenced, unfenced (an earlier owner may have published records again), "+
			"lost to another process.", "outcome")
	m.TakeoverSeconds = f.NewHistogram(prometheus.HistogramOpts{
		Name: "takeover_seconds", Help: "Duration of take-overs of input partitions.",
		Buckets: []float64{.01, .03, .1, .3, 1, 3, 10, 30, 60, 180},
	})
	m.Commits = counterVec("commits_total", "Offset commits.", "result")
	m.Rebalances = counter("rebalances_total", "Group generations that this process has joined.")
	m.retries = counterVec("retries_total", "Operations tried again.", "operation")
	m.Errors = counterVec("errors_total", "Failed operations.", "operation", "kind")
	m.OffsetResets = counter("offset_resets_total",
		"Times the broker no longer had the next offset: records were lost unread, or the topic was recreated.")
	m.LostRecords = counter("lost_records_total",
		"Offsets deleted before they were read: at most so many records were lost.")

	for vec, values := range map[*prometheus.CounterVec][]string{
		m.Skipped:      {"aborted", "control", "foreign"},
		m.Acknowledged: {"unique", "possible", "duplicate", "dead"},
		m.Takeovers:    {OutcomeFenced, OutcomeUnfenced, OutcomeLost},
		m.Commits:      {"ok", "error"},
	} {
		for _, v := range values {
			vec.WithLabelValues(v)
		}
	}
	for _, op := range operations {
		m.retries.WithLabelValues(op)
		for _, k := range []string{
			"connection", "timeout", "auth", "not_leader", "coordinator", kindTooLarge,
			kindRefused, "other",
		} {
			m.Errors.WithLabelValues(op, k)
		}
	}
	return m
}
