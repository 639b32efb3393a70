package consumer

import (
	"context"
	"errors"
	"sync"

	"echosieve/internal/crashpoint"
	"echosieve/pipeline"

	"github.com/segmentio/kafka-go"
)

// delivery is how outputs and offsets become durable in one generation. A transactional delivery would do both in
// one step; this one publishes, then commits.
type delivery interface {
	// deliver returns nil when every output of the batch, read from input partition source, is acknowledged. It
	// tries until ctx ends and keeps the order of calls for one source. Safe for concurrent use by sources.
	deliver(ctx context.Context, source int32, outputs []pipeline.Output) error
	// commit stores the next offsets to read, by partition, and gives up when ctx ends. After an error nothing is known to be stored.
	commit(ctx context.Context, offsets map[int]int64) error
}

// atLeastOnce publishes first and commits later: after a crash in between, outputs are published again.
type atLeastOnce struct {
	publisher *publisher
	cluster   *cluster
	gen       *kafka.Generation
	topic     string
	label     func() string // committed beside the offsets
}

var _ delivery = (*atLeastOnce)(nil)

func (d *atLeastOnce) commit(ctx context.Context, offsets map[int]int64) error {
	return d.cluster.commit(ctx, d.gen, d.topic, d.label(), offsets)
}

// deliver publishes to the topics in parallel.
func (d *atLeastOnce) deliver(ctx context.Context, source int32, outputs []pipeline.Output) error {
	var records [pipeline.Destinations][]outRecord
	for i := range outputs {
		o := &outputs[i]
		rec := outRecord{key: o.Record.Key, value: o.Record.Value, headers: o.Headers, time: o.Record.Time}
		if o.OmitValue {
			rec.value = nil
		}
		if o.OmitKey {
			rec.key = nil
		}
		to := d.publisher.home(o.Destination)
		records[to] = append(records[to], rec)
	}
	var errs [pipeline.Destinations]error
	var wait sync.WaitGroup
	for to := range records {
		if len(records[to]) > 0 {
			wait.Go(func() {
				errs[to] = d.publisher.publish(ctx, pipeline.Destination(to), source, records[to])
				crashpoint.Here(crashpoint.BetweenSends)
			})
		}
	}
	wait.Wait()
	return errors.Join(errs[:]...)
}
