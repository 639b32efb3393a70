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
	client       *kgo.Client
	acknowledged atomic.Int64
	failed       atomic.Pointer[error]
	enough       chan struct{} // closed when the last fault is over
}

func newFeed(addrs []string, topic string) (*feed, error) {
	// Metadata is refreshed often, so that new partitions are used soon. Copies have keys of their own and hence
	// lie anywhere.
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)), kgo.MetadataMinAge(250*time.Millisecond), kgo.MetadataMaxAge(2*time.Second))
	if err != nil {
		return nil, err
	}
	return &feed{client: client, enough: make(chan struct{})}, nil
}

// run publishes until at least so many records are sent and, unless fixed, the feed is told that it is enough.
// It returns how many were sent; all of them are acknowledged.
func (f *feed) run(ctx context.Context, d *desk, rate, records int, fixed bool) (int, error) {
	defer f.client.Close()
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
		for ; due >= 1; due-- {
			if sent >= records && (fixed || f.isEnough()) {
				return sent, f.flush(ctx)
			}
			f.client.Produce(ctx, d.write(), func(_ *kgo.Record, err error) {
				if err != nil {
					f.failed.Store(&err)
					return
				}
				f.acknowledged.Add(1)
			})
			sent++
		}
	}
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
	if err := f.client.Flush(ctx); err != nil {
		return err
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

// readAll returns what a topic holds, by coordinates: what a broker has, not what a producer believes, is the input.
func readAll(ctx context.Context, addrs []string, admin *kadm.Client, topic string) (map[string]*kgo.Record, error) {
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("ends of the input topic: %w", err)
	}
	want := 0
	ends.Each(func(o kadm.ListedOffset) { want += int(o.Offset) })
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	records := make(map[string]*kgo.Record, want)
	for len(records) < want {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) { records[ledger.Coordinates(r)] = r })
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read the input topic: %d of %d records: %w", len(records), want, ctx.Err())
		}
	}
	return records, nil
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
