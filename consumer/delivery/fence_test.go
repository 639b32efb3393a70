package delivery

import (
	"context"
	"errors"
	"testing"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/test/kafkatest"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
)

// fenced tries what brokers promise to an owner that publishes plain batches beside the empty transaction of
// its fence. It returns a function that requires that they refuse the former owner, and that the present one
// goes on.
func fenced(t *testing.T, cfg broker.Config) (refused func(when string)) {
	kafkatest.EnsureTopics(t, cfg)
	unique := wire.TopicPartition{Topic: cfg.Topics.Unique}
	a := testTakeOver(t, cfg)
	first := takeOver(t, a)
	stable := func(after string) {
		t.Helper()
		admin := kadm.NewClient(kafkatest.Client(t, cfg))
		read, err := admin.ListCommittedOffsets(t.Context(), unique.Topic)
		require.NoError(t, err)
		end, err := admin.ListEndOffsets(t.Context(), unique.Topic)
		require.NoError(t, err)
		last, _ := end.Lookup(unique.Topic, 0)
		committed, _ := read.Lookup(unique.Topic, 0)
		require.Equal(t, last.Offset, committed.Offset, "readers of committed records wait %s", after)
	}
	require.NoError(t, publishAs(a, first.as, 0, unique.Topic, 1))
	stable("before the transaction")
	require.NoError(t, a.ask(t.Context(), func(ctx context.Context) error {
		return a.cluster.Wire.AddPartitions(ctx, a.node, a.id, a.as, []wire.TopicPartition{unique})
	}))
	require.NoError(t, publishAs(a, first.as, 1, unique.Topic, 2), "a plain batch in the empty transaction")
	stable("in the transaction")
	require.NoError(t, a.ask(t.Context(),
		func(ctx context.Context) error { return a.cluster.Wire.EndTransaction(ctx, a.node, a.id, a.as) }))
	require.NoError(t, publishAs(a, first.as, 2, unique.Topic, 3))
	_, before, err := a.cluster.Offsets(t.Context(), unique.Topic, 0)
	require.NoError(t, err)
	require.NoError(t, publishAs(a, first.as, 2, unique.Topic, 3), "the same batch again")
	_, after, err := a.cluster.Offsets(t.Context(), unique.Topic, 0)
	require.NoError(t, err)
	require.LessOrEqual(t, after-before, int64(1), "the marker, and no second copy")
	require.ErrorIs(t, publishAs(a, first.as, 9, unique.Topic, 4), kafka.OutOfOrderSequenceNumber)

	b := testTakeOver(t, cfg)
	second := takeOver(t, b)
	require.NoError(t, publishAs(b, second.as, 0, unique.Topic, 5))
	sequence := int32(1)
	refused = func(when string) {
		t.Helper()
		for _, sequence := range []int32{0, 2, 3} { // a new beginning, a repeated batch, the next one
			require.ErrorIs(t, publishEventually(t, a, first.as, sequence, unique), kafka.InvalidProducerEpoch, when)
		}
		require.NoError(t, publishEventually(t, b, second.as, sequence, unique), "the owner goes on %s", when)
		sequence++
	}
	refused("at once")
	admin := kadm.NewClient(kafkatest.Client(t, cfg))
	ends, err := admin.ListEndOffsets(t.Context(), unique.Topic)
	require.NoError(t, err)
	_, err = admin.DeleteRecords(t.Context(), ends.Offsets())
	require.NoError(t, err)
	refused("after the marker was deleted")
	return refused
}

// publishEventually sends a batch until a leader says whether it takes the batch.
func publishEventually(t *testing.T, to *takeover, as wire.Identity, sequence int32, at wire.TopicPartition) (
	err error,
) {
	t.Helper()
	require.Eventually(t, func() bool {
		err = publishTo(to, as, sequence, at, 100)
		return err == nil || codeOf(err) == kafka.InvalidProducerEpoch || codeOf(err) == kafka.OutOfOrderSequenceNumber
	}, kafkatest.Patience, 20*time.Millisecond)
	return err
}

func codeOf(err error) kafka.Error {
	var code kafka.Error
	errors.As(err, &code)
	return code
}

// forgotten says whether the transaction coordinators know the id of partition 0 no longer.
func forgotten(t *testing.T, cfg broker.Config) bool {
	t.Helper()
	described, err := kadm.NewClient(kafkatest.Client(t, cfg)).DescribeTransactions(t.Context(),
		transactionalID(cfg.Group, cfg.Topics.Input, 0))
	require.NoError(t, err)
	for _, d := range described {
		return d.Err != nil
	}
	return true
}
