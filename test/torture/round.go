package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
)

const (
	window         = 168 * time.Hour
	sessionTimeout = 6 * time.Second
	stopTimeout    = 2 * time.Minute
	readyTimeout   = 3 * time.Minute
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
	kafka   sync.Mutex // held by a fault of Kafka, or by a transaction

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
	d := newDesk(seed, "a", w.recipe, !plan.fixed)
	sent, x, err := r.publish(ctx, plan, d)
	if err != nil {
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
	var checked census
	if !plan.fixed {
		maps.Copy(d.facts, x.desk.facts)
		maps.Copy(d.reasons, x.desk.reasons)
		checked = census{abortedRecords: x.aborted, committedRecords: x.committed}
	}
	r.account(inputs, outputs, d, checked)
	return r.cleanUp(ctx)
}

// publish makes the faults happen while articles flow. It returns how many records were published, those of aborted
// transactions not counted. A fixed plan has no transactions.
func (r *round) publish(ctx context.Context, plan plan, d *desk) (sent int, x *transactions, err error) {
	flow, ctx := errgroup.WithContext(ctx)
	flow.Go(func() (err error) {
		sent, err = r.feed.run(ctx, d, plan.rate, plan.records, plan.fixed)
		return err
	})
	if !plan.fixed {
		if x, err = newTransactions(r.w.kafkaAddrs, r.topic, newDesk(^plan.seed, "t", r.w.recipe, true)); err != nil {
			return 0, nil, err
		}
		flow.Go(func() error { return x.run(ctx, r, r.feed.enough) })
	}
	flow.Go(func() error {
		defer close(r.feed.enough)
		return r.injectAll(ctx, plan)
	})
	if err := flow.Wait(); err != nil {
		return 0, nil, err
	}
	if x != nil {
		sent += x.committed
	}
	return sent, x, nil
}

// prepare creates the topics and starts the processes.
func (r *round) prepare(ctx context.Context) error {
	kafkaserver.CreateTopics(r.w.host, r.w.kafkaClient, int32(r.w.o.partitions), nil, r.topic, r.topic+"-unique", r.topic+"-duplicate", r.topic+"-dead")
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
func (r *round) account(inputs map[string]*kgo.Record, outputs []*kgo.Record, d *desk, checked census) {
	found := judge(ledger.Run{
		Inputs: inputs, Outputs: outputs, Partitions: int32(r.w.o.partitions),
		Topics: ledger.Topics{Unique: r.topic + "-unique", Duplicate: r.topic + "-duplicate", Dead: r.topic + "-dead"},
	}, d)
	if checked != nil {
		checked.count(inputs, found)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violations = append(r.violations, found.violations...)
	r.summary.add(r, len(inputs), len(outputs), found.texts, checked)
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
