package consumer

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"echosieve/pipeline"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var outputs = []string{"articles-unique", "articles-duplicate", "articles-dead"}

func TestRecordsReachTheirTopicsInOrder(t *testing.T) {
	_, cfg := fake(t)
	ensureTopics(t, cfg)
	cl := client(t, cfg)
	const n = 3000
	recs := numbered(cfg.Topics.Input, "", n, 3)
	for i, r := range recs {
		r.Value = fmt.Appendf(nil, "%c%06d", "udxs"[i%4], i)
	}
	produce(t, cl, recs...)
	h := &router{}
	m := startMember(t, cfg, h)
	all := consumeUntil(t, cfg, outputs, atLeast(n*3/4))
	last := map[string]int64{}
	for _, r := range all {
		require.Equal(t, map[byte]string{'u': "articles-unique", 'd': "articles-duplicate", 'x': "articles-dead"}[r.Value[0]], r.Topic)
		source := strings.Split(header(r, pipeline.HeaderSource), "/")
		require.Equal(t, strconv.Itoa(int(r.Partition)), source[1], "input partition p goes to output partition p")
		offset, err := strconv.ParseInt(source[2], 10, 64)
		require.NoError(t, err)
		key := r.Topic + "/" + source[1]
		before, seen := last[key]
		require.False(t, seen && before >= offset, "order in %s: %d after %d", key, offset, before)
		last[key] = offset
	}
	m.stop(t)
	require.Equal(t, n*3/4, h.published)
	require.Equal(t, int64(n), sum(committed(t, cl, cfg)))
	require.Zero(t, m.value(t, "echosieve_consumer_in_flight_records"))
	require.Zero(t, m.value(t, "echosieve_consumer_in_flight_bytes"))
	require.EqualValues(t, n, m.value(t, "echosieve_consumer_fetched_records_total"))
	require.EqualValues(t, n*3/4, m.value(t, "echosieve_consumer_published_records_total"))
	require.NoError(t, m.health.last())
}

