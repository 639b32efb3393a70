package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"echosieve/app/config"
	"echosieve/internal/diag"
	"echosieve/pipeline/article"
)

func discardLog() *slog.Logger { return slog.New(slog.DiscardHandler) }

// caller is a call that may wait.
type caller string

func (c caller) String() string { return string(c) }

func probed(h *health, name string, err error) {
	h.update(name, func(c *component) { c.probe = err })
}

// A component is up only while its last probe succeeded and no call waits. The log has one line for each change.
func TestHealthChanges(t *testing.T) {
	away := errors.New("away")
	var log bytes.Buffer
	h := newHealth(nil, slog.New(slog.NewTextHandler(&log, nil)), "kafka")
	first, second := caller("first"), caller("second")
	for i, step := range []struct {
		do    func()
		up    bool
		lines int // so far
	}{
		{func() { h.report("kafka", first, away) }, false, 1}, // before the first probe
		{func() { h.report("kafka", first, nil) }, false, 1},
		{func() { probed(h, "kafka", nil) }, true, 2},
		{func() { h.report("kafka", first, nil) }, true, 2},
		{func() { probed(h, "kafka", away) }, false, 3},
		{func() { h.report("kafka", first, nil) }, false, 3}, // the probe is still red
		{func() { h.report("kafka", first, away) }, false, 3},
		{func() { probed(h, "kafka", nil) }, false, 3}, // the call still waits
		{func() { h.report("kafka", second, away) }, false, 3},
		{func() { h.report("kafka", second, nil) }, false, 3}, // another call has gone on, the first still waits
		{func() { h.report("kafka", first, nil) }, true, 4},
	} {
		step.do()
		ready, states := h.state()
		require.Equal(t, step.up, ready, "step %d", i)
		require.Equal(t, step.up, states["kafka"].Up, "step %d", i)
		require.Equal(t, step.lines, strings.Count(log.String(), "\n"), "step %d: %s", i, log.String())
		require.Equal(t, map[bool]float64{true: 1}[step.up], testutil.ToFloat64(h.up), "step %d", i)
	}
}

// Work that waits for other processes is no lost connection: it has a metric, a word and a line of the log of its own.
func TestWaitingForOthersIsNoLostConnection(t *testing.T) {
	var log bytes.Buffer
	h := newHealth(nil, slog.New(slog.NewTextHandler(&log, nil)), "kafka")
	for i, step := range []struct {
		do        func()
		up, waits float64
		said      string // the last line of the log
	}{
		{func() { probed(h, "kafka", diag.Waits("groups")) }, 1, 1, "groups"},
		{func() { h.report("kafka", caller("fetch"), io.EOF) }, 0, 0, "connection is down"},
		{func() { h.report("kafka", caller("fetch"), nil) }, 1, 1, "groups"},
		{func() { probed(h, "kafka", nil) }, 1, 0, "msg=\"connection is up\""},
		{func() { h.report("kafka", caller("join"), diag.Waits("another recipe decides")) }, 1, 1, "another recipe"},
		{func() { probed(h, "kafka", io.EOF) }, 0, 0, "connection is down"},
	} {
		step.do()
		ready, states := h.state()
		require.False(t, ready && step.waits > 0, "step %d", i)
		require.Equal(t, step.up == 1, states["kafka"].Up, "step %d", i)
		require.Equal(t, step.waits == 1, states["kafka"].Waits != "", "step %d", i)
		require.InDelta(t, step.up, testutil.ToFloat64(h.up), 0, "step %d", i)
		require.InDelta(t, step.waits, testutil.ToFloat64(h.waits), 0, "step %d", i)
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		require.Contains(t, lines[len(lines)-1], step.said, "step %d", i)
		require.Len(t, lines, i+1)
	}
}

// /readyz names the calls that have waited longest, each with the time since when it waits and its latest error.
func TestHealthNamesTheCallsThatWait(t *testing.T) {
	h := newHealth(nil, discardLog(), "redis")
	probed(h, "redis", nil)
	start := time.Now()
	h.now = func() time.Time { start = start.Add(time.Second); return start }
	for n := range 3 * waitsShown {
		h.report("redis", caller(fmt.Sprintf("call %02d", n)), io.EOF)
	}
	_, states := h.state()
	begun := states["redis"].Waiting[0].Since
	for n := range 3 * waitsShown {
		h.report("redis", caller(fmt.Sprintf("call %02d", n)), fmt.Errorf("away %d", n))
	}
	ready, states := h.state()
	require.False(t, ready)
	s := states["redis"]
	require.Equal(t, "away 0", s.Error)
	require.Equal(t, []int{waitsShown, 3 * waitsShown}, []int{len(s.Waiting), s.WaitingCalls})
	require.Equal(t, waiting{Call: "call 00", Since: begun, Error: "away 0", err: s.Waiting[0].err}, *s.Waiting[0])
	require.Equal(t, "call 09", s.Waiting[9].Call)
}

