package consumer

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

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
	require.Equal(t, int64(30), committed(t, cl, cfg))
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
