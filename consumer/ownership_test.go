package consumer

import (
	"math"
	"testing"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/pipeline/article"

	"github.com/stretchr/testify/require"
)

// A commit names the positions of the moment at which its mark was set, however much later it is sent.
func TestPositionsBelongToTheirMark(t *testing.T) {
	own := &ownership{as: wire.Identity{ID: 7, Epoch: 3},
		ends: []broker.Position{{TopicPartition: wire.TopicPartition{Topic: "unique"}, Offset: 10}}}
	unique := &writer{topic: "unique", end: 20}
	p := &partition{own: own, writers: &writers{article.ToUnique: unique}}
	g := &groupGeneration{partitions: map[int32]*partition{0: p}}
	p.setMark(5)
	unique.end = 30 // an output of a record after the mark
	_, commits := g.moved()
	require.Equal(t, own.as, commits[0].Owner)
	require.Equal(t, int64(20), commits[0].Positions[0].Offset)
	p.setMark(6)
	_, commits = g.moved()
	require.Equal(t, int64(30), commits[0].Positions[0].Offset)
}

func TestRenewalInterval(t *testing.T) {
	c := &Consumer{limits: &outputLimits{}}
	for _, at := range []struct{ memory, retention, want time.Duration }{
		{math.MaxInt64, math.MaxInt64, 6 * time.Hour},
		{24 * time.Hour, 7 * 24 * time.Hour, 6 * time.Hour},
		{24 * time.Hour, time.Hour, 20 * time.Minute},
		{30 * time.Minute, time.Hour, 10 * time.Minute},
	} {
		c.fenceMemory = at.memory
		c.limits.retention.Store(int64(at.retention))
		require.Equal(t, at.want, c.renewalInterval())
	}
}
