package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"echosieve/consumer/broker"
	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestMain(m *testing.M) { os.Exit(kafkaserver.Main(m)) }

func openArchive(t *testing.T, cfg broker.Config) *Archive {
	t.Helper()
	a, err := NewArchive(cfg, cfg.Topics.All()...)
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return a
}

// Commands fail at once if nothing listens at any of the addresses, instead of waiting for a restart.
func TestArchiveWithoutBrokers(t *testing.T) {
	cfg := kafkatest.Config("127.0.0.1:1", "127.0.0.1:2")
	before := time.Now()
	_, err := openArchive(t, cfg).Labels(t.Context(), "group", cfg.Topics.Inputs[0])
	require.ErrorContains(t, err, "no broker answers at this address")
	require.Less(t, time.Since(before), archivePatience, "nobody waits for brokers that never answered")
}

// A broker that has answered once and is away now is waited for, because it may restart.
func TestArchiveWaitsForARestart(t *testing.T) {
	k, cfg := kafkatest.Fake(t)
	kafkatest.EnsureTopics(t, cfg)
	a := openArchive(t, cfg)
	_, err := a.Partitions(t.Context(), cfg.Topics.Inputs[0])
	require.NoError(t, err)
	k.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = a.Labels(ctx, cfg.Group, cfg.Topics.Inputs[0])
	require.Error(t, err)
	require.Error(t, ctx.Err(), "it gave up before: %v", err)
}

func TestArchive(t *testing.T) {
	k, cfg := kafkatest.Fake(t)
	kafkatest.EnsureTopics(t, cfg)
	a, ctx, topic := openArchive(t, cfg), context.Background(), cfg.Topics.Inputs[0]
	start := time.UnixMilli(1_700_000_000_000)
	for i := range 10 { // a record batch each
		kafkatest.Produce(t, kafkatest.Client(t, cfg), &kgo.Record{Topic: topic, Partition: 1, Value: fmt.Append(nil, i),
			Timestamp: start.Add(time.Duration(i) * time.Second)})
	}

	n, err := a.Partitions(ctx, topic)
	require.NoError(t, err)
	require.Equal(t, cfg.Partitions, n)
	offsets, err := a.Offsets(ctx, topic, 1)
	require.NoError(t, err)
	require.Equal(t, Offsets{0, 10}, offsets)
	offset, err := a.OffsetAt(ctx, topic, 1, start.Add(3500*time.Millisecond))
	require.NoError(t, err)
	require.EqualValues(t, 4, offset)
	offset, err = a.OffsetAt(ctx, topic, 1, start.Add(time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, -1, offset)

	at := article.Coordinates{Topic: topic, Partition: 1, Offset: 7}
	r, err := a.Record(ctx, at)
	require.NoError(t, err)
	require.Equal(t, at, r.Coordinates)
	require.Equal(t, "7", string(r.Value))
	for _, missing := range []int64{10, 11} {
		at.Offset = missing
		_, err = a.Record(ctx, at)
		require.ErrorIs(t, err, ErrNoRecord)
	}

	_, err = a.Record(ctx, article.Coordinates{Topic: topic, Partition: int32(cfg.Partitions)})
	require.ErrorIs(t, err, ErrNoRecord, "a partition that does not exist")

	var values string
	at.Offset = 2
	collect := func(r *record.Record) error { values += string(r.Value); return nil }
	require.NoError(t, a.Read(ctx, at, 9, collect))
	require.Equal(t, "2345678", values)
	var fetches, emptied atomic.Int64
	k.ControlKey(int16(kmsg.Fetch), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if fetches.Add(1)%2 == 0 {
			return nil, nil, false
		}
		emptied.Add(1)
		return emptyFetch(req.(*kmsg.FetchRequest)), nil, true
	})
	values = ""
	require.NoError(t, a.Read(ctx, at, 9, collect))
	require.Equal(t, "2345678", values, "a broker that has just become the leader sends no records at first")
	require.Positive(t, emptied.Load(), "the fault fired")
	full := errors.New("full")
	require.ErrorIs(t, a.Read(ctx, at, 9, func(*record.Record) error { return full }), full)

	before := time.Now()
	labels, err := a.Labels(ctx, "nobody", topic) // that is an answer, and not to be asked for again
	require.NoError(t, err)
	require.Empty(t, labels)
	committed, err := a.AllCommitted(ctx, "nobody")
	require.NoError(t, err)
	require.Empty(t, committed)
	at.Topic = "no-such-topic"
	_, err = a.Record(ctx, at)
	require.ErrorContains(t, err, "the topic or partition does not exist")
	require.ErrorContains(t, err, "check its name, or grant Read on it")
	require.Less(t, time.Since(before), archivePatience, "a command waits for a topic that does not exist")
}

