package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"echosieve/internal/diag"
	"echosieve/pipeline/article"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const (
	probeInterval = 2 * time.Second
	probeTimeout  = 5 * time.Second
	// waitsShown bounds the waiting calls that /readyz names. An outage makes one of each partition wait.
	waitsShown = 10
)

var errNotProbed = errors.New("not reported yet")

// health knows which components (Kafka and Redis) are up. A component is down until its first probe. After
// that it is up if its last probe succeeded and no call waits for it. A call that succeeds says nothing about
// another one: a single partition may wait for a key that another program wrote, while all others go on. What
// waits with diag.Waits leaves it up, but the process is not ready. Safe for concurrent use.
//
// A component can also have warnings. A component with a warning works, and the text of the warning names the
// damage. Warnings do not change whether the component is up.
type health struct {
	log      *slog.Logger
	up       *prometheus.GaugeVec
	waits    *prometheus.GaugeVec
	warnings *prometheus.GaugeVec
	now      func() time.Time

	mu         sync.Mutex
	components map[string]*component
}

type component struct {
	probe    error                     // outcome of the last probe
	waits    map[fmt.Stringer]*waiting // by the call that waits
	since    time.Time
	warnings map[string]string // kind -> text
}

// waiting is a call that waits for a component, in the answer of /readyz.
type waiting struct {
	Call  string    `json:"call"`
	Since time.Time `json:"since"`
	Error string    `json:"error"`
	err   error
}

// newHealth returns the health of the named components. A nil registerer leaves the gauge unregistered.
func newHealth(reg prometheus.Registerer, log *slog.Logger, names ...string) *health {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return promauto.With(reg).NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"component"})
	}
	h := &health{
		log:        log,
		up:         gauge("echosieve_connection_up", "1 if the last probe succeeded and no call waits for the server."),
		waits:      gauge("echosieve_waits", "1 while the server answers and work waits for other processes."),
		warnings:   gauge("echosieve_warnings", "Warnings that /readyz shows."),
		now:        time.Now,
		components: map[string]*component{},
	}
	for _, name := range names {
		h.components[name] = &component{probe: errNotProbed, since: h.now(), waits: map[fmt.Stringer]*waiting{},
			warnings: map[string]string{}}
		h.up.WithLabelValues(name).Set(0)
		h.waits.WithLabelValues(name).Set(0)
		h.warnings.WithLabelValues(name).Set(0)
	}
	return h
}

// report records why a call waits for a component; with nil, that it waits no longer. The name must be one
// that newHealth was given. Calls are told apart by ==.
func (h *health) report(name string, call fmt.Stringer, err error) {
	h.update(name, func(c *component) {
		w := c.waits[call]
		switch {
		case err == nil:
			delete(c.waits, call)
		case w == nil:
			c.waits[call] = &waiting{call.String(), h.now().UTC(), err.Error(), err}
		default:
			w.Error, w.err = err.Error(), err
		}
	})
}

// warn sets the warning of a kind for a component; an empty text removes it. It does not log: the caller
// does. The name must be one that newHealth was given.
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

// slow names a record that takes long to prepare, until it is prepared: see pipeline.Config.
func (h *health) slow(at article.Coordinates, prepared bool) {
	if prepared {
		h.warn("kafka", at.String(), "")
		h.log.Info("a record that took long is prepared", "record", at.String())
		return
	}
	text := "record " + at.String() + " takes more than 10 s to be prepared: its partition waits for it"
	h.warn("kafka", at.String(), text)
	h.log.Warn("a record takes long", "record", at.String())
}

// probe calls f every probeInterval until ctx ends, and records the outcome. A call that takes longer than
// probeTimeout has failed.
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

// longest returns the calls that wait, the one that has waited longest first.
func (c *component) longest() []*waiting {
	return slices.SortedFunc(maps.Values(c.waits), func(a, b *waiting) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Call, b.Call))
	})
}

// err returns why the component is down, or else a diag.Waits; nil if it is up and nothing waits.
func (c *component) err() error {
	waits := c.probe
	for _, call := range c.longest() {
		if !isWaits(call.err) {
			return call.err
		}
		if c.probe == nil {
			waits = call.err
		}
	}
	return waits
}

func isWaits(err error) bool { return errors.As(err, new(diag.Waits)) }

func (h *health) update(name string, change func(*component)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.components[name]
	before := c.err()
	change(c)
	after := c.err()
	unknown := errors.Is(before, errNotProbed)
	if !unknown && (before == nil) == (after == nil) && isWaits(before) == isWaits(after) || errors.Is(after, errNotProbed) {
		return
	}
	if !unknown || after == nil {
		c.since = h.now()
	}
	up, waits := 1.0, 0.0
	// Logging within the lock keeps the lines of the log in the order of the changes.
	switch {
	case after == nil:
		h.log.Info("connection is up", "component", name)
	case isWaits(after):
		waits = 1
		h.log.Info("connection is up, and work waits for other processes", "component", name, "because", after)
	default:
		up = 0
		h.log.Warn("connection is down", "component", name, "err", after)
	}
	h.up.WithLabelValues(name).Set(up)
	h.waits.WithLabelValues(name).Set(waits)
}

// componentState is the state of one component in the answer of /readyz.
type componentState struct {
	Up    bool      `json:"up"`
	Since time.Time `json:"since"` // of the last change
	Error string    `json:"error,omitempty"`
	Waits string    `json:"waits,omitempty"` // what work waits for although the component is up: then not ready
	// Waiting are the calls that wait, the one that has waited longest first, at most waitsShown of WaitingCalls.
	Waiting      []*waiting `json:"waiting,omitempty"`
	WaitingCalls int        `json:"waiting_calls,omitempty"`
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
		for _, w := range c.longest()[:min(waitsShown, len(c.waits))] {
			shown := *w // it may change after this call
			s.Waiting = append(s.Waiting, &shown)
		}
		s.WaitingCalls = len(c.waits)
		for _, kind := range slices.Sorted(maps.Keys(c.warnings)) {
			s.Warnings = append(s.Warnings, c.warnings[kind])
		}
		if err := c.err(); isWaits(err) {
			s.Waits, ready = err.Error(), false
		} else if err != nil {
			s.Up, s.Error, ready = false, err.Error(), false
		}
		states[name] = s
	}
	return ready, states
}
