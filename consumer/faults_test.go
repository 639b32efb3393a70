package consumer

import (
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"echosieve/consumer/broker"
	"echosieve/test/kafkatest"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A broker that was cut off answers as leader with a shorter log. Nothing is read again, unless that lasts.
func TestAShorterLogIsNotBelievedAtOnce(t *testing.T) {
	k, cfg := kafkatest.Fake(t)
	cfg.Partitions = 1
	cl := kafkatest.Filled(t, cfg, "u", 20)
	m := newMember(t, cfg, &router{})
	m.work.shortPatience = time.Hour
	m.start()
	kafkatest.EventuallyCommitted(t, cfg)
	var asked atomic.Int64 // for the end of the log
	short := func(r kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if asked.Load() == 3 {
			return nil, nil, false
		}
		if req, ok := r.(*kmsg.FetchRequest); ok {
			res := req.ResponseKind().(*kmsg.FetchResponse)
			p := kmsg.NewFetchResponseTopicPartition()
			p.ErrorCode = 1 // OFFSET_OUT_OF_RANGE
			res.Topics = []kmsg.FetchResponseTopic{{Topic: cfg.Topics.Inputs[0],
				Partitions: []kmsg.FetchResponseTopicPartition{p}}}
			return res, nil, true
		}
		asked.Add(1)
		req := r.(*kmsg.ListOffsetsRequest)
		res := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		answer := kmsg.ListOffsetsResponseTopic{Topic: cfg.Topics.Inputs[0]}
		for _, asked := range req.Topics[0].Partitions {
			p := kmsg.NewListOffsetsResponseTopicPartition()
			if p.Offset = 0; asked.Timestamp == -1 { // the end; else the start
				p.Offset = 15
			}
			answer.Partitions = append(answer.Partitions, p)
		}
		res.Topics = []kmsg.ListOffsetsResponseTopic{answer}
		return res, nil, true
	}
	k.ControlKey(int16(kmsg.Fetch), short)
	k.ControlKey(int16(kmsg.ListOffsets), short)
	require.Eventually(t, func() bool { return asked.Load() == 3 }, kafkatest.Patience, 10*time.Millisecond)
	kafkatest.Produce(t, cl, kafkatest.Numbered(cfg.Topics.Inputs[0], "u", 5, 1)...)
	kafkatest.EventuallyCommitted(t, cfg)
	m.stop(t)
	require.Zero(t, m.value(t, "echosieve_consumer_offset_resets_total"))
	require.Equal(t, 25.0, m.value(t, "echosieve_consumer_fetched_records_total"))
	require.Positive(t, m.logged.count(errShort.Error()))
}

// A group without a commit begins at the log start. While the broker does not tell it, the position is
// unknown: it is not 0, which retention has removed. What is removed behind a commit is counted and passed.
func TestDeletedRecords(t *testing.T) {
	k, cfg := kafkatest.Fake(t)
	cfg.Partitions = 1
	cl := kafkatest.Filled(t, cfg, "u", 20)
	require.NoError(t, k.DeleteRecords(cfg.Topics.Inputs[0], 0, 15))
	var refused atomic.Int64
	k.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		if refused.Load() >= 4 {
			return nil, nil, false
		}
		refused.Add(1)
		return nil, kafkatest.ErrCut, true // kfake closes the connection
	})
	run := func(topic string, resets, lost int) {
		t.Helper()
		m := startMember(t, cfg, &router{})
		out := kafkatest.ConsumeUntil(t, cfg, []string{topic}, kafkatest.AtLeast(5))
		m.stop(t)
		require.Len(t, out, 5)
		require.EqualValues(t, resets, m.value(t, "echosieve_consumer_offset_resets_total"))
		require.EqualValues(t, lost, m.value(t, "echosieve_consumer_lost_records_total"))
	}
	run(cfg.Topics.Unique, 0, 0)
	require.EqualValues(t, 4, refused.Load(), "the fault fired")
	kafkatest.Produce(t, cl, kafkatest.Numbered(cfg.Topics.Inputs[0], "d", 20, 1)...)
	require.NoError(t, k.DeleteRecords(cfg.Topics.Inputs[0], 0, 35))
	run(cfg.Topics.Duplicate, 1, 15) // offsets 20 to 34
	require.Equal(t, int64(40), kafkatest.Committed(t, cl, cfg))
}

func TestLeaderMovesBetweenBrokers(t *testing.T) {
	k, cfg := kafkatest.Fake(t, kfake.NumBrokers(3))
	cfg.Partitions = 1
	kafkatest.EnsureTopics(t, cfg)
	cl := kafkatest.Client(t, cfg)
	m := startMember(t, cfg, &router{})
	for i := range 6 {
		for _, topic := range []string{cfg.Topics.Inputs[0], cfg.Topics.Unique} {
			require.NoError(t, k.MoveTopicPartition(topic, 0, int32(i%3)))
		}
		kafkatest.Produce(t, cl, kafkatest.Numbered(cfg.Topics.Inputs[0], fmt.Sprintf("u%d-", i), 50, 1)...)
		// The next move comes while some of these are under way.
		require.Eventually(t,
			func() bool { return m.value(t, "echosieve_consumer_acknowledged_records_total") > float64(50*i) },
			kafkatest.Patience, time.Millisecond)
	}
	out := kafkatest.ConsumeUntil(t, cfg, outputs, kafkatest.AtLeast(300))
	m.stop(t)
	require.Len(t, out, 300)
	require.NoError(t, m.health.last())
}

func TestPartitionsMissedWhenSharingOutAreFoundLater(t *testing.T) {
	k, cfg := kafkatest.Fake(t)
	kafkatest.EnsureTopics(t, cfg)
	var asked atomic.Int64
	k.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		// version 6 is the request of the group's leader, which asks a broker that lags behind
		if req.GetVersion() != 6 || asked.Add(1) > 1 {
			return nil, nil, false
		}
		res := req.ResponseKind().(*kmsg.MetadataResponse)
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic, topic.ErrorCode = kmsg.StringPtr(cfg.Topics.Inputs[0]), 3 // unknown
		res.Topics = append(res.Topics, topic)
		return res, nil, true
	})
	kafkatest.Produce(t, kafkatest.Client(t, cfg), kafkatest.Numbered(cfg.Topics.Inputs[0], "u", 10, 3)...)
	m := startMember(t, cfg, &router{})
	kafkatest.ConsumeUntil(t, cfg, outputs, kafkatest.AtLeast(10))
	m.stop(t)
	require.Greater(t, asked.Load(), int64(1), "the fault fired")
}

// hanging accepts connections and never answers, like a broker whose process is stopped.
func hanging(t *testing.T) (address string) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

func TestFirstBrokerThatHangsIsPassedOver(t *testing.T) {
	for _, login := range []broker.SASL{{}, {Mechanism: "plain", Username: "u", Password: "p"}} {
		t.Run("login "+login.Mechanism, func(t *testing.T) {
			var opts []kfake.Opt
			if login.Mechanism != "" {
				opts = append(opts, kfake.EnableSASL(), kfake.Superuser("PLAIN", login.Username, login.Password))
			}
			_, cfg := kafkatest.Fake(t, opts...)
			cfg.SASL = login
			kafkatest.EnsureTopics(t, cfg)
			cfg.Brokers = append([]string{hanging(t)}, cfg.Brokers...)
			m := startMember(t, cfg, &router{})
			require.Eventually(t, func() bool { return m.value(t, "echosieve_consumer_assigned_partitions") == 3 },
				kafkatest.Patience, 50*time.Millisecond, "the group is joined through the second")
			m.stop(t)
		})
	}
}
