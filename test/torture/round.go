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

	"echosieve/pipeline"
	"echosieve/test/articles"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/torture/internal/rig"
	"echosieve/test/torture/internal/traffic"
)

// round is one run of articles, faults and accounting.
type round struct {
	*rig.Round
	o    *options
	plan plan
}

// runRound makes one round: it starts the processes, publishes and injects, waits for the verdicts, and
// accounts for them.
func runRound(g *rig.Rig, o *options, number int, seed uint64, s *rig.Summary) error {
	r := &round{o: o, plan: o.plan(seed), Round: &rig.Round{Summary: s, Fleet: rig.Fleet{
		Rig: g, Names: rig.Names{Topic: fmt.Sprintf("torture-%d-%d", time.Now().UnixNano(), number)},
		Dir: filepath.Join(g.Dir, fmt.Sprintf("round-%d-seed-%d", number, seed)),
	}}}
	r.Say("round %d, seed %d", number, seed)
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return err
	}
	ctx := g.Host.Context()
	defer r.Close()
	if err := r.prepare(ctx); err != nil {
		return err
	}
	watching, stopWatching := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	watchers.Go(func() { r.Watcher.Run(watching) })
	watchers.Go(func() { r.WatchSkipped(watching) })
	defer watchers.Wait()
	defer stopWatching()

	written := g.NewWriter(seed, "a", true)
	if r.Stories {
		written.Famous, written.MaxFamily = 40, 39
	}
	sent, x, err := r.publish(ctx, written)
	if err != nil {
		return err
	}
	r.Say("%d records are published; waiting for their verdicts", sent)
	inputs, outputs, err := r.collect(ctx, sent)
	if err != nil {
		return err
	}
	maps.Copy(written.Facts, x.Written.Facts)
	maps.Copy(written.Reasons, x.Written.Reasons)
	checked := rig.Census{rig.AbortedRecords: x.Aborted, rig.CommittedRecords: x.Committed}
	clean := r.account(inputs, outputs, written, checked)
	return r.cleanUp(ctx, clean)
}

// prepare creates the topics and starts the processes.
func (r *round) prepare(ctx context.Context) error {
	out := r.Topics()
	kafkaserver.CreateTopics(r.Host, r.KafkaClient, int32(r.Partitions), nil,
		append(r.Inputs(), out.Unique, out.Duplicate, out.Dead)...)
	kafkaserver.CreateTopics(r.Host, r.KafkaClient, 1, kafkaserver.Learnt(), r.Inputs()[0]+"-learnt")
	var err error
	if r.Feed, err = traffic.NewFeed(r.KafkaAddrs, r.Inputs()); err != nil {
		return err
	}
	if r.Watcher, err = traffic.NewWatcher(r.KafkaAddrs, out.Unique, out.Duplicate, out.Dead); err != nil {
		return err
	}
	if r.Stories {
		kafkaserver.CreateTopics(r.Host, r.KafkaClient, 1, nil, r.LabelsTopic())
		if err := r.StartService(); err != nil {
			return err
		}
	}
	for range r.Processes {
		if _, err := r.Start(); err != nil {
			return err
		}
	}
	if !r.WaitReady(ctx) {
		return errors.New("the service processes did not become ready, see " + r.Dir)
	}
	return nil
}

// publish injects the faults while articles are published. It returns the number of published records,
// without those of aborted transactions.
func (r *round) publish(ctx context.Context, written *articles.Writer) (sent int, x *traffic.Transactions, err error) {
	flow, ctx := errgroup.WithContext(ctx)
	flow.Go(func() (err error) {
		sent, err = r.Feed.Run(ctx, written, r.plan.rate, r.plan.records)
		return err
	})
	// The complement of the seed gives other articles.
	inTransactions := r.NewWriter(^r.plan.seed, "t", true)
	if x, err = traffic.NewTransactions(r.KafkaAddrs, r.Inputs(), r.Admin, &r.BreakingKafka,
		inTransactions); err != nil {
		return 0, nil, err
	}
	flow.Go(func() error { return x.Run(ctx, r.Feed) })
	if r.Stories {
		flow.Go(func() error {
			return r.Feed.Label(ctx, r.KafkaAddrs, r.LabelsTopic(), r.Inputs()[0], r.Partitions)
		})
	}
	flow.Go(func() error {
		defer r.Feed.Enough()
		return r.injectAll(ctx, r.plan)
	})
	if err := flow.Wait(); err != nil {
		return 0, nil, err
	}
	sent += x.Committed
	r.Released.Range(func(any, any) bool { sent++; return true })
	return sent, x, nil
}