// committed returns the group's offsets by partition.
func committed(t *testing.T, cl *kgo.Client, cfg Config) map[int32]int64 {
	t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = cfg.Group
	topic := kmsg.NewOffsetFetchRequestTopic()
	topic.Topic = cfg.Topics.Input
	for p := range int32(cfg.Partitions) {
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = append(req.Topics, topic)
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = cfg.Group
	gt := kmsg.NewOffsetFetchRequestGroupTopic()
	gt.Topic, gt.Partitions = topic.Topic, topic.Partitions
	group.Topics = append(group.Topics, gt)
	req.Groups = append(req.Groups, group)
	res, err := req.RequestWith(context.Background(), cl)
	require.NoError(t, err)
	offsets := map[int32]int64{}
	for _, g := range res.Groups {
		for _, tp := range g.Topics {
			for _, p := range tp.Partitions {
				offsets[p.Partition] = p.Offset
			}
		}
	}
	for _, tp := range res.Topics {
		for _, p := range tp.Partitions {
			offsets[p.Partition] = p.Offset
		}
	}
	return offsets
}

func sum(offsets map[int32]int64) int64 {
	var n int64
	for _, o := range offsets {
		n += max(o, 0)
	}
	return n
}

func TestRecordsAreUnchangedByteForByte(t *testing.T) {
	for _, codec := range codecs {
		t.Run(codec, func(t *testing.T) {
			_, cfg := fake(t)
			cfg.Compression = codec
			cfg.Partitions = 1
			ensureTopics(t, cfg)
			in := []*kgo.Record{
				{Key: nil, Value: []byte("value"), Timestamp: time.UnixMilli(1)},
				{Key: []byte{}, Value: []byte{}, Timestamp: time.UnixMilli(0)},
				{Key: []byte("k"), Value: nil, Timestamp: time.UnixMilli(1700000000123)},
				{Key: []byte{0, 255}, Value: []byte("d\x00\xff"), Headers: []kgo.RecordHeader{{Key: "", Value: nil}, {Key: "a", Value: []byte{}}, {Key: "a", Value: []byte("b")}}},
				{Value: []byte("x" + strings.Repeat("long ", 20000))},
			}
			for _, r := range in {
				r.Topic = cfg.Topics.Input
			}
			produce(t, client(t, cfg), in...)
			m := startMember(t, cfg, &router{})
			out := consumeUntil(t, cfg, outputs, atLeast(len(in)))
			m.stop(t)
			original := consumeUntil(t, cfg, []string{cfg.Topics.Input}, atLeast(len(in)))
			copies := bySource(out)
			for _, want := range original {
				got := copies[pipeline.Coordinates{Topic: want.Topic, Partition: want.Partition, Offset: want.Offset}.String()]
				require.Len(t, got, 1)
				require.Equal(t, want.Key, got[0].Key)
				require.Equal(t, want.Value, got[0].Value)
				require.Equal(t, want.Timestamp, got[0].Timestamp)
				require.Equal(t, len(want.Headers)+1, len(got[0].Headers))
				for i := range want.Headers {
					require.Equal(t, want.Headers[i], got[0].Headers[i])
				}
			}
		})
	}
}

func TestMembersJoinAndLeaveWithoutLoss(t *testing.T) {
	_, cfg := fake(t)
	cfg.Partitions = 6
	ensureTopics(t, cfg)
	cl := client(t, cfg)
	const n = 12000
	stop := make(chan struct{})
	var feeding sync.WaitGroup
	feeding.Go(func() {
		recs := numbered(cfg.Topics.Input, "u", n, 6)
		for i := 0; i < n; i += 200 {
			if err := cl.ProduceSync(context.Background(), recs[i:i+200]...).FirstErr(); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		close(stop)
	})
	first := startMember(t, cfg, &router{})
	time.Sleep(300 * time.Millisecond)
	second := startMember(t, cfg, &router{})
	time.Sleep(500 * time.Millisecond)
	first.stop(t)
	third := startMember(t, cfg, &router{})
	<-stop
	feeding.Wait()
	all := consumeUntil(t, cfg, outputs, func(all []*kgo.Record) bool { return len(bySource(all)) == n })
	second.stop(t)
	third.stop(t)
	require.Equal(t, int64(n), sum(committed(t, cl, cfg)))
	t.Logf("%d of %d records delivered again", len(all)-n, n)
	require.Less(t, len(all)-n, n/20, "an orderly hand-over repeats almost nothing")
}

func TestDrainFinishesAndCommitsWorkUnderWay(t *testing.T) {
	_, cfg := fake(t)
	cfg.Partitions = 1
	ensureTopics(t, cfg)
	cl := client(t, cfg)
	produce(t, cl, numbered(cfg.Topics.Input, "u", 10, 1)...)
	deciding, release := make(chan struct{}), make(chan struct{})
	m := startMember(t, cfg, &router{decide: func(ctx context.Context, _ []pipeline.Record) error {
		close(deciding)
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}})
	<-deciding
	m.cancel()
	time.Sleep(200 * time.Millisecond)
	close(release)
	m.stop(t)
	require.Equal(t, int64(10), sum(committed(t, cl, cfg)))
}

func TestDrainGivesUpAfterItsTimeoutWithoutCommitting(t *testing.T) {
	_, cfg := fake(t)
	cfg.Partitions = 1
	cfg.DrainTimeout = 300 * time.Millisecond
	ensureTopics(t, cfg)
	cl := client(t, cfg)
	produce(t, cl, numbered(cfg.Topics.Input, "u", 10, 1)...)
	deciding := make(chan struct{})
	m := startMember(t, cfg, &router{decide: func(ctx context.Context, _ []pipeline.Record) error {
		close(deciding)
		<-ctx.Done()
		return ctx.Err()
	}})
	<-deciding
	start := time.Now()
	m.stop(t)
	require.Less(t, time.Since(start), 5*time.Second)
	require.Zero(t, sum(committed(t, cl, cfg)))
}

func TestInFlightIsBounded(t *testing.T) {
	_, cfg := fake(t)
	cfg.MaxInFlightRecords, cfg.BatchRecords = 64, 32
	ensureTopics(t, cfg)
	produce(t, client(t, cfg), numbered(cfg.Topics.Input, "u", 3000, 3)...)
	var most atomic.Int64
	var m *member
	ready := make(chan struct{})
	m = startMember(t, cfg, &router{decide: func(context.Context, []pipeline.Record) error {
		<-ready
		now := int64(m.value(t, "echosieve_consumer_in_flight_records"))
		if now > most.Load() {
			most.Store(now)
		}
		return nil
	}})
	close(ready)
	consumeUntil(t, cfg, outputs, atLeast(3000))
	m.stop(t)
	require.LessOrEqual(t, most.Load(), int64(64))
	require.Positive(t, most.Load())
}

func TestRecordAboveTheWholeBudgetPasses(t *testing.T) {
	_, cfg := fake(t)
	cfg.MaxInFlightBytes = 1000
	ensureTopics(t, cfg)
	produce(t, client(t, cfg),
		&kgo.Record{Topic: cfg.Topics.Input, Value: []byte("u" + strings.Repeat("a", 5000))},
		&kgo.Record{Topic: cfg.Topics.Input, Value: []byte("u" + strings.Repeat("b", 5000))})
	m := startMember(t, cfg, &router{})
	consumeUntil(t, cfg, outputs, atLeast(2))
	m.stop(t)
}

func TestDeletedRecordsAreCountedAndPassed(t *testing.T) {
	k, cfg := fake(t)
	cfg.Partitions = 1
	ensureTopics(t, cfg)
	cl := client(t, cfg)
	produce(t, cl, numbered(cfg.Topics.Input, "u", 10, 1)...)
	m := startMember(t, cfg, &router{})
	consumeUntil(t, cfg, outputs, atLeast(10))
	m.stop(t)
	produce(t, cl, numbered(cfg.Topics.Input, "d", 20, 1)...)
	require.NoError(t, k.DeleteRecords(cfg.Topics.Input, 0, 25))
	m = startMember(t, cfg, &router{})
	out := consumeUntil(t, cfg, []string{"articles-duplicate"}, atLeast(5))
	m.stop(t)
	require.Len(t, out, 5)
	require.EqualValues(t, 1, m.value(t, "echosieve_consumer_offset_resets_total"))
	require.Equal(t, int64(30), sum(committed(t, cl, cfg)))
}

func TestCommitBeyondTheEndGoesBackToTheStart(t *testing.T) {
	k, cfg := fake(t)
	cfg.Partitions = 1
	ensureTopics(t, cfg)
	produce(t, client(t, cfg), numbered(cfg.Topics.Input, "u", 10, 1)...)
	m := startMember(t, cfg, &router{})
	consumeUntil(t, cfg, outputs, atLeast(10))
	// The topic is made anew while we watch it.
	require.NoError(t, k.DeleteTopic(cfg.Topics.Input))
	require.NoError(t, k.CreateTopic(cfg.Topics.Input, 1, nil))
	produce(t, client(t, cfg), numbered(cfg.Topics.Input, "d", 3, 1)...)
	out := consumeUntil(t, cfg, []string{"articles-duplicate"}, atLeast(3))
	require.Len(t, out, 3)
	m.stop(t)
}

func TestMissingTopicsAreNamed(t *testing.T) {
	_, cfg := fake(t)
	cfg.CreateTopics = false
	m := startMember(t, cfg, &router{})
	select {
	case err := <-m.done:
		require.ErrorContains(t, err, "articles, articles-dead, articles-duplicate, articles-unique")
		require.ErrorContains(t, err, "create them or set kafka.create_topics: true")
	case <-time.After(20 * time.Second):
		t.Fatal("Run goes on")
	}
}

func TestErrorOfTheHandlerEndsRun(t *testing.T) {
	_, cfg := fake(t)
	ensureTopics(t, cfg)
	produce(t, client(t, cfg), numbered(cfg.Topics.Input, "u", 1, 1)...)
	broken := errors.New("broken for good")
	m := startMember(t, cfg, &router{decide: func(context.Context, []pipeline.Record) error { return broken }})
	select {
	case err := <-m.done:
		require.ErrorIs(t, err, broken)
	case <-time.After(20 * time.Second):
		t.Fatal("Run goes on")
	}
}

func TestMetricsHaveTheirNames(t *testing.T) {
	_, cfg := fake(t)
	m := startMember(t, cfg, &router{})
	families, err := m.reg.Gather()
	require.NoError(t, err)
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	sort.Strings(names)
	require.Equal(t, []string{
		"echosieve_consumer_assigned_partitions", "echosieve_consumer_commits_total", "echosieve_consumer_errors_total",
		"echosieve_consumer_fetched_bytes_total", "echosieve_consumer_fetched_records_total",
		"echosieve_consumer_in_flight_bytes", "echosieve_consumer_in_flight_records",
		"echosieve_consumer_offset_resets_total", "echosieve_consumer_published_records_total",
		"echosieve_consumer_rebalances_total", "echosieve_consumer_retries_total", "echosieve_consumer_skipped_records_total",
	}, names, "lag_records appears with the first partition")
	m.stop(t)
}

func TestOrderIsKeptWhenPublishingFails(t *testing.T) {
	k, cfg := fake(t)
	cfg.MaxMessageBytes = 2048 // many small requests
	cfg.Partitions = 1
	ensureTopics(t, cfg)
	const n = 2000
	produce(t, client(t, cfg), numbered(cfg.Topics.Input, "u", n, 1)...)
	var requests, refused atomic.Int64
	k.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if requests.Add(1)%4 != 2 {
			return nil, nil, false
		}
		refused.Add(1)
		res := req.ResponseKind().(*kmsg.ProduceResponse)
		for _, rt := range req.(*kmsg.ProduceRequest).Topics {
			topic := kmsg.NewProduceResponseTopic()
			topic.Topic = rt.Topic
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition, p.ErrorCode = rt.Partitions[0].Partition, 6 // not leader
			topic.Partitions = append(topic.Partitions, p)
			res.Topics = append(res.Topics, topic)
		}
		return res, nil, true
	})
	m := startMember(t, cfg, &router{})
	out := consumeUntil(t, cfg, []string{cfg.Topics.Unique}, atLeast(n))
	m.stop(t)
	require.Positive(t, refused.Load(), "the fault fired")
	require.Len(t, out, n)
	for i, r := range out {
		require.Equal(t, fmt.Sprintf("u%06d", i), string(r.Value))
	}
	require.EqualValues(t, refused.Load(), m.value(t, "echosieve_consumer_retries_total"))
}

func TestLeaderMovesBetweenBrokers(t *testing.T) {
	k, cfg := fake(t, kfake.NumBrokers(3))
	cfg.Partitions = 1
	ensureTopics(t, cfg)
	cl := client(t, cfg)
	m := startMember(t, cfg, &router{})
	for i := range 6 {
		for _, topic := range []string{cfg.Topics.Input, cfg.Topics.Unique} {
			require.NoError(t, k.MoveTopicPartition(topic, 0, int32(i%3)))
		}
		produce(t, cl, numbered(cfg.Topics.Input, fmt.Sprintf("u%d-", i), 50, 1)...)
		time.Sleep(100 * time.Millisecond)
	}
	out := consumeUntil(t, cfg, outputs, atLeast(300))
	m.stop(t)
	require.Len(t, out, 300)
	require.NoError(t, m.health.last())
}
