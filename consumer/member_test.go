package consumer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"echosieve/consumer/broker"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/test/kafkatest"
)

// router is a Handler that sends records by the first byte of their value: d to duplicate, x to dead, s to
// nowhere, all others to unique. It stores the records that it was given.
type router struct {
	prepare func(ctx context.Context, recs []record.Record) error
	decide  func(ctx context.Context, recs []record.Record) error

	mu        sync.Mutex
	published int
}

func (r *router) Prepare(ctx context.Context, recs []record.Record) (*pipeline.Batch, error) {
	if r.prepare != nil {
		if err := r.prepare(ctx, recs); err != nil {
			return nil, err
		}
	}
	return &pipeline.Batch{Records: recs}, nil
}

func (r *router) Decide(ctx context.Context, b *pipeline.Batch) ([]pipeline.Output, error) {
	if r.decide != nil {
		if err := r.decide(ctx, b.Records); err != nil {
			return nil, err
		}
	}
	var out []pipeline.Output
	for i := range b.Records {
		rec := &b.Records[i]
		to := article.ToUnique
		switch {
		case bytes.HasPrefix(rec.Value, []byte("s")):
			continue
		case bytes.HasPrefix(rec.Value, []byte("d")):
			to = article.ToDuplicate
		case bytes.HasPrefix(rec.Value, []byte("x")):
			to = article.ToDead
		}
		headers := append(append([]record.Header{}, rec.Headers...),
			record.Header{Key: pipeline.HeaderInput, Value: []byte(rec.String())})
		one := pipeline.NewOutput(rec, to)
		one.Headers = headers
		out = append(out, one)
	}
	return out, nil
}

// Refused sends the record to dead: first as it is with the present time, then in its smallest form.
func (r *router) Refused(_ context.Context, _ *pipeline.Batch, out *pipeline.Output, why *record.RejectError) (
	pipeline.Output, error,
) {
	dead := *out
	dead.Time = time.Now()
	if out.Destination == article.ToDead {
		dead.Key, dead.Value, dead.Smallest = []byte(out.Record.String()), nil, true
		return dead, nil
	}
	dead.Destination = article.ToDead
	dead.Headers = append(slices.Clone(out.Headers),
		record.Header{Key: pipeline.HeaderReason, Value: []byte(why.Reason)})
	return dead, nil
}

func (r *router) Acknowledged(outputs []pipeline.Output, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.published += len(outputs)
}

// opened waits until a channel is closed, or the context ends.
func opened(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// health stores why operations fail now.
type health struct {
	mu    sync.Mutex
	fails map[fmt.Stringer]error
}

func (h *health) report(_ string, call fmt.Stringer, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fails == nil {
		h.fails = map[fmt.Stringer]error{}
	}
	h.fails[call] = err
}

// last returns why an operation fails now; nil if none fails.
func (h *health) last() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(slices.Collect(maps.Values(h.fails))...)
}

// member is a running Consumer.
type member struct {
	*Consumer
	t      *testing.T
	reg    *prometheus.Registry
	health *health
	logged *logged
	cancel context.CancelFunc
	done   chan error
}

func startMember(t *testing.T, cfg broker.Config, h Handler, change ...func(*Consumer)) *member {
	t.Helper()
	m := newMember(t, cfg, h)
	for _, f := range change {
		f(m.Consumer)
	}
	m.start()
	return m
}

// newMember is for tests that change the Consumer before it runs.
func newMember(t *testing.T, cfg broker.Config, h Handler) *member {
	t.Helper()
	m := &member{
		t: t, reg: prometheus.NewRegistry(), health: &health{}, logged: &logged{out: t.Output()},
		done: make(chan error, 1),
	}
	c, err := New(cfg, h, m.reg, m.logged.logger(), m.health.report)
	require.NoError(t, err)
	m.Consumer = c
	return m
}

func (m *member) start() {
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	go func() { m.done <- m.Run(ctx) }()
	m.t.Cleanup(cancel)
}

// stop ends the member and waits for Run.
func (m *member) stop(t *testing.T) {
	t.Helper()
	m.cancel()
	require.NoError(t, m.ended(t))
}

// ended waits for the end of Run and returns its error.
func (m *member) ended(t *testing.T) error {
	t.Helper()
	select {
	case err := <-m.done:
		m.done <- err
		return err
	case <-time.After(kafkatest.Patience):
		t.Fatal("Run did not return")
		return nil
	}
}

// value returns the sum of a metric over its labels.
func (m *member) value(t *testing.T, name string) float64 {
	t.Helper()
	families, err := m.reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			sum := 0.0
			for _, v := range f.GetMetric() {
				sum += v.GetCounter().GetValue() + v.GetGauge().GetValue()
			}
			return sum
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// logged collects log lines, and shows them.
type logged struct {
	out io.Writer
	mu  sync.Mutex
	bytes.Buffer
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.out.Write(b)
	return l.Buffer.Write(b)
}

func (l *logged) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.String(), s)
}
