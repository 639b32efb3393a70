package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/ledger"
	"echosieve/test/loopback"
)

// output hands what the runner prints to the test's log, line by line as it comes.
type output struct{ t *testing.T }

func (o output) Write(b []byte) (int, error) {
	o.t.Logf("%s", b)
	return len(b), nil
}

// One round with every usual fault once. Longer runs by hand: make torture ROUNDS=100.
func TestRound(t *testing.T) {
	loopback.SkipShort(t)
	code, _ := run(t.Context(), []string{"--rounds", "1", "--rate", "300"}, output{t})
	require.Zero(t, code)
}

// Short rounds on Redis with replicas: masters change, one of them when its replica lacks the last writes, the network is
// cut, and clients hear READONLY, MOVED and ASK. Longer ones by hand.
func TestRoundWithReplicas(t *testing.T) {
	loopback.SkipShort(t)
	for redis, faults := range map[string]string{
		sentinelRedis: "kill,redis-readonly,redis-failover,redis-master-behind,redis-cut",
		clusterRedis:  "kill,redis-slots,redis-script-flush,redis-failover,redis-master-behind,redis-master-cut",
	} {
		t.Run(redis, func(t *testing.T) {
			t.Parallel() // a round waits for most of its time
			code, _ := run(t.Context(), []string{"--redis", redis, "--rounds", "1", "--rate", "300", "--faults", faults}, output{t})
			require.Zero(t, code)
		})
	}
}

// The desk's promises: the same seed, the same articles; 29,600 of 40,000 texts are different; copies are copies.
func TestArticles(t *testing.T) {
	recipe := newsRecipe(t)
	a, b := newDesk(3, "a", recipe, false), newDesk(3, "a", recipe, false)
	copies := map[role]int{}
	for range 2000 {
		r, again := a.write(), b.write()
		require.Len(t, r, 1)
		require.Equal(t, r[0].Value, again[0].Value)
		copies[a.facts[string(r[0].Key)].role]++
	}
	require.Equal(t, 2000*29_600/40_000, a.made)
	require.Equal(t, a.made, copies[first])
	require.Greater(t, copies[near], 100)
	require.Greater(t, copies[exact], 100)
}

func TestSeedGivesTheSchedule(t *testing.T) {
	w := &world{o: options{faults: usual(options{brokers: 1, redis: plainRedis})}}
	require.Equal(t, w.plan(5), w.plan(5))
	require.NotEqual(t, w.plan(5), w.plan(6))
}

// Each fault is usual for some servers or must be named, and none can be asked of servers that it does not suit.
func TestFaultsSuitTheServers(t *testing.T) {
	reached := map[string]bool{}
	for _, brokers := range []string{"1", "3"} {
		for _, redis := range []string{plainRedis, sentinelRedis, clusterRedis} {
			servers := []string{"--brokers", brokers, "--redis", redis}
			o, err := parse(servers)
			require.NoError(t, err)
			for _, name := range o.faults {
				reached[name] = true
			}
			for name := range faults {
				_, err := parse(append(servers, "--faults", name))
				require.Equal(t, slices.Contains(o.faults, name), err == nil && !slices.Contains(notUsual, name), "%s on %v", name, servers)
			}
		}
	}
	for name := range faults {
		require.NotEqual(t, slices.Contains(notUsual, name), reached[name], name)
	}
	for _, args := range [][]string{
		{"--redis", "sentinel", "--faults", "redis-slots"},
		{"--redis", "cluster", "--scenario", "redis"},
		{"--redis-addrs", "127.0.0.1:6379", "--faults", "redis-reset"},
		{"--redis", "ring"},
	} {
		_, err := parse(args)
		require.Error(t, err, "%v", args)
	}
}

func TestForgivenOnlyAfterDestruction(t *testing.T) {
	for _, destroyed := range []bool{false, true} {
		s := &summary{faults: map[string]*count{}}
		s.add(&round{destroyed: destroyed, violations: []ledger.Violation{{Kind: ledger.Twin}}}, 1, 1, 1, nil)
		require.Equal(t, !destroyed, s.failed())
		s.add(&round{destroyed: destroyed, violations: []ledger.Violation{{Kind: ledger.Lost}}}, 1, 1, 1, nil)
		require.True(t, s.failed())
	}
	s := &summary{faults: map[string]*count{"kill": {injected: 2, fired: 1}}, rounds: 1}
	require.True(t, s.failed(), "a fault that did not show")
	s = &summary{faults: map[string]*count{}}
	s.add(&round{}, 1, 1, 1, census{copiesOfCopies: 0, nullValues: 3})
	require.True(t, s.failed(), "no root was compared with the end of a chain")
	s.add(&round{}, 1, 1, 1, census{copiesOfCopies: 1, nullValues: 0})
	require.False(t, s.failed(), "one was, in another round")
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	_, err = os.Stat(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	return dir
}