// Warnings are shown, counted and taken back by kind; a component with warnings is up.
func TestHealthWarnings(t *testing.T) {
	h := newHealth(nil, discardLog(), "redis")
	probed(h, "redis", nil)
	shown := func(want ...string) {
		t.Helper()
		ready, states := h.state()
		require.True(t, ready)
		require.True(t, states["redis"].Up)
		require.Equal(t, want, states["redis"].Warnings)
		require.InDelta(t, len(want), testutil.ToFloat64(h.warnings), 0)
	}
	shown()
	h.warn("redis", "missing", "lost")
	h.warn("redis", "memory", "nearly full")
	shown("nearly full", "lost")
	h.warn("redis", "missing", "lost again")
	shown("nearly full", "lost again")
	h.warn("redis", "memory", "")
	h.warn("redis", "never", "")
	shown("lost again")
	h.warn("redis", "missing", "")
	shown()
}

func TestProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth(nil, discardLog(), "redis")
		ctx, cancel := context.WithCancel(t.Context())
		var away atomic.Bool
		var calls atomic.Int32
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.probe(ctx, "redis", func(ctx context.Context) error {
				calls.Add(1)
				if away.Load() {
					<-ctx.Done() // hangs until the probe's own time limit
					return errors.New("away")
				}
				return nil
			})
		}()
		synctest.Wait()
		ready, _ := h.state()
		require.True(t, ready, "the first probe is at once")

		away.Store(true)
		time.Sleep(probeInterval + probeTimeout + time.Millisecond)
		ready, states := h.state()
		require.False(t, ready)
		require.Equal(t, "away", states["redis"].Error)

		away.Store(false)
		time.Sleep(probeInterval + probeTimeout)
		ready, _ = h.state()
		require.True(t, ready)

		cancel()
		<-done
		ready, _ = h.state()
		require.True(t, ready, "going down is no failure of the component")
		require.Greater(t, calls.Load(), int32(2))
	})
}

// All changes are applied or none. A refusal names each setting that needs a restart, and prints no secret.
func TestReload(t *testing.T) {
	start := config.Default()
	start.Kafka.SASL.Password = "hunter2"
	var log bytes.Buffer
	logger, level := start.Log.NewLogger(&log)
	var policy article.Policy
	r := newReloader(start, func(p article.Policy) { policy = p }, prometheus.NewRegistry(), logger)
	next, loadErr := start, error(nil)
	r.load, r.level = func() (config.Config, error) { return next, loadErr }, level

	require.Equal(t, reloadUnchanged, r.reload())

	next.Log.Level = "debug"
	require.Equal(t, reloadApplied, r.reload())
	require.Equal(t, slog.LevelDebug, level.Level())
	require.Contains(t, log.String(), "changed=[log.level]")
	require.Equal(t, reloadUnchanged, r.reload(), "the new configuration is in force")

	next.Policy.Extends = "possible"
	require.Equal(t, reloadApplied, r.reload())
	require.Equal(t, "possible", policy.Extends)
	require.Contains(t, log.String(), "changed=[policy.extends]")

	next.Policy.Extends = "duplicate"
	next.Log.Level, next.Kafka.SASL.Password, next.Kafka.Topics.Possible, next.Redis.Addrs = "warn", "hunter3",
		"articles-possible", []string{"a:1"}
	require.Equal(t, reloadRefused, r.reload())
	require.Equal(t, slog.LevelDebug, level.Level(), "half of a change was applied")
	require.Equal(t, "possible", policy.Extends, "half of a change was applied")
	require.Contains(t, log.String(), `restart to apply`)
	require.Contains(t, log.String(), `restart_to_apply="[kafka.topics.possible kafka.sasl.password redis.addrs]"`)
	require.NotContains(t, log.String(), "hunter")

	loadErr = errors.New("configuration: window is 0s")
	require.Equal(t, reloadInvalid, r.reload())
	require.Contains(t, log.String(), "window is 0s")

	loadErr = nil
	r.running, next = start, start
	next.Log.Level = "info"
	level.Set(slog.LevelDebug)
	r.running.Log.Level = "debug"
	require.Equal(t, reloadApplied, r.reload(), "back to the first configuration")
	require.Equal(t, slog.LevelInfo, level.Level())
}

// A record that takes long is named until it is prepared; its partition is still up.
func TestHealthNamesSlowRecords(t *testing.T) {
	h := newHealth(nil, discardLog(), "kafka")
	probed(h, "kafka", nil)
	at := article.Coordinates{Topic: "articles", Partition: 3, Offset: 88231}
	h.slow(at, false)
	ready, states := h.state()
	require.True(t, ready)
	require.Len(t, states["kafka"].Warnings, 1)
	require.Contains(t, states["kafka"].Warnings[0], "articles/3/88231")
	h.slow(at, true)
	_, states = h.state()
	require.Empty(t, states["kafka"].Warnings)
}
