package load

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"echosieve/consumer"
)

// trimInterval is how often the in-process Kafka forgets what everybody has read.
const trimInterval = 2 * time.Second

// trim makes the in-process Kafka forget, until ctx ends, what the service has committed and what the reader has read:
// its log is memory of this process. Nothing is lost by a trim that fails: the next one makes up for it.
func trim(ctx context.Context, cfg consumer.Config, read func() kadm.Offsets) error {
	client, err := newClient(cfg)
	if err != nil {
		return err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	tick := time.NewTicker(trimInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		done := read()
		committed, err := admin.FetchOffsets(ctx, cfg.Group)
		if err == nil {
			committed.Offsets().Each(done.Add)
		}
		done.KeepFunc(func(o kadm.Offset) bool { return o.At > 0 }) // -1, nothing committed, would mean the whole partition
		if _, err := admin.DeleteRecords(ctx, done); err != nil && ctx.Err() == nil {
			return fmt.Errorf("load: in-process Kafka: %w", err)
		}
	}
}
