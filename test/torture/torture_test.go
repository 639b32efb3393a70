package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/loopback"
	"echosieve/test/tier"
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
	loopback.SkipShort(t)
	t.Parallel() // a round mostly waits
	code, _ := run(t.Context(), []string{"--rounds", "1", "--processes", "2", "--faults",
		"kill,term,redis-restart,broker-kill"}, output{t})
	require.Zero(t, code)
}

// One round with every usual fault once. Longer runs are started by hand: make torture ROUNDS=100.
func TestRound(t *testing.T) {
	loopback.SkipShort(t)
	tier.All(t)
	t.Parallel() // a round mostly waits
	code, _ := run(t.Context(), []string{"--rounds", "1", "--rate", "300"}, output{t})
	require.Zero(t, code)
}

// Short rounds on servers that replicate: masters and leaders are replaced, a master while its replica lacks the last
// writes, and the network is cut. Longer runs are started by hand.
func TestRoundWithReplicas(t *testing.T) {
	loopback.SkipShort(t)
	tier.All(t)
	t.Parallel()
	for _, args := range [][]string{
		{"--redis", rig.SentinelRedis, "--faults", "kill,redis-failover,redis-master-behind,redis-cut"},
		{"--redis", rig.ClusterRedis, "--faults",
			"kill,redis-failover,redis-master-behind,redis-master-cut"},
		{"--brokers", "3", "--faults", "kill,leader-kill,coordinator-kill,broker-cut,two-brokers-lost"},
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
	loopback.SkipShort(t)
	tier.All(t)
	t.Parallel()
	code, _ := run(t.Context(), []string{"--stories", "--rounds", "1", "--rate", "300"}, output{t})
	require.Zero(t, code)
}
