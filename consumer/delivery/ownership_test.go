package delivery

import (
	"math"
	"testing"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/pipeline/article"

	"github.com/stretchr/testify/require"
)

func TestRenewalInterval(t *testing.T) {
	o := &Owner{limits: &outputLimits{}}
	for _, at := range []struct{ memory, retention, want time.Duration }{
		{math.MaxInt64, math.MaxInt64, 6 * time.Hour},
		{24 * time.Hour, 7 * 24 * time.Hour, 6 * time.Hour},
		{24 * time.Hour, time.Hour, 20 * time.Minute},
		{30 * time.Minute, time.Hour, 10 * time.Minute},
	} {
		o.memory = at.memory
		o.limits.retention.Store(int64(at.retention))
		require.Equal(t, at.want, o.renewalInterval())
	}
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
	o := &Owner{own: own, partition: 2, writers: &writers{article.ToUnique: {topic: "unique", end: 20}}}
	require.Equal(t, &broker.Commit{Partition: 2, Next: 8, Owner: own.as, Positions: own.before}, o.Positions(8))
	require.Equal(t, int64(20), o.Positions(9).Positions[0].Offset)
	require.Equal(t, int64(wire.NoProducerID), (&Owner{}).Positions(1).Owner.ID)
}
