package delivery

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/test/kafkatest"
)

// testTakeOver is a take-over of partition 0.
func testTakeOver(t *testing.T, cfg broker.Config) *takeover {
	t.Helper()
	c := kafkatest.Cluster(t, cfg)
	m := broker.NewMetrics(nil)
	return &takeover{
		fencer: fencer{
			cluster: c, node: -1, id: transactionalID(cfg.Group, wire.TopicPartition{Topic: cfg.Topics.Inputs[0]}),
			memory: producerForgotten,
		},
		limiter: broker.NewLimiter(cfg.MaxInFlightRecords, cfg.MaxInFlightBytes, m),
		input:   Input{TopicPartition: wire.TopicPartition{Topic: cfg.Topics.Inputs[0]}},
		// most tests have outputs of records that are not there
		askInputEnd: func(context.Context) (int64, error) { return 1000, nil },
	}
}

// outputEnds are the output partitions of a take-over, as they are now.
func outputEnds(t *testing.T, to *takeover) []broker.Position {
	t.Helper()
	p := &Delivery{cluster: to.cluster}
	var positions []broker.Position
	require.Eventually(t, func() bool { // a topic may be new
		var err error
		positions, err = p.positions(context.Background(), to.input.Partition)
		return err == nil
	}, kafkatest.Patience, 10*time.Millisecond)
	return positions
}

// takeOver repeats attempts until one succeeds, as long as no other owner is met.
func takeOver(t *testing.T, to *takeover) *ownership {
	t.Helper()
	for end := time.Now().Add(kafkatest.Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		own, err := to.attempt(context.Background(), outputEnds(t, to))
		if err == nil {
			return own
		}
		require.NotEqual(t, leave, react(err), "%v", err)
		require.NotEqual(t, forbidden, react(err), "%v", err)
		t.Log(err)
	}
	t.Fatal("no take-over succeeds")
	return nil
}

// publishAs sends one batch of outputs of the input offsets to partition 0.
func publishAs(to *takeover, as wire.Identity, sequence int32, topic string, offsets ...int64) error {
	return publishTo(to, as, sequence, wire.TopicPartition{Topic: topic}, offsets...)
}

func publishTo(to *takeover, as wire.Identity, sequence int32, at wire.TopicPartition, offsets ...int64) error {
	sources := make([]string, len(offsets))
	for i, o := range offsets {
		sources[i] = fmt.Sprintf("%s/%d", to.input, o)
	}
	return publishRaw(to, as, sequence, at, sources...)
}

// publishRaw sends one batch of records that name the sources in their headers; empty: no header.
func publishRaw(to *takeover, as wire.Identity, sequence int32, at wire.TopicPartition, sources ...string) error {
	var records []record.Record
	for _, source := range sources {
		r := record.Record{Value: []byte("v"), Time: time.Now()}
		if source != "" {
			r.Headers = []record.Header{{Key: pipeline.HeaderInput, Value: []byte(source)}}
		}
		records = append(records, r)
	}
	raw, err := wire.EncodeBatch(records, 1)
	if err != nil {
		return err
	}
	wire.SetSequence(raw, as.ID, as.Epoch, sequence)
	_, err = to.cluster.Wire.Produce(context.Background(), at.Topic, int(at.Partition), raw)
	return err
}

// oneAfterTheOther lets one owner after the other take over a partition. None commits by itself: the test does.
func oneAfterTheOther(t *testing.T, cfg broker.Config) {
	kafkatest.EnsureTopics(t, cfg)
	out := cfg.Topics
	a := testTakeOver(t, cfg)
	first := takeOver(t, a)
	require.Negative(t, first.next, "nothing is committed")
	require.Zero(t, first.acknowledged.len)
	require.Len(t, first.ends, 3)

	// The first owner commits offset 4, and publishes 4 to 9 afterwards.
	commitAt(t, a, 4, first.as.ID, first.ends)
	require.NoError(t, publishAs(a, first.as, 0, out.Unique, 4, 5, 8))
	require.NoError(t, publishAs(a, first.as, 0, out.Duplicate, 6, 7))
	require.NoError(t, publishAs(a, wire.Identity{ID: wire.NoProducerID}, -1, out.Unique, 9),
		"a batch of another producer")

	b := testTakeOver(t, cfg)
	second := takeOver(t, b)
	require.Equal(t, int64(4), second.next)
	require.True(t, second.labelled)
	require.Equal(t, first.as.ID, second.as.ID)
	require.Greater(t, second.as.Epoch, first.as.Epoch)
	for offset := range int64(12) {
		require.Equal(t, 4 <= offset && offset <= 8, second.acknowledged.has(offset), "offset %d", offset)
	}
	require.Equal(t, int64(8), second.acknowledged.highest)
	require.ElementsMatch(t, first.ends, second.before)
	require.Equal(t, second.before, second.positions(8, &writers{}), "as long as a published record lies ahead")
	require.Equal(t, second.ends, second.positions(9, &writers{}))

	// The first owner goes on: the next record batch, a repeated one, another partition, and a new beginning.
	for _, topic := range kafkatest.OutTopics(cfg.Topics) {
		for _, sequence := range []int32{0, 2, 3} {
			require.ErrorIs(t, publishAs(a, first.as, sequence, topic, 20, 21), kafka.InvalidProducerEpoch,
				"%s, sequence %d", topic, sequence)
		}
	}
	require.Equal(t, leave, react(a.fence(context.Background(), first.ends)), "the former owner cannot renew its fence")
	require.NoError(t, publishAs(b, second.as, 0, out.Unique, 9))
	require.NoError(t, b.fence(context.Background(), second.ends), "the owner can")
	require.NoError(t, publishAs(b, second.as, 1, out.Unique, 10), "and its sequence numbers go on")
	require.ErrorIs(t, publishAs(b, second.as, 7, out.Unique, 11), kafka.OutOfOrderSequenceNumber)

	// The service's own writer never gets beyond the fence, however often it tries, and whatever it takes for
	// a new beginning.
	p := &Delivery{cluster: a.cluster}
	w := p.fencedWriters(wire.TopicPartition{}, first)[article.ToUnique]
	for range 3 {
		require.ErrorIs(t, w.write(t.Context(), batchWith(t, "late"), 1, time.Now()), ErrTakenOver)
	}
	w.pending = true
	require.ErrorIs(t, w.giveUp(), ErrStandingLost)

	// An owner that gets the partition back has another epoch than the first time.
	third := takeOver(t, a)
	require.Greater(t, third.as.Epoch, second.as.Epoch)
	require.NoError(t, publishAs(a, third.as, 0, out.Unique, 12))
}

