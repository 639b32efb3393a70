package consumer

import (
	"testing"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/test/kafkatest"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// realMixedDelivery replaces members one by one, forth and back, as an upgrade and a downgrade do: a member
// without exactly once commits labels without positions, and reads those of others.
func realMixedDelivery(t *testing.T, cfg broker.Config) {
	cfg.Partitions = 6
	kafkatest.EnsureTopics(t, cfg)
	stop := kafkatest.Feed(t, cfg, 60*time.Millisecond)
	start := func(delivery string) *member {
		t.Helper()
		own := cfg
		own.Delivery = delivery
		m := startMember(t, own, &router{})
		require.Eventually(t, func() bool { return m.value(t, "echosieve_consumer_acknowledged_records_total") > 0 },
			kafkatest.Patience, 10*time.Millisecond)
		return m
	}
	first := start(broker.AtLeastOnce)
	upgraded := start(broker.ExactlyOnce)
	require.Positive(t, upgraded.value(t, "echosieve_consumer_takeovers_total"))
	first.stop(t)
	downgraded := start(broker.AtLeastOnce)
	upgraded.stop(t)
	latest := start(broker.ExactlyOnce)
	downgraded.stop(t)
	n := stop()
	all := kafkatest.ConsumeUntil(t, cfg, kafkatest.OutTopics(cfg.Topics),
		func(all []*kgo.Record) bool { return len(kafkatest.BySource(all)) == n })
	kafkatest.EventuallyCommitted(t, cfg)
	latest.stop(t)
	t.Logf("%d of %d records delivered again", len(all)-n, n)
	require.Less(t, len(all)-n, n/10)

	// What the last member has committed names positions again, and its input topic.
	last := lastCommit(t, cfg)
	require.Positive(t, last.Owner.ID)
	require.Len(t, last.Positions, 3)
	require.True(t, last.OfOtherTopic(wire.TopicID{1}))
}
