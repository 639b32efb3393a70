package consumer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"echosieve/consumer/broker"
	"echosieve/internal/stopping"
	"echosieve/pipeline/record"
	"echosieve/test/kafkatest"
)

// serves waits until partitions are assigned to the member.
func serves(t *testing.T, m *member) {
	t.Helper()
	require.Eventually(t, func() bool { return m.value(t, "echosieve_consumer_assigned_partitions") > 0 },
		kafkatest.Patience, time.Millisecond)
}

func TestDrainFinishesAndCommitsWorkUnderWay(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	cfg.Partitions = 1
	cl := kafkatest.Filled(t, cfg, "u", 10)
	deciding, release := make(chan struct{}), make(chan struct{})
	m := startMember(t, cfg, &router{decide: func(ctx context.Context, _ []record.Record) error {
		close(deciding)
		return opened(ctx, release)
	}})
	<-deciding
	m.cancel()
	require.Eventually(t, func() bool { return m.logged.count("the group generation has ended") == 1 },
		kafkatest.Patience, time.Millisecond)
	close(release)
	m.stop(t)
	require.Equal(t, int64(10), kafkatest.Committed(t, cl, cfg))
}

// The process stops while the servers are away that two of three partitions need: the index of one, the output topic of
// another. The third partition finishes and commits its work, and then nothing is waited for.
func TestStopDoesNotWaitForServersThatAreAway(t *testing.T) {
	k, cfg := kafkatest.Fake(t)
	cfg.SessionTimeout, cfg.DrainTimeout = kafkatest.Patience, kafkatest.Patience/2
	kafkatest.EnsureTopics(t, cfg)
	cl := kafkatest.Client(t, cfg)
	var refused atomic.Int64
	k.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		topic := req.(*kmsg.ProduceRequest).Topics[0]
		if topic.Topic != cfg.Topics.Unique || topic.Partitions[0].Partition != 1 {
			return nil, nil, false
		}
		refused.Add(1)
		return kafkatest.ProduceError(req, kafka.NotEnoughReplicas), nil, true
	})
	kafkatest.Produce(t, cl, kafkatest.Numbered(cfg.Topics.Inputs[0], "u", 30, 3)...)
	deciding, release := make(chan int32, 100), make(chan struct{})
	m := startMember(t, cfg, &router{decide: func(ctx context.Context, recs []record.Record) error {
		switch recs[0].Partition {
		case 0: // as the index does it
			retry, cancel := stopping.Retry(ctx)
			defer cancel()
			deciding <- 0
			<-retry.Done()
			return retry.Err()
		case 2:
			deciding <- 2
			<-release
		}
		return nil
	}})
	for seen := map[int32]bool{}; len(seen) < 2; {
		seen[<-deciding] = true
	}
	require.Eventually(t, func() bool { return refused.Load() > 1 }, kafkatest.Patience, time.Millisecond)
	m.cancel()
	require.Eventually(t, func() bool {
		return m.logged.count("the process stops while work under way fails") == 2
	}, kafkatest.Patience, time.Millisecond)
	close(release)
	m.stop(t)
	require.Zero(t, m.logged.count("work under way did not finish in time, its records will be delivered again"))
	require.Equal(t, int64(10), kafkatest.Committed(t, cl, cfg), "the third partition's work")
}

func TestOvertimeHasOneBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		generation, end := context.WithCancel(t.Context())
		work, last, stop := drainContexts(generation, 8*time.Second)
		defer stop()
		time.Sleep(time.Hour)
		require.NoError(t, work.Err())
		end()
		start := time.Now()
		<-work.Done()
		require.Equal(t, 5*time.Second, time.Since(start))
		require.NoError(t, last.Err())
		<-last.Done()
		require.Equal(t, 7*time.Second, time.Since(start))
	})
}

func TestMissingTopicsAreNamed(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	cfg.CreateTopics = false
	err := startMember(t, cfg, &router{}).ended(t)
	require.ErrorContains(t, err, "articles, articles-dead, articles-duplicate, articles-unique")
	require.ErrorContains(t, err, "create them or set kafka.create_topics: true")
}

// An error that wraps the end of a context of the Handler's own is an error like any other. Otherwise the
// process would end well, or go on without consuming.
func TestErrorOfTheHandlerEndsRun(t *testing.T) {
	for name, broken := range map[string]error{
		"an error":            errors.New("permanently broken"),
		"a canceled context":  fmt.Errorf("read: %w", context.Canceled),
		"a deadline exceeded": fmt.Errorf("read: %w", context.DeadlineExceeded),
	} {
		t.Run(name, func(t *testing.T) {
			_, cfg := kafkatest.Fake(t)
			kafkatest.Filled(t, cfg, "u", 1)
			m := startMember(t, cfg, &router{decide: func(context.Context, []record.Record) error { return broken }})
			require.ErrorIs(t, m.ended(t), broken)
		})
	}
}

// Members of two indexes: a newcomer waits while another index decides; of two that start at once, one goes on, and
// only the members of one index ever have partitions.
func TestOneIndexDecidesInAGroup(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	cl := kafkatest.Filled(t, cfg, "u", 30)
	start := func(port, index string) *member {
		m := newMember(t, cfg, &router{})
		m.KeepLabels(&labeler{label: index, alone: true})
		m.NameMember(NewName("127.0.0.1:"+port, index))
		m.start()
		return m
	}
	assigned := func(m *member) bool { return m.value(t, "echosieve_consumer_assigned_partitions") > 0 }
	waits := func(m *member) bool {
		err := m.health.last()
		return err != nil && strings.Contains(err.Error(), "another recipe or layout decides in group "+cfg.Group)
	}
	eventually := func(f func() bool) {
		t.Helper()
		require.Eventually(t, f, kafkatest.Patience, time.Millisecond)
	}
	a, b := start("1", "a"), start("2", "b")
	eventually(func() bool { return assigned(a) && waits(b) || assigned(b) && waits(a) })
	if waits(a) {
		a, b = b, a
	}
	eventually(func() bool { return kafkatest.Committed(t, cl, cfg) == 30 })
	a2 := start("3", a.labels.Label())
	serves(t, a2)
	require.True(t, waits(b))
	a.stop(t)
	serves(t, a2)
	require.True(t, waits(b), "it waits for the last of them")
	a2.stop(t)
	serves(t, b)
	require.Equal(t, int64(cfg.Partitions), b.labels.Labels.(*labeler).caught.Load(), "it has stored what was decided")
	require.False(t, assigned(a) || assigned(a2))
	b.stop(t)
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
	name, _ := nameOf(first.clientID)
	require.ErrorContains(t, err, "two processes of group "+cfg.Group+" have the name "+name.process)
	require.ErrorContains(t, err, name.began())
	serves(t, first)
	first.stop(t)
}

// While other members keep the group from assigning partitions, log and warning say which, and since when.
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
	require.Contains(t, text, "no partitions since "+time.Now().UTC().Format("2006"))
	require.Contains(t, text, "slow-")
	slow.AllowRebalance()
	serves(t, m)
	require.Empty(t, <-warned)
	require.Equal(t, 1, m.logged.count("no partitions since"))
}
