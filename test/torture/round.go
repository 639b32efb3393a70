package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"echosieve/test/ledger"
)

const (
	window         = 168 * time.Hour
	sessionTimeout = 6 * time.Second
	stopTimeout    = 60 * time.Second
	readyTimeout   = 90 * time.Second
)

// round is one run of articles, faults and accounting.
type round struct {
	w       *world
	number  int
	topic   string
	dir     string
	feed    *feed
	watcher *watcher
	summary *summary

	mu         sync.Mutex
	processes  []*process
	started    int
	newest     int // generation
	peakMemory int64
	violations []ledger.Violation
	destroyed  bool // the schedule destroyed data in Redis
}

// violate notes a broken promise.
func (r *round) violate(kind ledger.Kind, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violations = append(r.violations, ledger.Violation{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// destroy notes that the schedule destroys data in Redis.
func (r *round) destroy() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.destroyed = true
}

// round makes one round: start, flow and faults, drain, account.
func (w *world) round(number int, seed uint64, s *summary) (err error) {
	r := &round{
		w: w, number: number, summary: s, topic: fmt.Sprintf("torture-%d-%d", time.Now().UnixNano(), number),
		dir: filepath.Join(w.dir, fmt.Sprintf("round-%d-seed-%d", number, seed)),
	}
	w.say("round %d, seed %d", number, seed)
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	ctx := w.host.ctx
	defer r.end()
	if err := r.prepare(ctx); err != nil {
		return err
	}
	watcher, err := newWatcher(w.kafkaAddrs, r.topic)
	r.watcher = watcher
	if err != nil {
		return err
	}
	reading, stopReading := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { watcher.run(reading) })
	watching.Go(func() { r.watchMemory(reading) })
	defer watching.Wait()
	defer stopReading()

	plan := w.plan(seed)
	d := newDesk(seed, w.recipe, !plan.fixed)
	sent := 0
	flow, flowCtx := errgroup.WithContext(ctx)
	flow.Go(func() (err error) {
		sent, err = r.feed.run(flowCtx, d, plan.rate, plan.records, plan.fixed)
		return err
	})
	flow.Go(func() error {
		defer close(r.feed.enough)
		return r.injectAll(flowCtx, plan)
	})
	if err := flow.Wait(); err != nil {
		return err
	}
	w.say("%d records are published, waiting for the verdicts", sent)
	if err := watcher.await(ctx, sent, w.o.patience); err != nil {
		return err
	}
	if err := r.stopAll(); err != nil {
		return err
	}
	outputs, err := watcher.drain(ctx, w.admin)
	if err != nil {
		return err
	}
	inputs, err := readAll(ctx, w.kafkaAddrs, w.admin, r.topic)
	if err != nil {
		return err
	}
	if len(inputs) < sent {
		return fmt.Errorf("the broker has %d records of %d that it acknowledged", len(inputs), sent)
	}
	r.account(inputs, outputs, d)
	return r.cleanUp(ctx)
}

// prepare creates the topics and starts the processes.
func (r *round) prepare(ctx context.Context) error {
	for _, suffix := range []string{"", "-unique", "-duplicate", "-dead"} {
		if _, err := r.w.admin.CreateTopic(ctx, int32(r.w.o.partitions), -1, nil, r.topic+suffix); err != nil {
			return fmt.Errorf("create topic: %w", err)
		}
	}
	var err error
	if r.feed, err = newFeed(r.w.kafkaAddrs, r.topic); err != nil {
		return err
	}
	for range r.w.o.processes {
		if _, err := r.startProcess(); err != nil {
			return err
		}
	}
	if !r.waitReady(ctx) {
		return errors.New("the service processes are not ready in time, see " + r.dir)
	}
	return nil
}

// waitReady waits until all processes are ready.
func (r *round) waitReady(ctx context.Context) bool {
	return len(r.awaitState(ctx, r.witnesses(), readyTimeout, func(ready bool, _ map[string]bool) bool { return ready })) == 0
}

// awaitState waits until each process that is not excused has the state; it returns those that had not in time.
func (r *round) awaitState(ctx context.Context, procs []witness, limit time.Duration, has func(ready bool, up map[string]bool) bool) []witness {
	end := time.Now().Add(limit)
	for {
		var missing []witness
		for _, p := range procs {
			if p.excused() {
				continue
			}
			if ready, up, err := p.state(ctx); err != nil || !has(ready, up) {
				missing = append(missing, p)
			}
		}
		procs = missing
		if len(procs) == 0 || time.Now().After(end) || pause(ctx, 100*time.Millisecond) != nil {
			return procs
		}
	}
}

// stopAll ends all processes in good order.
func (r *round) stopAll() error {
	var stopping errgroup.Group
	for _, p := range r.alive() {
		stopping.Go(func() error { return p.terminate(r) })
	}
	return stopping.Wait()
}

// end kills what an error has left running.
func (r *round) end() {
	r.mu.Lock()
	left := append([]*process(nil), r.processes...)
	r.mu.Unlock()
	for _, p := range left {
		p.asked.Store(true)
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// cleanUp frees what the next rounds need not carry along.
func (r *round) cleanUp(ctx context.Context) error {
	if len(r.violations) == 0 && !r.w.o.keep {
		_ = os.RemoveAll(r.dir)
		_ = os.Remove(r.w.dir) // if it was the last one
		_ = os.MkdirAll(r.w.dir, 0o755)
	}
	if _, err := r.w.admin.DeleteTopics(ctx, r.topic, r.topic+"-unique", r.topic+"-duplicate", r.topic+"-dead"); err != nil {
		return fmt.Errorf("delete topics: %w", err)
	}
	if !r.w.o.ownRedis() {
		return nil
	}
	if err := r.w.eachMaster(ctx, func(master *redis.Client) error { return master.FlushAll(ctx).Err() }); err != nil {
		return fmt.Errorf("empty Redis: %w", err)
	}
	return nil
}

// account checks every promise against what was published.
func (r *round) account(inputs map[string]*kgo.Record, outputs []*kgo.Record, d *desk) {
	seen, bad := ledger.Account(inputs, outputs)
	bad = append(bad, ledger.Chains(seen)...)
	bad = append(bad, ledger.InOrder(outputs)...)
	relations, lostTexts, texts := relate(inputs, seen, d)
	bad = append(bad, relations...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violations = append(r.violations, bad...)
	r.summary.add(r, len(inputs), len(outputs), texts, lostTexts)
	r.w.say("%d records, %d outputs (%.2f%% redelivered), generation %d, at most %d MiB a process",
		len(inputs), len(outputs), share(len(outputs)-len(inputs), len(outputs)), r.newest, r.peakMemory>>20)
	const show = 5
	shown := map[ledger.Kind]int{}
	for _, v := range r.violations {
		if shown[v.Kind]++; shown[v.Kind] <= show {
			r.w.say("%s %s: %s", r.gravity(v.Kind), v.Kind, v.Text)
		}
	}
	if len(r.violations) > 0 {
		r.w.say("logs of the processes: %s", r.dir)
	}
}

// gravity says whether a violation counts.
func (r *round) gravity(kind ledger.Kind) string {
	if r.destroyed && slices.Contains(forgiven, kind) {
		return "forgiven, since Redis's data was destroyed:"
	}
	return "VIOLATION"
}