// emptyFetch is a reply without records.
func emptyFetch(req *kmsg.FetchRequest) kmsg.Response {
	res := req.ResponseKind().(*kmsg.FetchResponse)
	for _, rt := range req.Topics {
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = rt.Topic, rt.TopicID
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition = rt.Partitions[0].Partition
		topic.Partitions = append(topic.Partitions, p)
		res.Topics = append(res.Topics, topic)
	}
	return res
}

// An archive shows committed records only, and goes on behind records that were deleted.
func TestArchiveOfRealKafka(t *testing.T) {
	kafkatest.OnVersions(t, kafkatest.SharedOr, func(t *testing.T, s *kafkaserver.Server) {
		archiveOfRealKafka(t, kafkatest.RealConfig(s, "archive"))
	})
}

func archiveOfRealKafka(t *testing.T, cfg broker.Config) {
	kafkatest.EnsureTopics(t, cfg)
	a, ctx, topic := openArchive(t, cfg), context.Background(), cfg.Topics.Inputs[0]
	plain := kafkatest.Client(t, cfg)
	for i := range 5 {
		kafkatest.Produce(t, plain, &kgo.Record{Topic: topic, Value: fmt.Append(nil, i)})
	}
	transactional := kafkatest.Client(t, cfg, kgo.TransactionalID(cfg.Group))
	require.NoError(t, transactional.BeginTransaction())
	kafkatest.Produce(t, transactional, &kgo.Record{Topic: topic, Value: []byte("aborted")})
	require.NoError(t, transactional.EndTransaction(ctx, kgo.TryAbort))
	kafkatest.Produce(t, plain, &kgo.Record{Topic: topic, Value: []byte("7")})
	require.NoError(t, transactional.BeginTransaction())
	kafkatest.Produce(t, transactional, &kgo.Record{Topic: topic, Value: []byte("open")})

	offsets, err := a.Offsets(ctx, topic, 0)
	require.NoError(t, err)
	require.Equal(t, Offsets{0, 8}, offsets, "the open transaction's record counts, or the aborted one's does not")
	at := article.Coordinates{Topic: topic, Offset: 5}
	_, err = a.Record(ctx, at)
	require.ErrorIs(t, err, ErrNoRecord, "the record of an aborted transaction")

	deleted := kadm.Offsets{}
	deleted.AddOffset(topic, 0, 2, -1)
	_, err = kadm.NewClient(plain).DeleteRecords(ctx, deleted)
	require.NoError(t, err)
	at.Offset = 1
	_, err = a.Record(ctx, at)
	require.ErrorIs(t, err, ErrNoRecord, "a deleted record")
	var values string
	at.Offset = 0
	require.NoError(t, a.Read(ctx, at, offsets.Next,
		func(r *record.Record) error { values += string(r.Value); return nil }))
	require.Equal(t, "2347", values)
	require.NoError(t, transactional.EndTransaction(ctx, kgo.TryAbort))
}

// Calls of Record wait until the responses of the others have left memory.
func TestRecordsShareTheirMemory(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	cfg.MaxInFlightBytes = 64 << 10
	kafkatest.EnsureTopics(t, cfg)
	kafkatest.Produce(t, kafkatest.Client(t, cfg, kgo.ProducerBatchCompression(kgo.NoCompression())),
		&kgo.Record{Topic: cfg.Topics.Inputs[0], Value: make([]byte, 20000)})
	a, at := openArchive(t, cfg), article.Coordinates{Topic: cfg.Topics.Inputs[0]}
	p := a.cluster.Partition(at.Topic, at.Partition)
	p.Limiter = a.limiter
	_, release, err := p.Fetch(t.Context(), at.Offset, 1)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = a.Record(ctx, at)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	release()
	r, err := a.Record(t.Context(), at)
	require.NoError(t, err)
	require.Len(t, r.Value, 20000)
	require.NoError(t, a.Read(t.Context(), at, 1, func(*record.Record) error {
		_, err := a.Record(t.Context(), at) // while Read holds its response
		return err
	}))
}
