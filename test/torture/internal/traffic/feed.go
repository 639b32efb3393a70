// Package traffic publishes the articles of a round and reads what the service makes of them.
package traffic

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/stories"
	"echosieve/test/articles"
)

// Feed publishes articles at a steady rate.
type Feed struct {
	clients      []*kgo.Client // one for each compression, used in turn
	topics       []string      // used in turn
	acknowledged atomic.Int64
	failed       atomic.Pointer[error]
	enough       chan struct{}
}

// codecs are all compressions of Kafka, by their numbers in a record batch.
var codecs = []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(),
	kgo.Lz4Compression(), kgo.ZstdCompression()}

// NewFeed returns a feed for topics.
func NewFeed(addrs, topics []string) (*Feed, error) {
	f := &Feed{topics: topics, enough: make(chan struct{})}
	for _, codec := range codecs {
		client, err := newPublisher(addrs, kgo.ProducerBatchCompression(codec))
		if err != nil {
			return nil, err
		}
		f.clients = append(f.clients, client)
	}
	return f, nil
}

func newPublisher(addrs []string, opts ...kgo.Opt) (*kgo.Client, error) {
	// Metadata is refreshed often, so that new partitions are used soon. Each copy has a key of its own:
	// original and copy may lie in different partitions. Faults cut connections as soon as they open; without
	// AlwaysRetryEOF the client calls that a wrong configuration.
	return kgo.NewClient(append(opts, kgo.SeedBrokers(addrs...),
		kgo.ProducerBatchMaxBytes(articles.MaxMessageBytes),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.MetadataMinAge(250*time.Millisecond),
		kgo.MetadataMaxAge(2*time.Second), kgo.AlwaysRetryEOF())...)
}

// Acknowledged returns the number of records that the broker has acknowledged.
func (f *Feed) Acknowledged() int64 { return f.acknowledged.Load() }

// Enough tells the feed and the transactions of a round to stop: all faults are over. It may be called once.
func (f *Feed) Enough() { close(f.enough) }

// Run publishes rate records a second, until at least so many records are sent and Enough is called. It returns
// the number of records sent; the broker has acknowledged all of them.
func (f *Feed) Run(ctx context.Context, written *articles.Writer, rate, records int) (int, error) {
	defer func() {
		for _, c := range f.clients {
			c.Close()
		}
	}()
	const tick = 20 * time.Millisecond
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	sent, due := 0, 0.0
	for last := time.Now(); ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return sent, ctx.Err()
		}
		// After a longer pause (the broker was away) the feed sends only one second's worth of the missed
		// records at once.
		due += float64(rate) * min(time.Since(last), time.Second).Seconds()
		last = time.Now()
		for due >= 1 {
			if sent >= records && f.isEnough() {
				return sent, f.flush(ctx)
			}
			for _, r := range written.Write() {
				r.Topic = f.topics[sent%len(f.topics)]
				f.clients[sent%len(f.clients)].Produce(ctx, r, f.answered)
				sent++
				due--
			}
		}
	}
}

func (f *Feed) answered(_ *kgo.Record, err error) {
	if err != nil {
		f.failed.Store(&err)
		return
	}
	f.acknowledged.Add(1)
}

func (f *Feed) isEnough() bool {
	select {
	case <-f.enough:
		return true
	default:
		return false
	}
}

func (f *Feed) flush(ctx context.Context) error {
	for _, c := range f.clients {
		if err := c.Flush(ctx); err != nil {
			return err
		}
	}
	if err := f.failed.Load(); err != nil {
		return fmt.Errorf("publish articles: %w", *err)
	}
	return nil
}

const (
	labelPause = 100 * time.Millisecond
	labelled   = 50 // the first offsets of each partition that get labels
)

// Label publishes labels for the first records of an input topic into the topic of labels, until the feed has enough.
// Most of these records are roots. A label for another one, or for the marker of a transaction, shows nowhere.
func (f *Feed) Label(ctx context.Context, addrs []string, topic, input string, partitions int) error {
	client, err := newPublisher(addrs, kgo.DefaultProduceTopic(topic))
	if err != nil {
		return err
	}
	defer client.Close()
	pause := time.NewTicker(labelPause)
	defer pause.Stop()
	for i := 0; !f.isEnough(); i++ {
		value := fmt.Appendf(nil, `{"root":"%s/%d/%d","label":%q,"text":"label %d"}`, input, i%partitions,
			i/partitions%labelled, stories.Labels[i%len(stories.Labels)], i)
		if err := client.ProduceSync(ctx, &kgo.Record{Value: value}).FirstErr(); err != nil {
			return fmt.Errorf("publish labels: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
	}
	return nil
}
