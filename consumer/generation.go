package consumer

import (
	"context"
	"fmt"
	"sync"
	"time"

	"echosieve/internal/crashpoint"

	"github.com/segmentio/kafka-go"
)

// generation serves the partitions that one generation of the group gave us, until ctx (the generation) ends;
// then it lets work under way finish, commits, and returns, all within the drain timeout. kafka-go joins the next generation, or leaves the
// group, only after that. shared is how many partitions we have shared out for it, or negative.
func (c *Consumer) generation(ctx context.Context, gen *kafka.Generation, shared int64) {
	topic := c.cfg.Topics.Input
	assigned := gen.Assignments[topic]
	c.metrics.rebalances.Inc()
	c.metrics.assigned.Set(float64(len(assigned)))
	defer c.metrics.assigned.Set(0)
	c.log.Info("joined generation", "group", c.cfg.Group, "generation", gen.ID, "partitions", len(assigned))

	gen.Start(func(ctx context.Context) { c.watch(ctx, shared) })
	starts, err := c.begin(ctx, assigned)
	if err != nil {
		return // the generation has ended
	}
	c.served = *c.input.id.Load()

	id := c.served
	work, last, stop := overtime(ctx, c.cfg.DrainTimeout)
	defer stop()
	delivery := &atLeastOnce{publisher: c.publisher, cluster: c.cluster, gen: gen, topic: topic, label: func() string { return c.label(id) }}
	partitions := make([]*partition, 0, len(assigned))
	var stages sync.WaitGroup
	for _, at := range starts {
		switch {
		case at.recreated:
			c.metrics.offsetResets.Inc()
			c.log.Warn("the topic was recreated since the group committed, going on at the start of its log: records of the old topic that had no verdict are lost",
				"topic", topic, "partition", at.partition)
		case at.offset < 0:
			c.log.Info("the group has no committed offset, starting at the start of the log", "topic", topic, "partition", at.partition)
		}
		p := newPartition(c, delivery, topic, int32(at.partition), at.offset)
		partitions = append(partitions, p)
		fetched, prepared := make(chan *chunk, 1), make(chan *chunk, 1)
		stages.Go(func() { p.fetch(ctx, at.offset, fetched) })
		stages.Go(func() { p.prepare(work, fetched, prepared) })
		stages.Go(func() { p.publish(work, prepared) })
	}
	drained := make(chan struct{})
	go func() {
		stages.Wait()
		close(drained)
	}()

	c.commitUntil(ctx, work, delivery, partitions)
	c.log.Info("the generation has ended, finishing work under way", "group", c.cfg.Group, "generation", gen.ID)
	select {
	case <-drained:
	case <-work.Done():
		select {
		case <-drained: // only a commit took so long
		default:
			c.log.Warn("work under way did not finish in time, it will be delivered again", "drain_timeout", c.cfg.DrainTimeout)
			<-drained
		}
	}
	c.commit(last, delivery, partitions)

	c.reporter.forget(opFetch)
	c.reporter.forget(opPublish)
	c.reporter.forget(opCommit)
	for _, p := range partitions {
		c.metrics.lag.DeleteLabelValues(p.name)
	}
	c.log.Info("left generation", "group", c.cfg.Group, "generation", gen.ID)
}

// overtime returns the contexts of what outlives a generation: of the work under way, which includes a commit that hangs, and of
// the last commit. Nobody sends heartbeats then, so there is one budget for all of it. It begins when the generation ends; a
// quarter is kept for the last commit.
func overtime(generation context.Context, budget time.Duration) (work, last context.Context, stop func()) {
	work, abort := context.WithCancel(context.WithoutCancel(generation))
	last, cancel := context.WithCancel(context.WithoutCancel(generation))
	context.AfterFunc(generation, func() {
		time.AfterFunc(budget-budget/4, abort)
		time.AfterFunc(budget, cancel)
	})
	return work, last, func() { abort(); cancel() }
}

// commitUntil commits what is marked every commit interval, until ctx ends. A commit under way may take until work ends, so that
// it is not sent again while the broker perhaps still holds it.
func (c *Consumer) commitUntil(ctx, work context.Context, d delivery, partitions []*partition) {
	ticker := time.NewTicker(c.cfg.CommitInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.commit(work, d, partitions)
		case <-ctx.Done():
			return
		}
	}
}

// commit commits the marks that have moved. After an error they count as not committed.
func (c *Consumer) commit(ctx context.Context, d delivery, partitions []*partition) {
	offsets := make(map[int]int64)
	for _, p := range partitions {
		if next := p.marked.Load(); next >= 0 && next != p.committed {
			offsets[int(p.id)] = next
		}
	}
	if len(offsets) == 0 {
		return
	}
	crashpoint.Here(crashpoint.BeforeCommit)
	if err := d.commit(ctx, offsets); err != nil {
		c.metrics.commits.WithLabelValues("error").Inc()
		c.reporter.failed(opCommit, c.cfg.Group, fmt.Errorf("consumer: commit: %w", err))
		return
	}
	crashpoint.Here(crashpoint.AfterCommit)
	c.metrics.commits.WithLabelValues("ok").Inc()
	c.reporter.ok(opCommit, c.cfg.Group)
	for _, p := range partitions {
		if next, ok := offsets[int(p.id)]; ok {
			p.committed = next
		}
	}
}
