package telemetry

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Set is a prometheus.Registerer that keeps errors instead of panicking, so that promauto can be used with
// it: make the metrics, then look at Err. Not for concurrent use.
type Set struct {
	reg  prometheus.Registerer
	errs []error
}

var _ prometheus.Registerer = (*Set)(nil)

// NewSet returns a set that registers with reg. With a nil reg, metrics are not registered.
func NewSet(reg prometheus.Registerer) *Set { return &Set{reg: reg} }

// Register registers a metric. The error is kept for Err, too.
func (s *Set) Register(c prometheus.Collector) error {
	if s.reg == nil {
		return nil
	}
	err := s.reg.Register(c)
	if err != nil {
		s.errs = append(s.errs, err)
	}
	return err
}

// MustRegister registers metrics. It does not panic: its errors are those of Err.
func (s *Set) MustRegister(collectors ...prometheus.Collector) {
	for _, c := range collectors {
		_ = s.Register(c) // kept for Err
	}
}

// Unregister removes a metric.
func (s *Set) Unregister(c prometheus.Collector) bool { return s.reg != nil && s.reg.Unregister(c) }

// Err returns what could not be registered: metrics of the same name are registered already, for instance by
// a second service that was given the same registerer.
func (s *Set) Err() error {
	if err := errors.Join(s.errs...); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}
