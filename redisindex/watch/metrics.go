package watch

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// lossMetrics are the metrics of Losses. docs/metrics.md describes them.
type lossMetrics struct {
	losses      *prometheus.CounterVec
	lastLoss    prometheus.Gauge
	memoryUsed  *prometheus.GaugeVec
	memoryLimit *prometheus.GaugeVec
	saveFailing *prometheus.GaugeVec
}

// newLossMetrics registers the metrics with reg. With a nil reg they are not registered.
func newLossMetrics(reg prometheus.Registerer) *lossMetrics {
	factory := promauto.With(reg)
	node := func(name, help string) *prometheus.GaugeVec {
		return factory.NewGaugeVec(prometheus.GaugeOpts{Name: "echosieve_redisindex_" + name, Help: help},
			[]string{"node"})
	}
	m := &lossMetrics{
		losses: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "echosieve_redisindex_losses_total",
			Help: "Times that this process noticed that Redis had lost a part of the index.",
		}, []string{"kind"}),
		lastLoss: factory.NewGauge(prometheus.GaugeOpts{
			Name: "echosieve_redisindex_last_loss_timestamp_seconds",
			Help: "When any process last noticed a loss, in seconds since 1970; 0: not within the window.",
		}),
		memoryUsed:  node("memory_used_bytes", "Memory that the Redis node uses."),
		memoryLimit: node("memory_limit_bytes", "maxmemory of the Redis node; 0: none."),
		saveFailing: node("save_failing", "1 if the Redis node could not write its data to disk the last time."),
	}
	for kind := range lossCauses {
		m.losses.WithLabelValues(kind)
	}
	return m
}

// forget removes the metrics of a node that is no longer a master.
func (m *lossMetrics) forget(node string) {
	for _, gauge := range []*prometheus.GaugeVec{m.memoryUsed, m.memoryLimit, m.saveFailing} {
		gauge.DeleteLabelValues(node)
	}
}
