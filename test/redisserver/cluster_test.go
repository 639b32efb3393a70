package redisserver

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Moved slots, a promotion and a killed master show as documented, and no key is lost.
func TestCluster(t *testing.T) {
	ctx := t.Context()
	c := StartCluster(t, 3, 1)
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	defer client.Close()
	for i := range 1000 {
		require.NoError(t, client.Set(ctx, fmt.Sprint(i), i, 0).Err())
	}
	intact := func() {
		t.Helper()
		for i := range 1000 {
			require.Equal(t, fmt.Sprint(i), client.Get(ctx, fmt.Sprint(i)).Val())
		}
	}

	from, err := c.Owner(ctx, 0)
	require.NoError(t, err)
	to, err := c.Owner(ctx, slotCount-1)
	require.NoError(t, err)
	require.NotEqual(t, from, to)
	slots, err := c.SlotsWithKeys(ctx, from, 20)
	require.NoError(t, err)
	require.Len(t, slots, 20)
	keys, err := c.MigrateSlots(ctx, slots, to, time.Millisecond)
	require.NoError(t, err)
	require.GreaterOrEqual(t, keys, 20)
	owner, err := c.Owner(ctx, slots[0])
	require.NoError(t, err)
	require.Equal(t, to, owner)
	intact()
	inSlot, err := c.Client(to).ClusterGetKeysInSlot(ctx, slots[0], 1).Result()
	require.NoError(t, err)
	require.NotEmpty(t, inSlot)
	// The cluster client may have learnt of the move before its first request.
	require.ErrorContains(t, c.Client(from).Get(ctx, inSlot[0]).Err(), "MOVED")
	seen, err := c.Errors(ctx)
	require.NoError(t, err)
	require.Positive(t, seen["MOVED"])

	former, err := c.Promote(ctx, 0, "")
	require.NoError(t, err)
	owner, err = c.Owner(ctx, 0)
	require.NoError(t, err)
	require.NotEqual(t, former, owner)
	intact()

	killed, err := c.KillMaster(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, owner, killed)
	require.NoError(t, c.WaitPromotion(ctx, 0, killed))
	killed.Restart()
	require.NoError(t, c.WaitReady(ctx))
	replicas, err := c.Replicas(ctx, 0)
	require.NoError(t, err)
	require.Equal(t, []*Server{killed}, replicas)
	intact()
}

func TestSentinel(t *testing.T) {
	ctx := t.Context()
	c := StartSentinel(t)
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: MasterName, SentinelAddrs: c.Addrs()})
	defer client.Close()
	require.NoError(t, client.Set(ctx, "k", "v", 0).Err())
	former, err := c.Failover(ctx)
	require.NoError(t, err)
	require.Equal(t, "v", client.Get(ctx, "k").Val())

	killed, err := c.KillMaster(ctx)
	require.NoError(t, err)
	require.NotEqual(t, former, killed)
	require.NoError(t, c.WaitPromotion(ctx, killed))
	killed.Restart()
	require.NoError(t, c.WaitReady(ctx))
	master, err := c.Master(ctx)
	require.NoError(t, err)
	require.Equal(t, former, master)
	require.Equal(t, "v", client.Get(ctx, "k").Val())
}
