package consumer

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/test/kafkatest"
)

// Twelve of fourteen partitions wait for a schema in the middle of their records. They hold no memory
// meanwhile, the other two go on, and in the end each record is published once, in order.
func TestPartitionsThatWaitForASchemaStopNoOthers(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	const partitions, waiting, n = 14, 12, 60
	cfg.Partitions, cfg.BatchRecords, cfg.MaxInFlightRecords = partitions, 10, 20
	kafkatest.Filled(t, cfg, "u", n*partitions)
	known, waits := make(chan struct{}), make(chan string, 1000)
	m := startMember(t, cfg, &router{prepare: func(_ context.Context, recs []record.Record) error {
		last := recs[len(recs)-1]
		select {
		case <-known:
			return nil
		default:
		}
		if last.Partition >= waiting || last.Offset < n/2 {
			return nil
		}
		return &decode.Pending{
			Schema: "7", Record: last.String(), Why: errors.New("away"),
			Settle: func(ctx context.Context, at string) error {
				waits <- at
				select {
				case <-known:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			},
		}
	}})
	for range waiting {
		require.Contains(t, <-waits, cfg.Topics.Inputs[0]+"/")
	}
	done := func(atLeast int) func([]*kgo.Record) bool {
		return func(all []*kgo.Record) bool {
			of := 0
			for _, r := range all {
				if r.Partition >= waiting {
					of++
				}
			}
			return of >= atLeast
		}
	}
	kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Unique}, done((partitions-waiting)*n))
	require.Eventually(t, func() bool {
		return m.value(t, "echosieve_consumer_in_flight_records") == 0 &&
			m.value(t, "echosieve_consumer_in_flight_bytes") == 0
	}, kafkatest.Patience, time.Millisecond, "partitions that wait hold no memory")
	close(known)
	out := kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Unique}, kafkatest.AtLeast(n*partitions))
	require.Len(t, out, n*partitions)
	next := map[int32]string{}
	for _, r := range out {
		require.Less(t, next[r.Partition], string(r.Value), "in order")
		next[r.Partition] = string(r.Value)
	}
	m.stop(t)
}
