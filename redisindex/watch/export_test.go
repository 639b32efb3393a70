package watch

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// The kinds of loss and of warning.
const (
	LossMissing, LossRollback, LossEviction, LossDamage = lossMissing, lossRollback, lossEviction, lossDamage
	WarnMemory, WarnSave                                = warnMemory, warnSave
)

// LossKinds are all kinds of loss.
var LossKinds = slices.Collect(maps.Keys(lossCauses))

// SetInterval sets the time between two rounds of a monitor that is not started yet.
func (l *Losses) SetInterval(d time.Duration) { l.interval = d }

// LastShown is when Redis last showed all numbers.
func (l *Losses) LastShown() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastShown
}

// Hold makes monitors stand still until release is called.
func (l *Losses) Hold() (release func()) {
	l.mu.Lock()
	return l.mu.Unlock
}

// Counted is how often a kind of loss was counted.
func (l *Losses) Counted(kind string) int {
	return int(testutil.ToFloat64(l.metrics.losses.WithLabelValues(kind)))
}

// LastLoss is the metric of the last loss.
func (l *Losses) LastLoss() prometheus.Collector { return l.metrics.lastLoss }

// OfNode are the metrics of a node: the memory that it uses, its limit, and whether saves fail.
func (l *Losses) OfNode(node string) (used, limit, saveFailing float64) {
	of := func(v *prometheus.GaugeVec) float64 { return testutil.ToFloat64(v.WithLabelValues(node)) }
	return of(l.metrics.memoryUsed), of(l.metrics.memoryLimit), of(l.metrics.saveFailing)
}
