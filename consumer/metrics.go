package consumer

import "github.com/prometheus/client_golang/prometheus"

// metrics are described in docs/metrics.md.
type metrics struct {
	lag               *prometheus.GaugeVec
	assigned          prometheus.Gauge
	inFlightRecords   prometheus.Gauge
	inFlightBytes     prometheus.Gauge
	fetchedRecords    prometheus.Counter
	fetchedBytes      prometheus.Counter
	skipped           *prometheus.CounterVec
	published         *prometheus.CounterVec
	commits           *prometheus.CounterVec
	rebalances        prometheus.Counter
	retries           *prometheus.CounterVec
	errors            *prometheus.CounterVec
	offsetResets      prometheus.Counter
	lostRecords       prometheus.Counter
	registeredMetrics []prometheus.Collector
}

// newMetrics registers all metrics. Label values that are known beforehand are exposed as 0 from the start.
func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	m := &metrics{}
	m.lag = gaugeVec(m, "lag_records", "High watermark minus the next offset to commit.", "partition")
	m.assigned = gauge(m, "assigned_partitions", "Partitions of this process.")
	m.inFlightRecords = gauge(m, "in_flight_records", "Records fetched and not yet marked.")
	m.inFlightBytes = gauge(m, "in_flight_bytes", "Payload of the records in flight.")
	m.fetchedRecords = counter(m, "fetched_records_total", "Records fetched.")
	m.fetchedBytes = counter(m, "fetched_bytes_total", "Payload of the records fetched.")
	m.skipped = counterVec(m, "skipped_records_total", "Records of aborted transactions and transaction markers.", "reason")
	m.published = counterVec(m, "published_records_total", "Acknowledged records by output topic.", "topic")
	m.commits = counterVec(m, "commits_total", "Offset commits.", "result")
	m.rebalances = counter(m, "rebalances_total", "Group generations that this process has joined.")
	m.retries = counterVec(m, "retries_total", "Operations tried again.", "operation")
	m.errors = counterVec(m, "errors_total", "Failed operations.", "operation", "kind")
	m.offsetResets = counter(m, "offset_resets_total", "Times the broker no longer had the wanted offset.")
	m.lostRecords = counter(m, "lost_records_total", "Offsets that the broker had deleted before they were read: at most so many records.")

	for _, v := range []string{"aborted", "control"} {
		m.skipped.WithLabelValues(v)
	}
	for _, v := range []string{"unique", "possible", "duplicate", "dead"} {
		m.published.WithLabelValues(v)
	}
	for _, v := range []string{"ok", "error"} {
		m.commits.WithLabelValues(v)
	}
	for _, op := range operations {
		m.retries.WithLabelValues(op)
		for _, k := range []string{"connection", "timeout", "auth", "not_leader", "coordinator", kindTooLarge, kindRefused, "other"} {
			m.errors.WithLabelValues(op, k)
		}
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range m.registeredMetrics {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func opts(name, help string) prometheus.Opts {
	return prometheus.Opts{Namespace: "echosieve", Subsystem: "consumer", Name: name, Help: help}
}

// collected adds a metric to the list that newMetrics registers.
func collected[C prometheus.Collector](m *metrics, c C) C {
	m.registeredMetrics = append(m.registeredMetrics, c)
	return c
}

func gaugeVec(m *metrics, name, help string, labels ...string) *prometheus.GaugeVec {
	return collected(m, prometheus.NewGaugeVec(prometheus.GaugeOpts(opts(name, help)), labels))
}

func gauge(m *metrics, name, help string) prometheus.Gauge {
	return collected(m, prometheus.NewGauge(prometheus.GaugeOpts(opts(name, help))))
}

func counterVec(m *metrics, name, help string, labels ...string) *prometheus.CounterVec {
	return collected(m, prometheus.NewCounterVec(prometheus.CounterOpts(opts(name, help)), labels))
}

func counter(m *metrics, name, help string) prometheus.Counter {
	return collected(m, prometheus.NewCounter(prometheus.CounterOpts(opts(name, help))))
}
