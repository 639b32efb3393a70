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

// health knows which components (Kafka and Redis) are up. A component is down until its first report. After that it is up if its
// last probe and its last operation succeeded. Safe for concurrent use.
//
// A component can also have warnings. A component with a warning works, and the text of the warning names the damage. Warnings do not
// change whether the component is up.
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
	warnings  map[string]string // kind -> text
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

// report records the outcome of an operation on a component; nil is success. The name must be one that newHealth was given.
func (h *health) report(name string, err error) {
	h.update(name, func(c *component) { c.operation = err })
}

// warn sets the warning of a kind for a component; an empty text removes it. It does not log: the caller does. The name must be one
// that newHealth was given.
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

// probe calls f every probeInterval until ctx ends, and records the outcome. A call that takes longer than probeTimeout has
// failed.
func (h *health) probe(ctx context.Context, name string, f func(context.Context) error) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, probeTimeout)
		err := f(call)
		cancel()
		if ctx.Err() != nil {
			return // the probe failed because the process stops
		}
		h.update(name, func(c *component) { c.probe = err })
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// err returns why the component is down; nil if it is up.
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
	// Logging within the lock keeps the lines of the log in the order of the changes.
	if after == nil {
		h.up.WithLabelValues(name).Set(1)
		h.log.Info("connection is up", "component", name)
		return
	}
	h.up.WithLabelValues(name).Set(0)
	h.log.Warn("connection is down", "component", name, "err", after)
}

// componentState is the state of one component in the answer of /readyz.
type componentState struct {
	Up    bool      `json:"up"`
	Since time.Time `json:"since"` // of the last change
	Error string    `json:"error,omitempty"`
	// Warnings are the texts of the warnings, in the order of their kinds.
	Warnings []string `json:"warnings,omitempty"`
}

// state returns whether all components are up, and the state of each component by its name.
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
