package delivery

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"
	"echosieve/test/kafkatest"
)

// commitAt commits an offset of an owner's input partition with the producer id and the positions.
func commitAt(t *testing.T, to *takeover, offset, pid int64, positions []broker.Position) {
	t.Helper()
	commitAs(t, to, wire.TopicID{}, broker.Commit{Next: offset, Owner: wire.Identity{ID: pid}, Positions: positions})
}

// commitAs commits for a topic with the id.
func commitAs(t *testing.T, to *takeover, id wire.TopicID, c broker.Commit) {
	t.Helper()
	c.TopicPartition = to.input.TopicPartition
	nobody := &kafka.Generation{GroupID: to.cluster.Config.Group, ID: -1}
	require.Eventually(t, func() bool { // the group's coordinator may be new
		ids := map[string]wire.TopicID{to.input.Topic: id}
		return to.cluster.Group(to.cluster.Config.Group).Commit(context.Background(), nobody, ids, c) == nil
	}, kafkatest.Patience, 10*time.Millisecond)
}

// requirePublished checks which input records a take-over has found.
func requirePublished(t *testing.T, own *ownership, offsets ...int64) {
	t.Helper()
	require.Equal(t, len(offsets), own.acknowledged.len)
	for _, o := range offsets {
		require.True(t, own.acknowledged.has(o), "offset %d", o)
	}
}

// commitsThatDoNotSay lets owners find commits that do not say, or do not say truly, where to read back.
func commitsThatDoNotSay(t *testing.T, cfg broker.Config) {
	kafkatest.EnsureTopics(t, cfg)
	to := testTakeOver(t, cfg)
	own := takeOver(t, to)
	require.True(t, own.fenced, "nobody has published under a new id")
	require.NoError(t, publishAs(to, own.as, 0, cfg.Topics.Unique, 0, 1, 2, 3))

	own = takeOver(t, testTakeOver(t, cfg))
	require.False(t, own.fenced, "the commit is gone, and the id is not new")
	requirePublished(t, own)

	unowned := wire.Identity{ID: wire.NoProducerID}
	commitAs(t, to, wire.TopicID{}, broker.Commit{Next: 2, Owner: unowned})
	own = takeOver(t, testTakeOver(t, cfg))
	require.Equal(t, int64(2), own.next)
	require.False(t, own.fenced, "a tool or a version without exactly once has committed")
	require.False(t, own.labelled)
	requirePublished(t, own)

	// The coordinator has forgotten the id since, so the owner has another producer id than the commit names.
	former := own.as
	former.ID += 1_000_000
	commitAt(t, to, 2, former.ID, own.ends)
	require.NoError(t, publishAs(to, former, 0, cfg.Topics.Duplicate, 2, 3))
	own = takeOver(t, testTakeOver(t, cfg))
	require.False(t, own.fenced)
	require.False(t, own.labelled)
	requirePublished(t, own, 2, 3)

	commitAt(t, to, 4, own.as.ID, own.ends)
	to.input.TopicID = wire.TopicID{1}
	commitAs(t, to, wire.TopicID{2}, broker.Commit{Next: 4, Owner: unowned})
	committed, err := to.position(t.Context())
	require.NoError(t, err)
	require.Negative(t, committed.Next, "an offset of the input topic before it was recreated")
	require.Equal(t, to.as.ID, committed.Owner.ID)
}

