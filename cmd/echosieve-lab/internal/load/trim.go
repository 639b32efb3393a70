package load

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"echosieve/consumer/broker"
)

// trimInterval is how often trim deletes records.
const trimInterval = 2 * time.Second

// trim deletes records from the in-process Kafka until ctx ends, because they are kept in the memory of this
// process. It deletes input that the service has committed, and output that the reader has read.
func trim(ctx context.Context, cfg broker.Config, read func() kadm.Offsets) error {
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
		// -1, nothing committed, would mean the whole partition
		done.KeepFunc(func(o kadm.Offset) bool { return o.At > 0 })
		if _, err := admin.DeleteRecords(ctx, done); err != nil && ctx.Err() == nil {
			return fmt.Errorf("load: in-process Kafka: %w", err)
		}
	}
}
