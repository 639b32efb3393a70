package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"echosieve/internal/diag"
	"echosieve/internal/stopping"
)

// Reporter reports failures to metrics, log and health. If an operation fails many times or for many
// partitions, only the first failure is logged, and one line when the operation works again for all of them.
// Safe for concurrent use.
type Reporter struct {
	metrics *Metrics
	log     *slog.Logger
	health  func(component string, call fmt.Stringer, err error)

	mu      sync.Mutex
	failing map[failure]error
}

// NewReporter returns a reporter. health must not block.
func NewReporter(m *Metrics, log *slog.Logger, health func(component string, call fmt.Stringer, err error)) *Reporter {
	return &Reporter{metrics: m, log: log, health: health, failing: map[failure]error{}}
}

// failure is what fails. It is the call that health learns of.
type failure struct{ operation, subject string }

func (f failure) String() string { return f.operation + " " + f.subject }

// Failed records that an operation on a subject (a partition, a topic, the group) failed and will be tried again.
func (r *Reporter) Failed(operation, subject string, err error) {
	err = Explain(err)
	r.metrics.Errors.WithLabelValues(operation, KindOf(err)).Inc()
	r.metrics.retries.WithLabelValues(operation).Inc()
	r.mu.Lock()
	defer r.mu.Unlock()
	if routine(err) {
		r.log.Debug("the group rebalances", "operation", operation, "subject", subject, "err", err)
		return
	}
	if !r.fails(operation) {
		r.log.Warn("kafka operation fails, trying again", "operation", operation, "subject", subject, "err", err)
	}
	key := failure{operation, subject}
	r.failing[key] = err
	r.health("kafka", key, err)
}

// Waits records that the operation waits for other processes, which is no failure of a broker. why says what for.
func (r *Reporter) Waits(operation, subject string, why diag.Waits) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Warn("waiting", "operation", operation, "subject", subject, "because", why)
	r.failing[failure{operation, subject}] = why
	r.health("kafka", failure{operation, subject}, why)
}

// Until calls try until it works, its error is Final, or ctx ends: see stopping.Until. It records failures, except what
// is Final or fails after the end of ctx, and that the operation works.
func (r *Reporter) Until(ctx context.Context, operation, subject string, try func(context.Context) error) error {
	return stopping.Until(ctx, 0, func(ctx context.Context) error {
		err := try(ctx)
		if err == nil {
			r.OK(operation, subject)
		} else if ctx.Err() == nil && !stopping.IsFinal(err) {
			r.Failed(operation, subject, err)
		}
		return err
	})
}

// LeftGeneration drops the failures of the operations that belong to a group generation: partitions may
// belong to another member after it. If one of them failed, this member counts as failing until it has joined
// the next group generation, because nothing has worked since.
func (r *Reporter) LeftGeneration(group string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	join := failure{OpJoin, group}
	for key, err := range r.failing {
		if key.operation == OpJoin {
			continue
		}
		r.failing[join] = err
		r.health("kafka", join, err)
		delete(r.failing, key)
		r.health("kafka", key, nil)
	}
}

// OK records that the operation works for the subject.
func (r *Reporter) OK(operation, subject string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := failure{operation, subject}
	err, known := r.failing[key]
	if !known {
		return
	}
	delete(r.failing, key)
	if errors.As(err, new(diag.Waits)) {
		r.log.Info("waits no longer", "operation", operation, "subject", subject)
	} else if !r.fails(operation) {
		r.log.Info("kafka operation works again", "operation", operation)
	}
	r.health("kafka", key, nil)
}

// fails says whether the operation fails for any subject.
func (r *Reporter) fails(operation string) bool {
	for key := range r.failing {
		if key.operation == operation {
			return true
		}
	}
	return false
}
