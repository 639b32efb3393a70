package traffic

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/torture/internal/process"
)

// Watcher counts the input records that have an output. It is safe for concurrent use.
type Watcher struct {
	client *kgo.Client

	mu         sync.Mutex
	inputsSeen map[string]bool // coordinates of the input records that have an output
	changed    time.Time       // when the last new input was seen
}

// NewWatcher returns a watcher of the output topics.
func NewWatcher(addrs []string, topics ...string) (*Watcher, error) {
	// Metadata is refreshed often: a broker that is cut off from the other brokers, but not from the runner,
	// still believes that it leads its partitions and answers without an error.
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.ConsumeTopics(topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(200*time.Millisecond),
		kgo.MetadataMinAge(250*time.Millisecond), kgo.MetadataMaxAge(2*time.Second), kgo.AlwaysRetryEOF())
	return &Watcher{client: client, inputsSeen: map[string]bool{}, changed: time.Now()}, err
}

// Run reads until ctx ends. It ignores the errors of a broker that is away.
func (w *Watcher) Run(ctx context.Context) {
	defer w.client.Close()
	for ctx.Err() == nil {
		fetches := w.client.PollFetches(ctx)
		w.mu.Lock()
		fetches.EachRecord(func(r *kgo.Record) {
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

// Decided returns the number of input records that have an output, and for how long no new one got one.
func (w *Watcher) Decided() (n int, idle time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.inputsSeen), time.Since(w.changed)
}

// Await waits until so many input records have an output, or until no new one got an output for the duration patience.
func (w *Watcher) Await(ctx context.Context, want int, patience time.Duration) error {
	for {
		if have, idle := w.Decided(); have >= want || idle > patience {
			return nil
		}
		if err := process.Pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}
