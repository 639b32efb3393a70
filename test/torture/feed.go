package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/ledger"
)

// feed publishes articles at a steady rate.
type feed struct {
	clients      []*kgo.Client // one for each codec, used in turn
	acknowledged atomic.Int64
	failed       atomic.Pointer[error]
	enough       chan struct{} // closed when the last fault is over
}

// codecs are the compressions of the records, by their numbers in a batch.
var codecs = []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}

func newFeed(addrs []string, topic string) (*feed, error) {
	f := &feed{enough: make(chan struct{})}
	for _, codec := range codecs {
		client, err := newPublisher(addrs, topic, kgo.ProducerBatchCompression(codec))
		if err != nil {
			return nil, err
		}
		f.clients = append(f.clients, client)
	}
	return f, nil
}

func newPublisher(addrs []string, topic string, opts ...kgo.Opt) (*kgo.Client, error) {
	// Metadata is refreshed often, so that new partitions are used soon. Copies have keys of their own and hence
	// lie anywhere.
	return kgo.NewClient(append(opts, kgo.SeedBrokers(addrs...), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchMaxBytes(maxMessageBytes),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.MetadataMinAge(250*time.Millisecond), kgo.MetadataMaxAge(2*time.Second))...)
}

// run publishes until at least so many records are sent and, unless fixed, the feed is told that it is enough.
// It returns how many were sent; all of them are acknowledged.
func (f *feed) run(ctx context.Context, d *desk, rate, records int, fixed bool) (int, error) {
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
		// After a pause (the broker was away) it does not make up for all that was missed.
		due += float64(rate) * min(time.Since(last), time.Second).Seconds()
		last = time.Now()
		for due >= 1 {
			if sent >= records && (fixed || f.isEnough()) {
				return sent, f.flush(ctx)
			}
			for _, r := range d.write() {
				f.clients[sent%len(f.clients)].Produce(ctx, r, f.answered)
				sent++
				due--
			}
		}
	}
}

func (f *feed) answered(_ *kgo.Record, err error) {
	if err != nil {
		f.failed.Store(&err)
		return
	}
	f.acknowledged.Add(1)
}

func (f *feed) isEnough() bool {
	select {
	case <-f.enough:
		return true
	default:
		return false
	}
}

func (f *feed) flush(ctx context.Context) error {
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

// watcher reads the output topics.
type watcher struct {
	client *kgo.Client
	topics []string

	mu       sync.Mutex
	outputs  []*kgo.Record
	sources  map[string]bool
	position map[string]map[int32]int64 // next offset by topic and partition
	changed  time.Time                  // when a new source was seen last
}

func newWatcher(addrs []string, topic string) (*watcher, error) {
	w := &watcher{
		topics:  []string{topic + "-unique", topic + "-duplicate", topic + "-dead"},
		sources: map[string]bool{}, position: map[string]map[int32]int64{}, changed: time.Now(),
	}
	for _, t := range w.topics {
		w.position[t] = map[int32]int64{}
	}
	var err error
	// Metadata is refreshed often: a broker that is cut off from the others, but not from us, believes to lead and answers
	// without an error.
	w.client, err = kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ConsumeTopics(w.topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(200*time.Millisecond),
		kgo.MetadataMinAge(250*time.Millisecond), kgo.MetadataMaxAge(2*time.Second))
	return w, err
}

// run reads until ctx ends. Errors of a broker that is away pass.
func (w *watcher) run(ctx context.Context) {
	defer w.client.Close()
	for ctx.Err() == nil {
		fetches := w.client.PollFetches(ctx)
		w.mu.Lock()
		fetches.EachRecord(func(r *kgo.Record) {
			w.outputs = append(w.outputs, r)
			w.position[r.Topic][r.Partition] = r.Offset + 1
			for _, h := range r.Headers {
				if h.Key == pipeline.HeaderSource && !w.sources[string(h.Value)] {
					w.sources[string(h.Value)] = true
					w.changed = time.Now()
				}
			}
		})
		w.mu.Unlock()
	}
}

// await waits until so many sources were seen, or none came for the time given.
func (w *watcher) await(ctx context.Context, want int, patience time.Duration) error {
	for {
		w.mu.Lock()
		have, idle := len(w.sources), time.Since(w.changed)
		w.mu.Unlock()
		if have >= want || idle > patience {
			return nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// drain waits until everything that the output topics hold was read.
func (w *watcher) drain(ctx context.Context, admin *kadm.Client) ([]*kgo.Record, error) {
	ends, err := admin.ListEndOffsets(ctx, w.topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ends of the output topics: %w", err)
	}
	for end := time.Now().Add(time.Minute); ; {
		behind := false
		w.mu.Lock()
		ends.Each(func(o kadm.ListedOffset) { behind = behind || w.position[o.Topic][o.Partition] < o.Offset })
		outputs := w.outputs
		w.mu.Unlock()
		if !behind {
			return outputs, nil
		}
		if time.Now().After(end) {
			return nil, errors.New("the output topics could not be read to their ends")
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// readAll returns what a topic holds, by coordinates: what a broker has, not what a producer believes, is the input. Records of
// aborted transactions are left out.
func readAll(ctx context.Context, addrs []string, admin *kadm.Client, topic string) (map[string]*kgo.Record, error) {
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ends of the input topic: %w", err)
	}
	// The markers of transactions are read as well: behind aborted records only they show that the end was reached.
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	records := map[string]*kgo.Record{}
	next := map[int32]int64{}
	for behind(ends, topic, next) {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			next[r.Partition] = r.Offset + 1
			if !r.Attrs.IsControl() {
				records[ledger.Coordinates(r)] = r
			}
		})
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read the input topic: up to %v of %v: %w", next, ends, ctx.Err())
		}
	}
	return records, nil
}

func behind(ends kadm.ListedOffsets, topic string, next map[int32]int64) bool {
	for partition, end := range ends[topic] {
		if next[partition] < end.Offset {
			return true
		}
	}
	return false
}

// pause waits, or returns ctx's error when that ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
