package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/host"
	"echosieve/test/torture/internal/faults"
	"echosieve/test/torture/internal/rig"
)

// output writes the lines of the runner to the log of a test.
type output struct{ t *testing.T }

func (o output) Write(b []byte) (int, error) {
	o.t.Logf("%s", b)
	return len(b), nil
}

// One round of records, transactions and a few faults is accounted for.
func TestShortRound(t *testing.T) {
	host.SkipShort(t)
	t.Parallel() // a round mostly waits
	code, _ := run(t.Context(), []string{"--rounds", "1", "--processes", "2", "--faults",
		"kill,term,redis-restart,broker-kill"}, output{t})
	require.Zero(t, code)
}

// One round with every usual fault once. Longer runs are started by hand: make torture ROUNDS=100.
func TestRound(t *testing.T) {
	host.SkipShort(t)
	host.All(t)
	t.Parallel() // a round mostly waits
	code, _ := run(t.Context(), []string{"--rounds", "1", "--rate", "300"}, output{t})
	require.Zero(t, code)
}

// Short rounds on servers that replicate: masters and leaders are replaced, a master while its replica lacks the last
// writes, and the network is cut. Longer runs are started by hand.
func TestRoundWithReplicas(t *testing.T) {
	host.SkipShort(t)
	host.All(t)
	t.Parallel()
	for _, args := range [][]string{
		{"--redis", rig.SentinelRedis, "--faults", "kill,redis-master-behind,redis-cut"},
		{"--redis", rig.ClusterRedis, "--faults",
			"kill,redis-master-behind,redis-master-cut"},
		{"--brokers", "3", "--faults", "kill,leader-kill,broker-cut,two-brokers-lost"},
	} {
		t.Run(args[1], func(t *testing.T) {
			t.Parallel()
			code, _ := run(t.Context(), append(args, "--rounds", "1", "--rate", "300"), output{t})
			require.Zero(t, code)
		})
	}
}

// Three processes of the role of stories read what a service decides.
func TestRoundOfStories(t *testing.T) {
	host.SkipShort(t)
	host.All(t)
	t.Parallel()
	code, _ := run(t.Context(), []string{"--stories", "--rounds", "1", "--rate", "300"}, output{t})
	require.Zero(t, code)
}

func TestSeedGivesTheSchedule(t *testing.T) {
	o, err := parse(nil)
	require.NoError(t, err)
	require.Equal(t, o.plan(5), o.plan(5))
	require.NotEqual(t, o.plan(5), o.plan(6))
}

// Every fault is usual for some servers, or a round has it only if it is named. Others refuse it.
func TestFaultsSuitTheServers(t *testing.T) {
	reached := map[string]bool{"crash-every": true, "replace": true}
	for _, servers := range [][]string{{"--brokers", "1"}, {"--brokers", "3"}, {"--redis", rig.SentinelRedis}} {
		o, err := parse(servers)
		require.NoError(t, err)
		for _, name := range o.faults {
			reached[name] = true
		}
	}
	for _, name := range faults.Names() {
		require.True(t, reached[name], name)
	}
	for _, args := range [][]string{{"--redis", "plain", "--faults", "redis-master-behind"}, {"--redis", "ring"},
		{"--stories", "--faults", "redis-out-of-memory"}, {"--stories", "--redis", "cluster"}} {
		_, err := parse(args)
		require.Error(t, err, "%v", args)
	}
}
