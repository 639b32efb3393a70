package e2e

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/pipeline/recipe"
	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
	"echosieve/test/tier"
)

// The whole service runs on a Redis Cluster of three masters and three replicas. While articles are
// published, slots move and a master is killed. The processes wait for replicas, so that no write is lost:
// every record gets one verdict, and no two copies are both unique.
func TestRedisCluster(t *testing.T) {
	tier.All(t)
	records := fresh(articles(t))
	recipe, err := recipe.Load(recipe.DefaultConfig())
	require.NoError(t, err)
	servers := redisserver.StartCluster(t, 3, 1)
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, s := range servers.Servers {
			t.Logf("%s sees: %v", s.Addr, servers.Client(s).ClusterNodes(context.Background()))
		}
	})
	c := newCluster(t, kafkaserver.Shared(t).Addr, strings.Join(servers.Addrs(), ","))
	settings := c.settings().With(service.Settings{"redis.cluster": "true", "redis.wait_replicas": "1"})
	// The command tries only once, and the broker may still be starting: hence the longer timeout.
	checkAsksEveryNode(t, settings.With(service.Settings{"redis.wait_timeout": "4s"}), servers.Addrs())

	processes := []*service.Process{service.Start(t, settings), service.Start(t, settings)}
	for _, p := range processes {
		p.WaitReady(t)
	}
	inputs := map[string]*kgo.Record{}
	var outputs []*kgo.Record
	var watching sync.WaitGroup
	var decided atomic.Int64
	watching.Go(func() {
		outputs = watch(t, c, len(records), func(sources int) { decided.Store(int64(sources)) })
	})
	const slices = 8
	part := func(i int) {
		for at, r := range publish(t, c, records[i*len(records)/slices:(i+1)*len(records)/slices]) {
			inputs[at] = r
		}
	}
	part(0)
	part(1)
	require.Eventually(t, func() bool { return decided.Load() >= 100 }, patience, 10*time.Millisecond,
		"there are keys to move")
	from, err := servers.Owner(t.Context(), 0)
	require.NoError(t, err)
	to, err := servers.Owner(t.Context(), 16383)
	require.NoError(t, err)
	slots, err := servers.SlotsWithKeys(t.Context(), from, 50)
	require.NoError(t, err)
	moved := make(chan error, 1)
	keys := 0
	go func() {
		var err error
		keys, err = servers.MigrateSlots(t.Context(), slots, to, 500*time.Millisecond)
		moved <- err
	}()
	part(2)
	part(3)
	require.NoError(t, <-moved)
	require.Positive(t, keys)
	victim, err := servers.KillMaster(t.Context(), 16383)
	require.NoError(t, err)
	part(4)
	part(5)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, servers.WaitPromotion(ctx, 16383, victim))
	victim.Restart()
	part(6)
	part(7)
	watching.Wait()
	require.False(t, t.Failed())
	for _, p := range processes {
		stop(t, p)
	}
	seen, err := servers.Errors(t.Context())
	require.NoError(t, err)
	require.Zero(t, seen["CROSSSLOT"])
	verdicts := account(t, c, recipe, inputs, outputs)
	copies := checkVerdicts(t, recipe, indexConfig(recipe), pipeline.DefaultDecodeConfig(), window.Milliseconds(),
		inputs, verdicts)
	require.Greater(t, copies, len(records)/20)
	t.Logf("%d records, %d outputs, %d copies, %d keys moved, errors answered: %v", len(inputs), len(outputs), copies,
		keys, seen)
}

// checkAsksEveryNode runs the command check. It must find no failure and report on each of the addresses.
func checkAsksEveryNode(t *testing.T, settings service.Settings, addrs []string) {
	t.Helper()
	check := exec.CommandContext(t.Context(), service.Binary, "check", "--json")
	check.Env = settings.Environ()
	output, err := check.Output()
	require.NoError(t, err, "%s", output)
	var checked struct {
		Findings []struct{ Component, Severity, Subject string }
	}
	require.NoError(t, json.Unmarshal(output, &checked))
	asked := map[string]bool{}
	for _, f := range checked.Findings {
		require.NotEqual(t, "failure", f.Severity, "%s", output)
		if f.Component == "redis" {
			asked[strings.Fields(f.Subject + " .")[0]] = true
		}
	}
	for _, addr := range addrs { // check warns about each node, because the nodes have no append-only file
		require.True(t, asked[addr], "%s was not asked: %s", addr, output)
	}
}
