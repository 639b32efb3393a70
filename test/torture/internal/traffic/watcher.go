package traffic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/ledger"
	"echosieve/test/torture/internal/process"
)

// Watcher reads the output topics. It is safe for concurrent use.
type Watcher struct {
	client *kgo.Client
	topics []string

	mu         sync.Mutex
	outputs    []*kgo.Record
	inputsSeen map[string]bool            // coordinates of the input records that have an output
	position   map[string]map[int32]int64 // next offset by topic and partition
	changed    time.Time                  // when the last new input was seen
}

// NewWatcher returns a watcher of the output topics.
func NewWatcher(addrs []string, topics ...string) (*Watcher, error) {
	w := &Watcher{
		topics:     topics,
		inputsSeen: map[string]bool{}, position: map[string]map[int32]int64{}, changed: time.Now(),
	}
	for _, t := range w.topics {
		w.position[t] = map[int32]int64{}
	}
	var err error
	// Metadata is refreshed often: a broker that is cut off from the other brokers, but not from the runner,
	// still believes that it leads its partitions and answers without an error.
	w.client, err = kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ConsumeTopics(w.topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(200*time.Millisecond),
		kgo.MetadataMinAge(250*time.Millisecond), kgo.MetadataMaxAge(2*time.Second),
		kgo.AlwaysRetryEOF(), kgo.KeepControlRecords()) // a marker can be the last record of a partition
	return w, err
}

// Run reads until ctx ends. It ignores the errors of a broker that is away.
func (w *Watcher) Run(ctx context.Context) {
	defer w.client.Close()
	for ctx.Err() == nil {
		fetches := w.client.PollFetches(ctx)
		w.mu.Lock()
		fetches.EachRecord(func(r *kgo.Record) {
			w.position[r.Topic][r.Partition] = r.Offset + 1
			if r.Attrs.IsControl() {
				return
			}
			w.outputs = append(w.outputs, r)
			for _, h := range r.Headers {
				if h.Key == pipeline.HeaderInput && !w.inputsSeen[string(h.Value)] {
					w.inputsSeen[string(h.Value)] = true
					w.changed = time.Now()
				}
			}
		})
		w.mu.Unlock()
	}
}

// Decided returns the number of input records that have an output.
func (w *Watcher) Decided() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.inputsSeen)
}

// Await waits until so many input records have an output, or until no new one got an output for the duration patience.
func (w *Watcher) Await(ctx context.Context, want int, patience time.Duration) error {
	for {
		w.mu.Lock()
		have, idle := len(w.inputsSeen), time.Since(w.changed)
		w.mu.Unlock()
		if have >= want || idle > patience {
			return nil
		}
		if err := process.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// Drain waits until everything that the output topics hold was read, and returns it.
func (w *Watcher) Drain(ctx context.Context, admin *kadm.Client) ([]*kgo.Record, error) {
	ends, err := admin.ListEndOffsets(ctx, w.topics...)
	if err := errors.Join(err, ends.Error()); err != nil {
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
		if err := process.Pause(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// ReadAll returns the records of topics by their coordinates, without those of aborted transactions. The
// records that the broker has are the input of a round, not those that the publisher believes to have
// published.
func ReadAll(ctx context.Context, addrs []string, admin *kadm.Client, topics ...string) (map[string]*kgo.Record, error) {
	all := map[string]*kgo.Record{}
	for _, topic := range topics {
		records, err := readTopic(ctx, addrs, admin, topic)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, records)
	}
	return all, nil
}

func readTopic(ctx context.Context, addrs []string, admin *kadm.Client, topic string) (map[string]*kgo.Record, error) {
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err := errors.Join(err, ends.Error()); err != nil {
		return nil, fmt.Errorf("ends of the input topic: %w", err)
	}
	// The markers of transactions are read as well: after aborted records at the end of a partition, only a
	// marker shows that the end was reached.
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.AlwaysRetryEOF(), kgo.KeepControlRecords())
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

// behind says whether a partition's next offset is below its end.
func behind(ends kadm.ListedOffsets, topic string, next map[int32]int64) bool {
	for partition, end := range ends[topic] {
		if next[partition] < end.Offset {
			return true
		}
	}
	return false
}
