package consumer

import (
	"fmt"
	"log/slog"
	"sync"
)

// Operations as they stand in metrics and logs.
const (
	opJoin    = "join"
	opFetch   = "fetch"
	opPublish = "publish"
	opCommit  = "commit"
)

var operations = []string{opJoin, opFetch, opPublish, opCommit}

// reporter reports failures to metrics, log and health. If an operation fails many times or for many partitions, only the first
// failure is logged, and one line when the operation works again for all of them. Safe for concurrent use.
type reporter struct {
	metrics *metrics
	log     *slog.Logger
	health  func(component string, call fmt.Stringer, err error)

	mu      sync.Mutex
	failing map[failure]error
}

// failure is what fails. It is the call that health learns of.
type failure struct{ operation, subject string }

func (f failure) String() string { return f.operation + " " + f.subject }

// failed records that an operation on a subject (a partition, a topic, the group) failed and will be tried again.
func (r *reporter) failed(operation, subject string, err error) {
	err = explain(err)
	r.metrics.errors.WithLabelValues(operation, kind(err)).Inc()
	r.metrics.retries.WithLabelValues(operation).Inc()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.fails(operation) {
		r.log.Warn("kafka operation fails, trying again", "operation", operation, "subject", subject, "err", err)
	}
	key := failure{operation, subject}
	r.failing[key] = err
	r.health("kafka", key, err)
}

// ok records that the operation works for the subject.
func (r *reporter) ok(operation, subject string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := failure{operation, subject}
	if _, known := r.failing[key]; !known {
		return
	}
	delete(r.failing, key)
	if !r.fails(operation) {
		r.log.Info("kafka operation works again", "operation", operation)
	}
	r.health("kafka", key, nil)
}

// fails says whether the operation fails for any subject.
func (r *reporter) fails(operation string) bool {
	for key := range r.failing {
		if key.operation == operation {
			return true
		}
	}
	return false
}

// forget drops the operation's failures. Partitions may belong to another member after a group generation has ended.
func (r *reporter) forget(operation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.failing {
		if key.operation == operation {
			delete(r.failing, key)
			r.health("kafka", key, nil)
		}
	}
}
