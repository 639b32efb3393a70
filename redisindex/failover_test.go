package redisindex

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
	"echosieve/test/tier"
)

// faultTime bounds the faults of one test, from the start of the first until every process has noticed the last.
func faultTime(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Slots that hold keys move to another master and back under load. Nothing is lost, so no verdict may change.
func TestSlotMigrationUnderLoad(t *testing.T) {
	for _, buckets := range redisrig.Kinds {
		t.Run(buckets, func(t *testing.T) {
			if buckets != keyspace.BucketsPacked {
				tier.All(t)
			}
			slotMigrationUnderLoad(t, buckets)
		})
	}
}

func slotMigrationUnderLoad(t *testing.T, buckets string) {
	t.Parallel()
	cluster := redisserver.StartCluster(t, 3, 0)
	ctx := faultTime(t)
	cfg := redisrig.KindConfig(redisrig.Standard, buckets)
	cfg.ExpectedArticles = 8_000_000 // many keys, in many slots
	l := startLoadOn(t, redisrig.ClusterOptions(cluster), cfg)
	from, err := cluster.Owner(ctx, l.counterSlot(t))
	require.NoError(t, err)
	var moved []int
	for _, to := range cluster.Servers {
		var slots []int
		require.Eventually(t, func() bool {
			slots, err = cluster.SlotsWithKeys(ctx, from, 60)
			return err == nil && len(slots) == 60
		}, time.Minute, 20*time.Millisecond, "the load writes to many slots")
		slots = append(slots, l.counterSlot(t)) // the busiest slot of all; slots may hold it already
		moved = append(moved, slots...)
		keys, err := cluster.MigrateSlots(ctx, slots, to, 300*time.Millisecond)
		require.NoError(t, err)
		if to != from {
			require.GreaterOrEqual(t, keys, 60)
		}
		l.waitProgress(t)
	}
	_, err = cluster.MigrateSlots(ctx, moved, from, 0)
	require.NoError(t, err)
	l.waitProgress(t)
	seen, err := cluster.Errors(ctx)
	require.NoError(t, err)
	t.Logf("error replies: %v", seen)
	require.Positive(t, seen["ASK"])
	require.Positive(t, seen["MOVED"])
	require.Zero(t, seen["CROSSSLOT"])
	lost := l.account(t)
	require.True(t, lost.none(), lost.example)
}

// Masters are replaced by their replicas under load: by an orderly failover, by a forced one, and after a
// crash in which the replica lacks the latest writes. With redis.wait_replicas, nothing that was acknowledged
// is lost, so no verdict may change. Without it, some verdict must change: otherwise the test could not see
// losses at all (make test-all).
func TestClusterFailoverUnderLoad(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wait    int
		buckets string
	}{"wait 1": {1, keyspace.BucketsPacked}, "wait 0": {0, keyspace.BucketsPacked},
		"wait 1, sets": {1, keyspace.BucketsSets}} {
		t.Run(name, func(t *testing.T) {
			if name != "wait 1" {
				tier.All(t)
			}
			cluster, wait := redisserver.StartCluster(t, 3, 1), test.wait
			ctx := faultTime(t)
			o := redisrig.ClusterOptions(cluster)
			o.WaitReplicas = wait
			l := startLoadOn(t, o, redisrig.KindConfig(redisrig.Standard, test.buckets))
			slot := l.counterSlot(t)
			_, err := cluster.Promote(ctx, slot, "")
			require.NoError(t, err)
			l.waitProgress(t)
			if wait > 0 {
				_, err = cluster.Promote(ctx, slot, "FORCE")
				require.NoError(t, err)
				l.waitProgress(t)
			}
			mend, err := cluster.CutReplication(ctx, slot)
			require.NoError(t, err)
			l.whileCut(t, wait)
			killed, err := cluster.KillMaster(ctx, slot)
			require.NoError(t, err)
			require.NoError(t, cluster.WaitPromotion(ctx, slot, killed))
			require.NoError(t, mend(ctx))
			killed.Restart()
			require.NoError(t, cluster.WaitReady(ctx))
			l.waitProgress(t)
			lost := l.account(t)
			require.Positive(t, lost.retries)
			require.Equal(t, wait > 0, lost.none(), lost.example)
		})
	}
}

// The same behind Sentinel. There even an orderly failover has a moment in which the former master accepts
// writes that are lost.
func TestSentinelFailoverUnderLoad(t *testing.T) {
	t.Parallel()
	for _, wait := range []int{1, 0} {
		t.Run(fmt.Sprint("wait ", wait), func(t *testing.T) {
			if wait == 0 {
				tier.All(t)
			}
			servers := redisserver.StartSentinel(t)
			ctx := faultTime(t)
			o := redisrig.SentinelOptions(servers)
			o.WaitReplicas = wait
			l := startLoad(t, o)
			_, err := servers.Failover(ctx)
			require.NoError(t, err)
			l.waitProgress(t)
			mend, err := servers.CutReplication(ctx)
			require.NoError(t, err)
			l.whileCut(t, wait)
			killed, err := servers.KillMaster(ctx)
			require.NoError(t, err)
			require.NoError(t, servers.WaitPromotion(ctx, killed))
			require.NoError(t, mend(ctx))
			killed.Restart()
			require.NoError(t, servers.WaitReady(ctx))
			l.waitProgress(t)
			seen, err := servers.Errors(ctx)
			require.NoError(t, err)
			t.Logf("error replies: %v", seen)
			lost := l.account(t)
			require.Positive(t, lost.retries)
			require.Equal(t, wait > 0, lost.none(), lost.example)
		})
	}
}

// A master that became a replica replies READONLY, until it is a master again or the client finds the new master.
func TestReadOnlyUnderLoad(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	o := connection.DefaultOptions()
	o.Addrs = []string{server.Addr}
	client := redisrig.Connect(t, o)
	l := startLoad(t, o)
	for range 3 {
		before := client.Info(t.Context(), "errorstats").Val()
		// nobody is there, so it keeps its data
		require.NoError(t, client.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
		require.Eventually(t, func() bool {
			after := client.Info(t.Context(), "errorstats").Val()
			return after != before && strings.Contains(after, "errorstat_READONLY")
		}, time.Minute, 5*time.Millisecond, "a claim was refused")
		require.NoError(t, client.ReplicaOf(t.Context(), "NO", "ONE").Err())
		l.waitProgress(t)
	}
	require.Contains(t, client.Info(t.Context(), "errorstats").Val(), "errorstat_READONLY")
	lost := l.account(t)
	require.Positive(t, lost.retries)
	require.True(t, lost.none(), lost.example)
}

// whileCut waits until the load has written what the replicas lack. If claims wait for the replicas, no claim
// gets a verdict meanwhile: then each worker must have written, and must have been refused its verdict
// because the replicas lack those writes.
func (l *load) whileCut(t *testing.T, wait int) {
	t.Helper()
	if wait == 0 {
		l.waitProgress(t)
		return
	}
	refused := func(x *Index) float64 { return testutil.ToFloat64(x.metrics.errors.WithLabelValues("replicas")) }
	for _, x := range l.indexes {
		before := refused(x)
		require.Eventually(t, func() bool { return refused(x) > before }, 3*time.Minute, 20*time.Millisecond,
			"a claim is refused")
	}
}

// counterSlot is the slot of the ticket counter, the key that every claim writes.
func (l *load) counterSlot(t *testing.T) int {
	x := l.indexes[0]
	pipe := x.client.Pipeline()
	slot := pipe.ClusterKeySlot(t.Context(), x.keys.Sequence())
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	return int(slot.Val())
}
