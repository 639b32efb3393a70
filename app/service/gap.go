package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"echosieve/app/config"
	"echosieve/app/visible"
	"echosieve/consumer/tools"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/redisindex/admin"
	"echosieve/redisindex/watch"
)

// gapFiller stores what other indexes have decided since this one was filled, with new verdicts, as index refill
// --from input does. Nothing is published. The verdicts are the index's, so it does not matter if several processes
// fill the same gap, or if one is killed at it.
type gapFiller struct {
	cfg      config.Config
	handover *watch.Handover
	marks    *admin.Tools
	pipeline *pipeline.Pipeline
	log      *slog.Logger
}

const (
	gapPartitions = 4   // filled at a time
	gapRecords    = 256 // decided together
	gapBytes      = 4 << 20
	gapInterval   = 2 * time.Second // between two words on how far it is
)

// fill implements consumer.Labels.CatchUp.
func (g *gapFiller) fill(ctx context.Context, committed map[article.Coordinates]string, say func(string)) (
	lacked bool, err error,
) {
	gaps, err := g.handover.Gaps(ctx, committed)
	if err != nil || len(gaps) == 0 {
		return false, errors.Join(err, g.handover.HandOver(ctx, committed))
	}
	archive, err := tools.NewArchive(g.cfg.Kafka, g.cfg.Kafka.Topics.Inputs...)
	if err != nil {
		return true, err
	}
	defer archive.Close()
	total, began := int64(0), time.Now()
	var done atomic.Int64
	for i := range gaps {
		from := &gaps[i].From
		oldest, err := archive.OffsetAt(ctx, from.Topic, from.Partition, time.Now().Add(-g.cfg.Window))
		if err != nil {
			return true, err
		}
		from.Offset = max(from.Offset, min(oldest, gaps[i].To))
		total += gaps[i].To - from.Offset
	}
	report := func() {
		say(fmt.Sprintf("another index has decided since this one was filled: %d of %s stored", done.Load(),
			visible.Count(total, "record")))
	}
	report()
	ticks, stop := context.WithCancel(ctx)
	defer stop()
	var reporting sync.WaitGroup
	reporting.Go(func() { every(ticks, gapInterval, report) })
	defer reporting.Wait()
	defer stop()
	filling, within := errgroup.WithContext(ctx)
	filling.SetLimit(gapPartitions)
	for _, gap := range gaps {
		filling.Go(func() error { return g.fillPartition(within, archive, gap, &done) })
	}
	if err := filling.Wait(); err != nil {
		return true, err
	}
	for _, gap := range gaps { // of processes that write at once, one may overwrite what the other wrote
		end := gap.From
		end.Offset = gap.To
		if err := g.handover.Filled(ctx, end); err != nil {
			return true, err
		}
	}
	g.log.Info("this index has what another one had decided", "records", total, "took", time.Since(began).Round(time.Millisecond))
	return true, nil
}

// every calls f at an interval until ctx ends.
func every(ctx context.Context, interval time.Duration, f func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f()
		case <-ctx.Done():
			return
		}
	}
}

// fillPartition fills the gap of a partition. done counts records.
func (g *gapFiller) fillPartition(ctx context.Context, archive *tools.Archive, gap watch.Gap, done *atomic.Int64) error {
	var records []record.Record
	bytes := 0
	flush := func() error {
		err := g.decide(ctx, records)
		done.Add(int64(len(records)))
		records, bytes = nil, 0
		return err
	}
	err := archive.Read(ctx, gap.From, gap.To, func(r *record.Record) error {
		records, bytes = append(records, *r), bytes+r.Size()
		if len(records) < gapRecords && bytes < gapBytes {
			return nil
		}
		next := gap.From
		next.Offset = r.Offset + 1
		return errors.Join(flush(), g.handover.Filled(ctx, next))
	})
	return errors.Join(err, flush())
}

// decide stores articles. What index forget has forgotten stays away: its record is below the committed offset, so it
// is not delivered again.
func (g *gapFiller) decide(ctx context.Context, records []record.Record) error {
	prepared, err := g.pipeline.Prepare(ctx, records)
	if err != nil {
		return err
	}
	some, err := g.marks.AnyForgotten(ctx)
	if err != nil {
		return err
	}
	if some {
		if records, err = g.remembered(ctx, records, prepared); err != nil {
			return err
		}
		if prepared, err = g.pipeline.Prepare(ctx, records); err != nil {
			return err
		}
	}
	_, err = g.pipeline.Decide(ctx, prepared)
	return err
}

// remembered returns the records whose articles were not forgotten.
func (g *gapFiller) remembered(ctx context.Context, records []record.Record, prepared *pipeline.Batch) (
	kept []record.Record, err error,
) {
	for i := range records {
		a, _ := prepared.Article(i)
		if a == nil {
			continue // a dead letter: there is nothing to store
		}
		forgotten, err := g.marks.AreForgotten(ctx, []article.Ref{a.Ref()})
		if err != nil {
			return nil, err
		}
		if !forgotten[0] {
			kept = append(kept, records[i])
		}
	}
	return kept, nil
}
