package service

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	probeInterval = 2 * time.Second
	probeTimeout  = 5 * time.Second
)

var errNotReported = errors.New("not reported yet")

// health knows which connections are up. A component is down until its first report; after that it is up
// while neither its last probe nor its last operation failed. Safe for concurrent use.
//
// A component can have warnings as well: it works, at a price that the text of the warning says. They change nothing of up and
// down.
type health struct {
	log      *slog.Logger
	up       *prometheus.GaugeVec
	warnings *prometheus.GaugeVec
	now      func() time.Time

	mu         sync.Mutex
	components map[string]*component
}

type component struct {
	reported  bool
	probe     error // outcome of the last probe
	operation error // outcome of the last operation
	since     time.Time
	warnings  map[string]string // texts by kind
}

// newHealth returns the health of the named components. A nil registerer leaves the gauge unregistered.
func newHealth(reg prometheus.Registerer, log *slog.Logger, names ...string) *health {
	h := &health{
		log: log,
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "echosieve_connection_up",
			Help: "1 if the last probe and the last operation succeeded.",
		}, []string{"component"}),
		warnings: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "echosieve_warnings",
			Help: "Warnings that /readyz shows.",
		}, []string{"component"}),
		now:        time.Now,
		components: map[string]*component{},
	}
	for _, name := range names {
		h.components[name] = &component{since: h.now(), warnings: map[string]string{}}
		h.up.WithLabelValues(name).Set(0)
		h.warnings.WithLabelValues(name).Set(0)
	}
	if reg != nil {
		reg.MustRegister(h.up, h.warnings)
	}
	return h
}

// report takes the outcome of an operation: nil for success. The name must be one given to newHealth.
func (h *health) report(name string, err error) {
	h.update(name, func(c *component) { c.operation = err })
}

// warn sets the component's warning of a kind to a text, or takes it back if the text is empty. Whoever warns also logs. The name
// must be one given to newHealth.
func (h *health) warn(name, kind, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.components[name]
	if text == "" {
		delete(c.warnings, kind)
	} else {
		c.warnings[kind] = text
	}
	h.warnings.WithLabelValues(name).Set(float64(len(c.warnings)))
}

// probe calls f every two seconds until ctx ends and reports what it says. A call that takes longer than
// five seconds counts as failed.
func (h *health) probe(ctx context.Context, name string, f func(context.Context) error) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, probeTimeout)
		err := f(call)
		cancel()
		if ctx.Err() != nil {
			return // the probe failed because we are going down
		}
		h.update(name, func(c *component) { c.probe = err })
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// err says why the component is down, nil if it is up.
func (c *component) err() error {
	switch {
	case !c.reported:
		return errNotReported
	case c.operation != nil:
		return c.operation
	default:
		return c.probe
	}
}

func (h *health) update(name string, change func(*component)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.components[name]
	first, before := !c.reported, c.err()
	change(c)
	c.reported = true
	after := c.err()
	if !first && (before == nil) == (after == nil) {
		return
	}
	if !first || after == nil {
		c.since = h.now()
	}
	// Within the lock, so that the lines stand in the order of the changes.
	if after == nil {
		h.up.WithLabelValues(name).Set(1)
		h.log.Info("connection is up", "component", name)
		return
	}
	h.up.WithLabelValues(name).Set(0)
	h.log.Warn("connection is down", "component", name, "err", after)
}

// componentState is what /readyz says about one component.
type componentState struct {
	Up    bool      `json:"up"`
	Since time.Time `json:"since"` // of the last change
	Error string    `json:"error,omitempty"`
	// Warnings say at what price the component works. They do not make it down.
	Warnings []string `json:"warnings,omitempty"`
}

// state returns whether all components are up, and each one's state.
func (h *health) state() (bool, map[string]componentState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ready := true
	states := make(map[string]componentState, len(h.components))
	for name, c := range h.components {
		s := componentState{Up: true, Since: c.since.UTC()}
		for _, kind := range slices.Sorted(maps.Keys(c.warnings)) {
			s.Warnings = append(s.Warnings, c.warnings[kind])
		}
		if err := c.err(); err != nil {
			s.Up, s.Error, ready = false, err.Error(), false
		}
		states[name] = s
	}
	return ready, states
}
