package consumer

import (
	"fmt"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"echosieve/consumer/broker"
	"echosieve/test/kafkatest"
)

// A process that was killed has left its member behind. The next process of its name does not wait for the session of
// that member to end.
func TestFormerProcessOfTheNameIsTakenOut(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	cfg.SessionTimeout, cfg.DrainTimeout = kafkatest.Patience, kafkatest.Patience/2
	kafkatest.EnsureTopics(t, cfg)
	join := func(name string) {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Group, req.ProtocolType = cfg.Group, "consumer"
		req.SessionTimeoutMillis = int32(cfg.SessionTimeout.Milliseconds())
		req.RebalanceTimeoutMillis = req.SessionTimeoutMillis
		metadata := kmsg.NewConsumerMemberMetadata()
		metadata.Topics = []string{cfg.Topics.Inputs[0]}
		req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: metadata.AppendTo(nil)}}
		client := kafkatest.Client(t, cfg, kgo.ClientID(name))
		res, err := req.RequestWith(t.Context(), client)
		require.NoError(t, err)
		if req.MemberID = res.MemberID; res.ErrorCode == int16(kafka.MemberIDRequired) {
			res, err = req.RequestWith(t.Context(), client)
			require.NoError(t, err)
		}
		require.Zero(t, res.ErrorCode)
	}
	join(NewName("127.0.0.1:9464", ""))
	m := newMember(t, cfg, &router{})
	m.NameMember(NewName("127.0.0.1:9464", ""))
	start := time.Now()
	m.start()
	serves(t, m)
	require.Less(t, time.Since(start), cfg.SessionTimeout/2)
	require.Equal(t, 1, m.logged.count("took the former process of this name out"))
}

// Two processes of one name that both live do not fight: the one that started later ends, and says which the other is.
func TestSecondProcessOfANameEnds(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	cfg.SessionTimeout, cfg.DrainTimeout = 3*time.Second, time.Second
	first, second := newMember(t, cfg, &router{}), newMember(t, cfg, &router{})
	first.NameMember(NewName("0.0.0.0:9464", ""))
	second.NameMember(NewName("0.0.0.0:9464", ""))
	first.start()
	serves(t, first)
	second.start()
	err := second.ended(t)
	name, _ := nameOf(first.member)
	require.ErrorContains(t, err, "two processes of group "+cfg.Group+" have the name "+name.process)
	require.ErrorContains(t, err, name.began())
	serves(t, first)
	first.stop(t)
}

// While other members keep the group from assigning partitions, log and warning say which, and until when.
func TestAwaitedMembersAreNamed(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	m := newMember(t, cfg, &router{})
	warned := make(chan string, 10)
	m.WarnWith(func(kind, text string) {
		if kind == warnJoin {
			warned <- text
		}
	})
	_, is := nameOf(broker.ClientID)
	require.False(t, is)
	slow := kafkatest.Client(t, cfg, kgo.ClientID("slow"), kgo.ConsumerGroup(cfg.Group),
		kgo.ConsumeTopics(cfg.Topics.Inputs[0]), kgo.Balancers(kgo.RangeBalancer()), kgo.BlockRebalanceOnPoll(),
		kgo.RebalanceTimeout(cfg.SessionTimeout))
	kafkatest.Filled(t, cfg, "u", 3)
	slow.PollFetches(t.Context()) // it does not join again before AllowRebalance
	m.start()
	text := <-warned
	require.Contains(t, text, "no partitions yet")
	require.Contains(t, text, "slow-")
	require.Contains(t, text, fmt.Sprintf("at most until %s", time.Now().UTC().Format("2006")))
	slow.AllowRebalance()
	serves(t, m)
	require.Empty(t, <-warned)
	require.Equal(t, 1, m.logged.count("no partitions yet"))
}