// collect waits for the verdicts, ends the processes, and returns everything that the input topics and the
// output topics hold.
func (r *round) collect(ctx context.Context, sent int) (inputs map[string]*kgo.Record, outputs []*kgo.Record,
	err error) {
	if err := r.Watcher.Await(ctx, sent, r.o.patience); err != nil {
		return nil, nil, err
	}
	if r.Stories {
		if err := r.accountStories(ctx); err != nil {
			return nil, nil, err
		}
	}
	if err := r.TerminateAll(); err != nil {
		return nil, nil, err
	}
	if outputs, err = r.outputs(ctx, kgo.ReadUncommitted()); err != nil {
		return nil, nil, err
	}
	if err := r.compareIsolation(ctx, outputs); err != nil {
		return nil, nil, err
	}
	if inputs, err = r.inputs(ctx); err != nil {
		return nil, nil, err
	}
	if len(inputs) < sent {
		return nil, nil, fmt.Errorf("the broker acknowledged %d records and has %d of them", sent, len(inputs))
	}
	return inputs, outputs, nil
}

// outputs returns what the output topics hold.
func (r *round) outputs(ctx context.Context, isolation kgo.IsolationLevel) ([]*kgo.Record, error) {
	out := r.Topics()
	return kafkaserver.ReadAll(ctx, r.KafkaAddrs, []string{out.Unique, out.Duplicate, out.Dead},
		kgo.FetchIsolationLevel(isolation))
}

// inputs returns the records of the input topics, without those of aborted transactions. The records that the broker
// has are the input of a round, not those that the publisher believes to have published.
func (r *round) inputs(ctx context.Context) (map[string]*kgo.Record, error) {
	records, err := kafkaserver.ReadAll(ctx, r.KafkaAddrs, r.Inputs(), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	return ledger.ByCoordinates(records), err
}

// unequal says that readers of committed records see other outputs than readers of uncommitted ones.
const unequal ledger.Kind = "isolation"

// compareIsolation reads the output topics once more, as a reader of committed records. outputs are what a
// reader of uncommitted records sees.
func (r *round) compareIsolation(ctx context.Context, outputs []*kgo.Record) error {
	committed, err := r.outputs(ctx, kgo.ReadCommitted())
	if err != nil {
		return err
	}
	seen := ledger.ByCoordinates(outputs)
	for at := range ledger.ByCoordinates(committed) {
		if seen[at] == nil {
			r.Violate(unequal, "%s is committed, and nobody saw it before", at)
		}
		delete(seen, at)
	}
	for at := range seen {
		r.Violate(unequal, "%s is not committed", at)
	}
	return nil
}

// account checks every promise. It returns true if there was no violation.
func (r *round) account(inputs map[string]*kgo.Record, outputs []*kgo.Record, written *articles.Writer,
	checked rig.Census) bool {
	found := articles.Judge(ledger.Run{
		Inputs: inputs, Outputs: outputs, Partitions: int32(r.Partitions), Topics: r.Topics(),
	}, written)
	if r.Old != "" { // another recipe may have called the root a copy, see docs/recipe-change.md
		found.Violations = slices.DeleteFunc(found.Violations,
			func(v ledger.Violation) bool { return v.Kind == ledger.WrongRoot })
	}
	checked.Count(inputs, found)
	if skipped := r.Skipped(); !r.Stories && (skipped > 0 || r.plan.ends() > 2) {
		checked[rig.Skipped] = skipped
	}
	bad := append(r.Violations(), found.Violations...)
	r.Summary.Add(len(inputs), found.Texts, checked, bad)
	without := 0 // outputs of articles without a learnt sentence
	for _, o := range outputs {
		if slices.ContainsFunc(o.Headers, func(h kgo.RecordHeader) bool { return h.Key == pipeline.HeaderLeftOut }) {
			without++
		}
	}
	r.Say("%d records, %d outputs, group generation %d; of %d, learnt sentences were left out", len(inputs), len(outputs),
		r.Generation(), without)
	const show = 5 // of each kind
	shown := map[ledger.Kind]int{}
	for _, v := range bad {
		if shown[v.Kind]++; shown[v.Kind] > show {
			continue
		}
		r.Say("VIOLATION %s: %s", v.Kind, v.Text)
	}
	if len(bad) > 0 {
		r.Say("logs of the processes: %s", r.Dir)
	}
	return len(bad) == 0
}

// cleanUp deletes the logs of a round without violations, and the data in Redis, which the next rounds do not need.
func (r *round) cleanUp(ctx context.Context, clean bool) error {
	if clean {
		_ = os.RemoveAll(r.Dir)
	}
	if err := r.EachMaster(ctx, func(master *redis.Client) error { return master.FlushAll(ctx).Err() }); err != nil {
		return fmt.Errorf("empty Redis: %w", err)
	}
	return nil
}
