package consumer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/delivery"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/crashpoint"
	"echosieve/internal/stopping"

	"github.com/segmentio/kafka-go"
)

// generations serves one generation of the consumer group after another.
type generations struct {
	*work
	inputs *inputs
	labels *labels
}

// serve consumes the assigned partitions until ctx, the group generation, ends. Then it lets work under way
// finish, commits and returns, all within the drain timeout, and sooner if the process ends and the servers that
// the work needs are away (package stopping). Only after that kafka-go joins the next group generation or leaves
// the group.
func (s *generations) serve(ctx, process context.Context, gen *kafka.Generation, starts []startPosition) {
	g := &groupGeneration{
		generations: s, gen: gen, ids: map[string]wire.TopicID{}, partitions: map[wire.TopicPartition]*servedPartition{},
	}
	for _, input := range s.inputs.topics {
		input.lastServed = *input.id.Load()
		g.ids[input.name] = input.lastServed
	}
	leaving, end := context.WithCancel(ctx)
	defer end()
	g.end = end
	gen.Start(func(context.Context) { <-leaving.Done() }) // when it returns, kafka-go ends the group generation
	work, last, stop := drainContexts(ctx, s.cfg.DrainTimeout)
	defer stop()
	drained := g.start(ctx, stopping.With(work, process), starts)
	g.commitUntil(ctx, work)
	s.log.Info("the group generation has ended, finishing work under way", "group", s.cfg.Group, "generation", gen.ID)
	select {
	case <-drained:
	case <-work.Done(): // the stages return soon
		select {
		case <-drained: // the stages had returned; only a commit took until work ended
		default:
			s.log.Warn("work under way did not finish in time, its records will be delivered again", "timeout",
				s.cfg.DrainTimeout)
			<-drained
		}
	}
	g.commit(last)

	s.reporter.LeftGeneration(s.cfg.Group)
	for _, p := range g.partitions {
		s.metrics.Lag.DeleteLabelValues(p.Topic, p.name)
	}
	s.log.Info("left group generation", "group", s.cfg.Group, "generation", gen.ID)
}

// groupGeneration is this member's part in one generation of the consumer group: the partitions that the
// group has assigned to it.
type groupGeneration struct {
	*generations
	gen *kafka.Generation
	ids map[string]wire.TopicID // of the input topics, committed beside the offsets

	mu         sync.Mutex // held during a commit: no partition is taken over again meanwhile
	partitions map[wire.TopicPartition]*servedPartition
	end        context.CancelFunc // ends the group generation for this member
}

// start serves each partition in goroutines of its own. They end soon after ctx, at the latest with work.
// drained is closed when all have returned.
func (g *groupGeneration) start(ctx, work context.Context, starts []startPosition) (drained <-chan struct{}) {
	var partitions sync.WaitGroup
	for _, at := range starts {
		switch {
		case at.recreated:
			g.metrics.OffsetResets.Inc()
			g.log.Warn("the topic was recreated since the group committed, reading from the start of its log: "+
				"records of the old topic without a verdict are lost",
				"topic", at.Topic, "partition", at.Partition)
		case at.offset < 0:
			g.log.Info("the group has no committed offset, starting at the start of the log", "topic",
				at.Topic, "partition", at.Partition)
		}
		partitions.Go(func() { g.serve(ctx, work, at) })
	}
	done := make(chan struct{})
	go func() {
		partitions.Wait()
		close(done)
	}()
	return done
}

// serve serves one partition until ctx ends. It begins with a take-over, and so it does again whenever a
// leader no longer knows this process as a producer.
func (g *groupGeneration) serve(ctx, work context.Context, at startPosition) {
	for ctx.Err() == nil {
		p, err := g.open(ctx, at)
		if err == nil {
			err = p.run(ctx, work)
		}
		switch {
		case errors.Is(err, delivery.ErrTakenOver):
			g.metrics.Takeovers.WithLabelValues(broker.OutcomeLost).Inc()
			g.log.Warn("another process has taken the partition over, joining the group again", "topic",
				at.Topic, "partition", at.Partition)
			g.end()
			return
		case !errors.Is(err, delivery.ErrStandingLost):
			return
		}
		g.log.Warn("the output partitions no longer know this producer, taking the partition over again", "topic",
			at.Topic, "partition", at.Partition, "err", err)
	}
}