// changedOutputs changes the output topics between two owners.
func changedOutputs(t *testing.T, cfg broker.Config) {
	kafkatest.EnsureTopics(t, cfg)
	ctx := t.Context()
	admin := kadm.NewClient(kafkatest.Client(t, cfg))
	first := testTakeOver(t, cfg)
	own := takeOver(t, first)
	commitAt(t, first, 2, own.as.ID, own.ends)
	require.NoError(t, publishAs(first, own.as, 0, cfg.Topics.Unique, 2, 5))
	require.NoError(t, publishAs(first, own.as, 0, cfg.Topics.Duplicate, 3))

	renamed := cfg
	renamed.Topics.Unique += "-renamed"
	kafkatest.EnsureTopics(t, renamed)
	second := testTakeOver(t, renamed)
	next := takeOver(t, second)
	require.True(t, next.fenced, "the earlier owner wrote only to positions that the commit names")
	require.False(t, next.labelled, "positions are committed before the first output")
	requirePublished(t, next, 2, 3, 5)
	require.Len(t, next.ends, 3)
	require.Len(t, next.before, 4)
	require.Equal(t, cfg.Topics.Unique, next.before[3].Topic)
	require.ErrorIs(t, publishAs(first, own.as, 2, cfg.Topics.Unique, 6), kafka.InvalidProducerEpoch,
		"the old position is fenced, too")
	require.Equal(t, next.before, next.positions(5, &writers{}), "the next owner must find them, too")
	require.Equal(t, next.ends, next.positions(6, &writers{}))

	// The old topic is deleted, and another one is recreated. An owner that has not noticed that yet publishes there.
	commitAt(t, second, 2, next.as.ID, next.before)
	duplicate := next.ends[1]
	require.Equal(t, cfg.Topics.Duplicate, duplicate.Topic)
	for _, topic := range []string{cfg.Topics.Unique, cfg.Topics.Duplicate} {
		_, err := admin.DeleteTopic(ctx, topic)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		_, err := admin.CreateTopic(ctx, 3, 1, nil, cfg.Topics.Duplicate)
		return err == nil
	}, kafkatest.Patience, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		now, err := second.cluster.Topic(context.Background(), cfg.Topics.Duplicate)
		return err == nil && now.ID != duplicate.TopicID && publishAs(second, next.as, 0, cfg.Topics.Duplicate,
			7) == nil
	}, kafkatest.Patience, 50*time.Millisecond)
	third := takeOver(t, testTakeOver(t, renamed))
	require.True(t, third.fenced)
	requirePublished(t, third, 7)
	require.NotEqual(t, duplicate.TopicID, third.ends[1].TopicID)
}

// morePartitions gives an output topic more partitions between two owners.
func morePartitions(t *testing.T, cfg broker.Config) {
	_, err := kadm.NewClient(kafkatest.Client(t, cfg)).CreateTopic(t.Context(), 5, 1, nil, cfg.Topics.Inputs[0])
	require.NoError(t, err)
	kafkatest.EnsureTopics(t, cfg)
	inFour := func() *takeover { // input partition 4 publishes to output partition 4 modulo 3
		to := testTakeOver(t, cfg)
		to.input.Partition = 4
		to.id = transactionalID(cfg.Group, to.input.TopicPartition)
		return to
	}
	first := inFour()
	own := takeOver(t, first)
	require.Equal(t, int32(1), own.ends[0].Partition)
	commitAt(t, first, 2, own.as.ID, own.ends)
	require.NoError(t, publishTo(first, own.as, 0, own.ends[0].TopicPartition, 2, 3))

	kafkatest.AddPartitions(t, cfg, cfg.Topics.Unique, 5)
	require.Eventually(t, func() bool {
		n, err := first.cluster.Topic(context.Background(), cfg.Topics.Unique)
		return err == nil && len(n.Partitions) == 5
	}, kafkatest.Patience, 10*time.Millisecond)
	now, err := first.cluster.Metadata(t.Context(), kafkatest.OutTopics(cfg.Topics))
	require.NoError(t, err)
	require.True(t, own.moved(&outputTopics{now.Topics, time.Now()}, 4))
	next := takeOver(t, inFour())
	require.True(t, next.fenced)
	requirePublished(t, next, 2, 3)
	require.Equal(t, int32(4), next.ends[0].Partition)
	require.False(t, next.moved(&outputTopics{now.Topics, time.Now()}, 4))
	require.False(t, next.moved(nil, 4))
	for _, e := range own.ends {
		require.ErrorIs(t, publishTo(first, own.as, 7, e.TopicPartition, 4), kafka.InvalidProducerEpoch)
	}
}

// truncate deletes all records of partition 0 but the last ones.
func truncate(t *testing.T, cfg broker.Config, topic string, keep int64) {
	t.Helper()
	admin := kadm.NewClient(kafkatest.Client(t, cfg))
	offsets, err := admin.ListEndOffsets(t.Context(), topic)
	require.NoError(t, err)
	at, _ := offsets.Lookup(topic, 0)
	until := kadm.Offsets{}
	until.AddOffset(topic, 0, at.Offset-keep, -1)
	_, err = admin.DeleteRecords(t.Context(), until)
	require.NoError(t, err)
}

