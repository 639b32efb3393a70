package delivery

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"echosieve/consumer/broker"
	"echosieve/internal/diag"
	"echosieve/internal/stopping"
	"echosieve/pipeline"
	"echosieve/pipeline/record"
)

// outputLimits knows which records the output topics take, and how long they keep them. It reads their
// settings again from time to time, because they can be changed while the service runs. Safe for concurrent
// use.
type outputLimits struct {
	cluster *broker.Cluster
	log     *slog.Logger
	limits  atomic.Pointer[pipeline.BatchLimits]
	// retention is the shortest time, in nanoseconds, for which one of the topics keeps records.
	retention atomic.Int64
	stale     chan struct{} // of capacity 1: a topic has refused a record
	// interval is the time after which the limits are read again.
	interval time.Duration
}

const (
	// limitsInterval is outputLimits.interval, except in tests.
	limitsInterval = 30 * time.Second
	// minLimitsInterval is the least time between two reads. Brokers apply a changed setting up to a moment
	// later than they show it.
	minLimitsInterval = time.Second
)

// Limits returns which records the output topics take, as far as this user may know.
func (o *outputLimits) Limits() pipeline.BatchLimits {
	if l := o.limits.Load(); l != nil {
		return *l
	}
	return pipeline.BatchLimits{}
}

// read reads the limits. Without the right to read them there are none: then a topic's refusal shows them.
// read returns an error only if trying again may help.
func (o *outputLimits) read(ctx context.Context) error {
	topics := o.cluster.Config.Topics
	all, err := broker.WaitForSettings(ctx, o.cluster, topics.Outputs()...)
	switch {
	case errors.Is(err, broker.ErrNotKnownYet), broker.IsConnection(err), diag.IsTimeout(err), ctx.Err() != nil:
		return err
	case err != nil && o.limits.Load() == nil:
		o.log.Warn("the settings of output topics cannot be read, so records that a topic does not take are "+
			"noticed only when it refuses them: "+
			"grant DescribeConfigs on the output topics", "err", err)
	}
	limits, retention := o.Limits(), time.Duration(math.MaxInt64)
	for to, name := range topics.Destinations() {
		if s, known := all[name]; known && name != "" {
			l := s.Limits(name)
			limits[to] = &l
			retention = min(retention, s.Retention())
		}
	}
	o.limits.Store(&limits)
	o.retention.Store(int64(retention))
	return nil
}

// Refused is an output that its topic will never take.
type Refused struct {
	Output *pipeline.Output
	Why    *record.RejectError
}

// refused says that a topic has refused a record that its limits allowed.
func (o *outputLimits) refused(r Refused) {
	select {
	case o.stale <- struct{}{}:
		o.log.Warn("an output topic refuses records that its settings allowed when they were read; they become "+
			"dead letters",
			"record", r.Output.Record.String(), "reason", r.Why.Reason, "detail", r.Why.Detail)
	default: // said already
	}
}

// KeepLimits reads the limits again from time to time, until ctx ends: they can change while the service runs.
func (o *outputLimits) KeepLimits(ctx context.Context) {
	for stopping.Wait(ctx, minLimitsInterval) == nil {
		select {
		case <-o.stale:
		case <-time.After(o.interval):
		case <-ctx.Done():
			return
		}
		if err := o.read(ctx); err != nil {
			o.log.Debug("cannot read the settings of the output topics", "err", err)
		}
	}
}
