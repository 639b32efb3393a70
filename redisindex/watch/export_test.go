package watch

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// The kinds of loss and of warning.
const (
	LossMissing, LossRollback, LossEviction, LossDamage = lossMissing, lossRollback, lossEviction, lossDamage
	WarnMemory, WarnSave                                = warnMemory, warnSave
)

// LossKinds are all kinds of loss.
var LossKinds = lossKinds

// SetInterval sets the time between two rounds of a monitor that is not started yet.
func (l *Losses) SetInterval(d time.Duration) { l.watermarks.interval = d }

// LastShown is when Redis last showed all numbers.
func (l *Losses) LastShown() time.Time {
	l.watermarks.mu.Lock()
	defer l.watermarks.mu.Unlock()
	return l.watermarks.lastShown
}

// Hold makes monitors stand still until release is called.
func (l *Losses) Hold() (release func()) {
	l.watermarks.mu.Lock()
	return l.watermarks.mu.Unlock
}

// Counted is how often a kind of loss was counted.
func (l *Losses) Counted(kind string) int {
	var m dto.Metric
	_ = l.metrics.losses.WithLabelValues(kind).Write(&m)
	return int(m.GetCounter().GetValue())
}

// LastLoss is the metric of the last loss.
func (l *Losses) LastLoss() prometheus.Collector { return l.metrics.lastLoss }

// MemoryUsed is the metric of a node.
func (l *Losses) MemoryUsed(node string) prometheus.Collector {
	return l.metrics.memoryUsed.WithLabelValues(node)
}

// MemoryLimit is the metric of a node.
func (l *Losses) MemoryLimit(node string) prometheus.Collector {
	return l.metrics.memoryLimit.WithLabelValues(node)
}

// SaveFailing is the metric of a node.
func (l *Losses) SaveFailing(node string) prometheus.Collector {
	return l.metrics.saveFailing.WithLabelValues(node)
}