// open returns the partition, ready to run. With exactly once it takes the partition over. An error is ctx's
// or delivery.ErrTakenOver.
func (g *groupGeneration) open(ctx context.Context, at startPosition) (*servedPartition, error) {
	g.drop(at)
	owner, err := g.delivery.Own(ctx, delivery.Input{
		TopicPartition: at.TopicPartition, TopicID: g.ids[at.Topic], Committed: at.offset, Store: g.store,
	})
	if err != nil {
		return nil, err
	}
	p := newServedPartition(g.work, at, owner)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.partitions[at.TopicPartition] = p
	return p, nil
}

// drop makes sure that nothing is committed any more for the partition until it is open again.
func (g *groupGeneration) drop(at startPosition) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.partitions, at.TopicPartition)
}

// drainContexts returns two contexts that outlive a group generation: work, for records under way and a
// commit that hangs, and last, for the last commit. This member sends no heartbeats after the group
// generation, so both together and the request that leaves the group have one budget, which begins when the group
// generation ends. work ends after five eighths of the budget, last after seven. For example, with a drain timeout of
// 10 s the last commit has at least 2.5 s.
func drainContexts(generation context.Context, budget time.Duration) (work, last context.Context, stop func()) {
	work, abort := context.WithCancel(context.WithoutCancel(generation))
	last, cancel := context.WithCancel(context.WithoutCancel(generation))
	context.AfterFunc(generation, func() {
		time.AfterFunc(budget*5/8, abort)
		time.AfterFunc(budget*7/8, cancel)
	})
	return work, last, func() { abort(); cancel() }
}

// commitUntil commits every commit interval, until ctx ends. A commit under way may last until work
// ends: if it were sent again while the broker still holds the first request, the two could be stored in the
// wrong order.
func (g *groupGeneration) commitUntil(ctx, work context.Context) {
	for stopping.Wait(ctx, g.cfg.CommitInterval) == nil {
		g.commit(work)
	}
}

// commit commits what has moved, and gives up when ctx ends. After an error it counts as not committed.
func (g *groupGeneration) commit(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	moved, commits := g.moved()
	if len(commits) == 0 {
		return
	}
	crashpoint.Here(crashpoint.BeforeCommit)
	if err := g.store(ctx, commits...); err != nil {
		g.metrics.Commits.WithLabelValues("error").Inc()
		g.reporter.Failed(broker.OpCommit, g.cfg.Group, fmt.Errorf("consumer: commit: %w", err))
		return
	}
	crashpoint.Here(crashpoint.AfterCommit)
	g.metrics.Commits.WithLabelValues("ok").Inc()
	g.reporter.OK(broker.OpCommit, g.cfg.Group)
	for p, m := range moved {
		p.committed = m
	}
}

// moved returns what is committable and not committed yet, by partition and as a list.
func (g *groupGeneration) moved() (moved map[*servedPartition]*broker.Commit, commits []broker.Commit) {
	moved = map[*servedPartition]*broker.Commit{}
	for _, p := range g.partitions {
		if m := p.committable.Load(); m.Next >= 0 && m != p.committed {
			moved[p], commits = m, append(commits, *m)
		}
	}
	return moved, commits
}

// store commits with the label of the index.
func (g *groupGeneration) store(ctx context.Context, commits ...broker.Commit) error {
	if g.labels.Labels != nil {
		index := g.labels.Label()
		for i := range commits {
			commits[i].Index = index
		}
	}
	return g.group.Commit(ctx, g.gen, g.ids, commits...)
}