// lateMarker gives out a new epoch and holds its markers back. Until they come, the former owner's batches are
// appended.
func lateMarker(t *testing.T, cfg broker.Config) {
	kafkatest.EnsureTopics(t, cfg)
	former := testTakeOver(t, cfg)
	takeOver(t, former)
	unique := wire.TopicPartition{Topic: cfg.Topics.Unique}
	c := testTakeOver(t, cfg)
	require.NoError(t, c.ask(t.Context(), func(ctx context.Context) (err error) {
		c.as, err = c.cluster.Wire.InitProducer(ctx, c.node, c.id, transactionTimeout)
		return err
	}))
	own := &ownership{next: 0}
	_, end, err := c.cluster.Partition(unique.Topic, 0).Offsets(t.Context())
	require.NoError(t, err)
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	back := &reading{
		takeover: c, own: own, pid: wire.NoProducerID, deadline: time.Now().Add(kafkatest.Patience),
	}
	_, err = back.readPosition(short, back.cluster, unique, end)
	require.ErrorIs(t, err, context.DeadlineExceeded, "the end of the log is not the end of the reading")
	bounded, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	back.deadline = time.Now()
	_, err = back.readPosition(bounded, back.cluster, unique, end)
	require.ErrorIs(t, err, errNoMarker)
	require.Equal(t, startOver, react(err))

	require.NoError(t, publishAs(former, former.as, 0, unique.Topic, 30), "the marker is not there yet")
	require.NoError(t, c.fence(t.Context(), []broker.Position{{TopicPartition: unique}}))
	back.deadline = time.Now().Add(kafkatest.Patience)
	_, err = back.readPosition(t.Context(), back.cluster, unique, end)
	require.NoError(t, err)
	require.True(t, own.acknowledged.has(30), "the former owner's last batch")
	require.ErrorIs(t, publishAs(former, former.as, 1, unique.Topic, 31), kafka.InvalidProducerEpoch)
}

// A commit holds the positions of before as long as published records lie ahead, and then those behind the owner's own
// outputs.
func TestPositions(t *testing.T) {
	own := &ownership{
		as:     wire.Identity{ID: 7, Epoch: 3},
		before: []broker.Position{{TopicPartition: wire.TopicPartition{Topic: "unique"}, Offset: 4}},
		ends:   []broker.Position{{TopicPartition: wire.TopicPartition{Topic: "unique"}, Offset: 10}},
	}
	own.acknowledged.add(8)
	o := &Owner{
		own: own, input: wire.TopicPartition{Topic: "in", Partition: 2},
		writers: &writers{article.ToUnique: {topic: "unique", end: 20}},
	}
	require.Equal(t, &broker.Commit{TopicPartition: o.input, Next: 8, Owner: own.as, Positions: own.before},
		o.Positions(8))
	require.Equal(t, int64(20), o.Positions(9).Positions[0].Offset)
	require.Equal(t, int64(wire.NoProducerID), (&Owner{}).Positions(1).Owner.ID)
}

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
	_, before, err := a.cluster.Partition(unique.Topic, 0).Offsets(t.Context())
	require.NoError(t, err)
	require.NoError(t, publishAs(a, first.as, 2, unique.Topic, 3), "the same batch again")
	_, after, err := a.cluster.Partition(unique.Topic, 0).Offsets(t.Context())
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
	truncate(t, cfg, unique.Topic, 0)
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
		transactionalID(cfg.Group, wire.TopicPartition{Topic: cfg.Topics.Inputs[0]}))
	require.NoError(t, err)
	for _, d := range described {
		return d.Err != nil
	}
	return true
}