// deletedMarkers deletes records and markers from the output topics.
func deletedMarkers(t *testing.T, cfg broker.Config) {
	kafkatest.EnsureTopics(t, cfg)
	first := testTakeOver(t, cfg)
	own := takeOver(t, first)
	commitAt(t, first, 2, own.as.ID, own.ends)
	require.NoError(t, publishAs(first, own.as, 0, cfg.Topics.Unique, 2, 3, 4))
	truncate(t, cfg, cfg.Topics.Unique, 1)
	next := takeOver(t, testTakeOver(t, cfg))
	requirePublished(t, next, 4) // the others stand nowhere any more

	second := testTakeOver(t, cfg)
	require.NoError(t, second.init(t.Context()))
	unique := next.ends[0]
	require.NoError(t, second.fence(t.Context(), next.ends))
	require.Eventually(t, func() bool { // the marker is there
		_, end, err := second.cluster.Partition(unique.Topic, 0).Offsets(context.Background())
		return err == nil && end > unique.Offset+1
	}, kafkatest.Patience, 10*time.Millisecond)
	truncate(t, cfg, cfg.Topics.Unique, 0)
	back := &reading{takeover: second, own: &ownership{}, pid: wire.NoProducerID, deadline: time.Now()}
	_, err := back.readPosition(t.Context(), back.cluster, unique.TopicPartition, unique.Offset)
	require.ErrorIs(t, err, errNoMarker)
	requirePublished(t, takeOver(t, second)) // fences anew
}

// foreignOutputs: whoever may write to an output topic has appended record batches under our producer id that are none
// of our outputs. An owner skips them, counts them and names them, and takes no memory for the offsets that they claim.
func foreignOutputs(t *testing.T, cfg broker.Config) {
	kafkatest.EnsureTopics(t, cfg)
	kafkatest.Produce(t, kafkatest.Client(t, cfg), kafkatest.Numbered(cfg.Topics.Inputs[0], "u", 10, 1)...)
	a := testTakeOver(t, cfg)
	first := takeOver(t, a)
	commitAt(t, a, 4, first.as.ID, first.ends)
	forged := []string{
		a.input.Topic + "/0/9223372036854775807", a.input.Topic + "/0/34359738368", a.input.Topic + "/0/10",
		a.input.Topic + "/1/5", "other/0/5", "no coordinates", "",
	}
	require.NoError(t, publishAs(a, first.as, 0, cfg.Topics.Unique, 4, 5))
	for i, source := range forged {
		require.NoError(t, publishRaw(a, first.as, int32(2+i), first.ends[0].TopicPartition, source))
	}
	require.NoError(t, publishAs(a, first.as, int32(2+len(forged)), cfg.Topics.Unique, 9))

	d, owner := startOwner(t, cfg)
	requirePublished(t, owner.own, 4, 5, 9)
	require.EqualValues(t, len(forged), testutil.ToFloat64(d.metrics.Skipped.WithLabelValues("foreign")))
	named := owner.own.foreign.named
	require.Len(t, named, mostNamed)
	require.Contains(t, named[0], "but the input ends at offset 10")
	require.Contains(t, named[0], cfg.Topics.Unique+"/0/")
}

// foreignEpoch: another program has written with our producer id and an epoch above ours, which shuts our marker out,
// however often we get the next one.
func foreignEpoch(t *testing.T, cfg broker.Config) {
	kafkatest.EnsureTopics(t, cfg)
	b := testTakeOver(t, cfg)
	second := takeOver(t, b)
	require.NoError(t, publishRaw(b, wire.Identity{ID: second.as.ID, Epoch: math.MaxInt16}, 0,
		second.ends[0].TopicPartition, ""))
	commitAt(t, b, 4, second.as.ID, second.ends)
	c := testTakeOver(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), kafkatest.Patience)
	defer cancel()
	_, err := c.attempt(ctx, outputEnds(t, c))
	var problem *diag.Problem
	require.True(t, errors.As(err, &problem), "%v", err)
	require.Contains(t, problem.Cause, cfg.Topics.Unique+"/0/")
	require.Contains(t, problem.Remedy, "kafka.transactional_id_prefix")

	// The remedy works.
	d := testTakeOver(t, cfg)
	d.id = transactionalID("another-prefix", wire.TopicPartition{Topic: cfg.Topics.Inputs[0]})
	fourth := takeOver(t, d)
	require.NotEqual(t, second.as.ID, fourth.as.ID)
	require.False(t, fourth.fenced)
	require.NoError(t, publishAs(d, fourth.as, 0, cfg.Topics.Unique, 6))
}
