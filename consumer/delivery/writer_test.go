package delivery

import (
	"math"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/test/kafkatest"
)

// oneWriter returns a writer to partition 0 of the unique topic.
func oneWriter(t *testing.T, cfg broker.Config) *writer {
	t.Helper()
	c := kafkatest.Cluster(t, cfg)
	return &writer{cluster: c, identity: newOwnIdentity(c), to: article.ToUnique, topic: cfg.Topics.Unique, partition: -1,
		end: -1}
}

// batchWith is a batch of one record.
func batchWith(t *testing.T, value string) []byte {
	t.Helper()
	raw, err := wire.EncodeBatch([]record.Record{{Value: []byte(value), Time: time.Now()}}, 0)
	require.NoError(t, err)
	return raw
}

func writeUntilTaken(t *testing.T, w *writer, value string) {
	t.Helper()
	raw := batchWith(t, value)
	require.Eventually(t, func() bool { return w.write(t.Context(), raw, 1, time.Now()) == nil }, kafkatest.Patience,
		time.Millisecond)
}

// A batch is given up, and another one of the same size is sent. The broker must not mistake the second for a
// repeat of the first, and must not append the first after the second.
func TestGivenUpBatchesAreFenced(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	kafkatest.EnsureTopics(t, cfg)
	w := oneWriter(t, cfg)
	what := kafkatest.Hold
	f := &kafkatest.Faults{Key: int16(kmsg.Produce), Choose: func(int64) kafkatest.Fault { return what }}
	f.Into(w.cluster)
	require.Error(t, w.write(t.Context(), batchWith(t, "held"), 1, time.Now()))
	require.EqualValues(t, 1, f.Seen.Load())
	require.NoError(t, w.giveUp())
	what = kafkatest.LoseAnswer
	require.Error(t, w.write(t.Context(), batchWith(t, "appended"), 1, time.Now()))
	require.EqualValues(t, 2, f.Seen.Load())
	require.NoError(t, w.giveUp())
	what = kafkatest.Pass
	writeUntilTaken(t, w, "last")
	require.Equal(t, 1, f.Release(t))
	writeUntilTaken(t, w, "after")
	out := kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Unique}, func(all []*kgo.Record) bool {
		return len(all) > 0 && string(all[len(all)-1].Value) == "after"
	})
	require.Equal(t, []string{"appended", "last", "after"}, kafkatest.Values(out))
}

func TestSequenceNumbersAndEpochsHaveEnds(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	cfg.Partitions = 1
	kafkatest.EnsureTopics(t, cfg)
	w := oneWriter(t, cfg)
	var want []string
	take := func(value string) {
		writeUntilTaken(t, w, value)
		want = append(want, value)
	}
	take("first")
	own := w.identity.(*ownIdentity)
	id := own.as.ID
	own.as.Epoch, w.pending = math.MaxInt16, true
	require.NoError(t, w.giveUp())
	take("after the last epoch")
	require.NotEqual(t, id, own.as.ID, "a new producer id")
	own.as.ID = wire.NoProducerID
	w.next = math.MaxInt32 // a producer that the broker does not know may begin with any number
	take("with the largest number")
	require.Zero(t, w.next)
	take("with the smallest")
	require.Equal(t, int32(1), w.next)
	require.Equal(t, want,
		kafkatest.Values(kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Unique}, kafkatest.AtLeast(len(want)))))
}

// A fenced writer never chooses an epoch: leaders would accept it, and the fence of the next owner would be overtaken.
func TestFencedWritersLoseTheirStanding(t *testing.T) {
	for code, want := range map[kafka.Error]error{
		kafka.OutOfOrderSequenceNumber: ErrStandingLost, kafka.UnknownProducerId: ErrStandingLost,
		kafka.InvalidTransactionState: ErrStandingLost,
		transactionAbortable:          ErrStandingLost, kafka.InvalidProducerIDMapping: ErrStandingLost,
		kafka.InvalidProducerEpoch: ErrTakenOver, kafka.ProducerFenced: ErrTakenOver,
	} {
		k, cfg := kafkatest.Fake(t)
		kafkatest.EnsureTopics(t, cfg)
		k.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
			k.KeepControl()
			return kafkatest.ProduceError(req, code), nil, true
		})
		w := oneWriter(t, cfg)
		as := fencedIdentity{as: wire.Identity{ID: 7, Epoch: 3}, memory: time.Hour}
		w.identity = as
		require.ErrorIs(t, w.write(t.Context(), batchWith(t, "x"), 1, time.Now()), want, "%v", code)
		require.Equal(t, fencedIdentity{as: wire.Identity{ID: 7, Epoch: 3}, memory: time.Hour}, w.identity)
	}
}

// An acknowledgement is lost. A leader that may have forgotten the batch would append it again, so only a
// take-over finds out whether it has it.
func TestOldBatchesAreNotSentAgain(t *testing.T) {
	for age, want := range map[time.Duration]error{time.Minute: nil, 48 * time.Hour: ErrStandingLost} {
		_, cfg := kafkatest.Fake(t)
		kafkatest.EnsureTopics(t, cfg)
		w := oneWriter(t, cfg)
		w.identity = fencedIdentity{as: wire.Identity{ID: 7, Epoch: 3}, memory: producerForgotten}
		what := kafkatest.LoseAnswer
		f := &kafkatest.Faults{Key: int16(kmsg.Produce), Choose: func(int64) kafkatest.Fault { return what }}
		f.Into(w.cluster)
		raw, latest := batchWith(t, "pending"), time.Now().Add(-age)
		err := w.write(t.Context(), raw, 1, latest)
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrStandingLost)
		what = kafkatest.Pass
		require.ErrorIs(t, w.write(t.Context(), raw, 1, latest), want, "%s", age)
		require.Equal(t, []string{"pending"},
			kafkatest.Values(kafkatest.ConsumeUntil(t, cfg, []string{cfg.Topics.Unique}, kafkatest.AtLeast(1))))
	}
}
