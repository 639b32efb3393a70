package consumer

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
	"echosieve/test/kafkatest"
)

var outputs = []string{"articles-unique", "articles-duplicate", "articles-dead"}

func TestInFlightIsBounded(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	cfg.MaxInFlightRecords, cfg.BatchRecords = 64, 32
	kafkatest.Filled(t, cfg, "u", 3000)
	var most atomic.Int64
	var m *member
	ready := make(chan struct{})
	m = startMember(t, cfg, &router{decide: func(context.Context, []record.Record) error {
		<-ready
		now := int64(m.value(t, "echosieve_consumer_in_flight_records"))
		if now > most.Load() {
			most.Store(now)
		}
		return nil
	}})
	close(ready)
	kafkatest.ConsumeUntil(t, cfg, outputs, kafkatest.AtLeast(3000))
	m.stop(t)
	require.LessOrEqual(t, most.Load(), int64(64))
	require.Positive(t, most.Load())
}

// A batch that waits for its schemas when the member stops is not committed, be it in Prepare or before it is fetched
// again. The next member gets it. Another error of Prepare ends Run.
func TestBatchThatWasNotPreparedIsDeliveredAgain(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	cfg.DrainTimeout = time.Second
	const n = 300
	cl := kafkatest.Filled(t, cfg, "u", n)
	waits := make(chan bool, n)
	wait := func(ctx context.Context) error {
		waits <- true
		<-ctx.Done()
		return ctx.Err()
	}
	for _, prepare := range []func(context.Context, []record.Record) error{
		func(ctx context.Context, _ []record.Record) error { return wait(ctx) },
		func(context.Context, []record.Record) error {
			return &decode.Pending{
				Why: errors.New("away"), Settle: func(ctx context.Context, _ string) error { return wait(ctx) },
			}
		},
	} {
		m := startMember(t, cfg, &router{prepare: prepare})
		<-waits
		m.stop(t)
		require.LessOrEqual(t, kafkatest.Committed(t, cl, cfg), int64(0))
		require.Zero(t, m.value(t, "echosieve_consumer_in_flight_records"))
	}
	h := &router{}
	m := startMember(t, cfg, h)
	kafkatest.ConsumeUntil(t, cfg, outputs, kafkatest.AtLeast(n))
	m.stop(t)
	require.Equal(t, n, h.published)

	kafkatest.Produce(t, cl, kafkatest.Numbered(cfg.Topics.Inputs[0], "u", 3, 3)...)
	m = startMember(t, cfg,
		&router{prepare: func(context.Context, []record.Record) error { return errors.New("no schemas at all") }})
	require.ErrorContains(t, <-m.done, "no schemas at all")
}

// snapshots is a router whose outputs are never outdated.
type snapshots struct {
	router
	done func(n int) // is called when a batch of n records is done
}

func (s *snapshots) Outdated(_ context.Context, b *pipeline.Batch) ([]pipeline.Output, error) {
	s.done(len(b.Records))
	return nil, nil
}

// Large batches of snapshots are decided and published one after another. A small batch does not wait for them.
func TestLargeBatchesOfSnapshotsTakeTurns(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	cfg.Partitions, cfg.BatchRecords = 4, takesTurns
	kafkatest.EnsureTopics(t, cfg)
	all := append(kafkatest.Numbered(cfg.Topics.Inputs[0], "u", 6*takesTurns, 3),
		&kgo.Record{Topic: cfg.Topics.Inputs[0], Partition: 3, Value: []byte("u")})
	kafkatest.Produce(t, kafkatest.Client(t, cfg), all...)
	var working, most atomic.Int64
	passed := make(chan struct{})
	h := &snapshots{done: func(n int) {
		if n < takesTurns {
			close(passed)
			return
		}
		working.Add(-1)
	}}
	h.decide = func(_ context.Context, recs []record.Record) error {
		if len(recs) < takesTurns {
			return nil
		}
		most.Store(max(most.Load(), working.Add(1)))
		<-passed
		time.Sleep(20 * time.Millisecond)
		return nil
	}
	m := startMember(t, cfg, h)
	kafkatest.ConsumeUntil(t, cfg, outputs, kafkatest.AtLeast(len(all)))
	m.stop(t)
	require.EqualValues(t, 1, most.Load())
}

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
				return opened(ctx, known)
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

// A producer that leaves its transaction open stops the partition: that is said, until the transaction has ended.
func TestOpenTransactionIsNamed(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	kafkatest.EnsureTopics(t, cfg)
	m := newMember(t, cfg, &router{})
	m.work.openPatience = time.Millisecond
	m.start()
	serves(t, m)
	open := kafkatest.Client(t, cfg, kgo.TransactionalID("crawler"))
	require.NoError(t, open.BeginTransaction())
	kafkatest.Produce(t, open, &kgo.Record{Topic: cfg.Topics.Inputs[0], Partition: 1, Value: []byte("u")})
	require.Eventually(t, func() bool {
		err := m.health.last()
		return err != nil && strings.Contains(err.Error(), "describe-producers --topic "+cfg.Topics.Inputs[0]+" --partition 1")
	}, kafkatest.Patience, 10*time.Millisecond)
	require.Equal(t, 1, m.logged.count("describe-producers"))
	require.NoError(t, open.EndTransaction(t.Context(), kgo.TryCommit))
	require.Eventually(t, func() bool { return m.health.last() == nil }, kafkatest.Patience, 10*time.Millisecond)
	m.stop(t)
}
