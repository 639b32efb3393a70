package traffic

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/stories"
)

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
