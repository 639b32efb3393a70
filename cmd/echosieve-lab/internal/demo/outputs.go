package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/consumer/broker"
	"echosieve/pipeline"
	"echosieve/pipeline/record"
)

// outputs reads the output topics as any consumer would, and returns their records in the order in which the
// verdicts fell: that of the input topic, which has one partition. A fetch returns the records of one topic
// after those of another. Not for concurrent use.
type outputs struct {
	client  *kgo.Client
	next    int64 // offset in the input topic of the next record
	waiting map[int64]*record.Record
}

func newOutputs(cfg broker.Config) (*outputs, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(cfg.Brokers...),
		kgo.ConsumeTopics(cfg.Topics.Unique, cfg.Topics.Duplicate, cfg.Topics.Dead),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100*time.Millisecond),
	)
	if err != nil {
		return nil, fmt.Errorf("demo: reading the verdicts: %w", err)
	}
	return &outputs{client: client, waiting: map[int64]*record.Record{}}, nil
}

func (o *outputs) close() { o.client.Close() }

// each calls show for the next n records. It returns an error if ctx ends before.
func (o *outputs) each(ctx context.Context, n int, show func(*record.Record)) error {
	for shown := 0; ; {
		for ; shown < n && o.waiting[o.next] != nil; shown++ {
			show(o.waiting[o.next])
			delete(o.waiting, o.next)
			o.next++
		}
		if shown == n {
			return nil
		}
		fetches := o.client.PollFetches(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("demo: %d of %d verdicts arrived: %w", shown, n, ctx.Err())
		}
		for _, r := range fetches.Records() {
			out := &record.Record{Value: r.Value, Time: r.Timestamp}
			for _, h := range r.Headers {
				out.Headers = append(out.Headers, record.Header{Key: h.Key, Value: h.Value})
			}
			from, err := pipeline.InputOf(out.Headers)
			if err != nil {
				return fmt.Errorf("demo: a record of %s: %w", r.Topic, err)
			}
			if from.Offset >= o.next { // else it was delivered and shown before
				o.waiting[from.Offset] = out
			}
		}
	}
}
