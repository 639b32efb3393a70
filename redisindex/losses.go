package redisindex

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The kinds of loss: the label kind, and what a marker in Redis remembers of its last loss.
const (
	lossMissing  = "missing"  // a number that must be there is gone
	lossRollback = "rollback" // a number is lower than it was
	lossEviction = "eviction" // Redis says that it evicted keys
	lossDamage   = "damage"   // entries or block lists held foreign bytes
)

var lossKinds = []string{lossMissing, lossRollback, lossEviction, lossDamage}

// lossCauses says what can be behind a loss of each kind.
var lossCauses = map[string]string{
	lossMissing:  "it was flushed, keys were deleted, or it came back without its data",
	lossRollback: "it came back from an older snapshot, crashed before its last writes were on disk, or failed over to a replica that lacked them",
	lossEviction: "it evicted keys to free memory",
	lossDamage:   "another program wrote into entries or block lists",
}

// loss is one piece of evidence that Redis has forgotten a part of the index.
type loss struct {
	kind string
	at   time.Time // noticed
	own  bool      // by this process; else another one has noticed it and left word in Redis
	past bool      // before this process looked for the first time
}

// watchMetrics are described in docs/metrics.md.
type watchMetrics struct {
	losses      *prometheus.CounterVec
	lastLoss    prometheus.Gauge
	memoryUsed  *prometheus.GaugeVec
	memoryLimit *prometheus.GaugeVec
	saveFailing *prometheus.GaugeVec
}

// newWatchMetrics registers the metrics with reg; with nil they count unseen.
func newWatchMetrics(reg prometheus.Registerer) *watchMetrics {
	factory := promauto.With(reg)
	node := func(name, help string) *prometheus.GaugeVec {
		return factory.NewGaugeVec(prometheus.GaugeOpts{Name: "echosieve_redisindex_" + name, Help: help}, []string{"node"})
	}
	m := &watchMetrics{
		losses: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "echosieve_redisindex_losses_total", Help: "Times that this process noticed that Redis had lost a part of the index.",
		}, []string{"kind"}),
		lastLoss: factory.NewGauge(prometheus.GaugeOpts{
			Name: "echosieve_redisindex_last_loss_timestamp_seconds", Help: "When any process last noticed a loss, in seconds since 1970; 0: not within the window.",
		}),
		memoryUsed:  node("memory_used_bytes", "Memory that the Redis node uses."),
		memoryLimit: node("memory_limit_bytes", "maxmemory of the Redis node; 0: none."),
		saveFailing: node("save_failing", "1 if the Redis node could not write its data to disk the last time."),
	}
	for _, kind := range lossKinds {
		m.losses.WithLabelValues(kind)
	}
	return m
}

// forget removes the figures of a node that no longer is a master.
func (m *watchMetrics) forget(node string) {
	for _, gauge := range []*prometheus.GaugeVec{m.memoryUsed, m.memoryLimit, m.saveFailing} {
		gauge.DeleteLabelValues(node)
	}
}
