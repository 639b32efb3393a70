package redisindex

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/indextest"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/host"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

func TestContractDistributed(t *testing.T) {
	for _, d := range redisrig.Distributed {
		t.Run(d.Name, func(t *testing.T) {
			if d.Name != "Cluster" {
				host.All(t)
			}
			o := redisrig.Crowded(d.Start(t))
			o.WaitReplicas = 1
			client := redisrig.Connect(t, o)
			indextest.Run(t, func(t *testing.T, p indextest.Params) pipeline.Index {
				return newIndex(t, client, redisrig.Config(p))
			})
		})
	}
}

// With fewer replicas than redis.wait_replicas no claim gets a verdict, and the error says why.
func TestTooFewReplicas(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		start func(t testing.TB) connection.Options
	}{
		{"Single", func(t testing.TB) connection.Options {
			o := connection.DefaultOptions()
			o.Addrs = []string{redisserver.Start(t).Addr}
			return o
		}},
		{"Cluster", func(t testing.TB) connection.Options {
			return redisrig.ClusterOptions(redisserver.StartCluster(t, 3, 0))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := test.start(t)
			o.WaitReplicas, o.Timeout, o.WaitTimeout = 1, time.Minute, time.Millisecond
			x, err := New(redisrig.Connect(t, o), redisrig.Config(redisrig.Standard), nil,
				slog.New(slog.DiscardHandler), nil)
			require.NoError(t, err)
			for n := range 3 { // probably on three nodes; none may get a verdict
				a := redisrig.Article(n, simhash.Fingerprint(n)*0x9E3779B97F4A7C15)
				_, err = newCall(x, []article.Article{a}).attempt(t.Context())
				require.ErrorIs(t, err, connection.ErrReplicas)
				require.Equal(t, "replicas", classify(err))
				require.ErrorContains(t, err, "0 of 1")
			}
		})
	}
}

// A replica was cut off from its master, or its master will be frozen until after it was replaced. The
// replica has acknowledged everything that there was to acknowledge. Replies of the master may be old, so
// they must not be used.
func TestReadsNeedReplicas(t *testing.T) {
	t.Parallel()
	cluster := redisserver.StartCluster(t, 3, 1)
	o := redisrig.ClusterOptions(cluster)
	o.WaitReplicas, o.Timeout, o.WaitTimeout = 1, time.Minute, 2*time.Second
	client := redisrig.Connect(t, o)
	for _, namespace := range []string{"plain", "a{tag}"} {
		read := func() error {
			pipe := client.Pipeline()
			for i := range 30 {
				pipe.HGet(t.Context(), fmt.Sprint(namespace, ":", i), "field")
			}
			_, err := pipe.Exec(t.Context())
			return err
		}
		require.Eventually(t, func() bool { return errors.Is(read(), redis.Nil) }, time.Minute, 20*time.Millisecond)
		for _, s := range cluster.Servers[3:] {
			require.NoError(t, syscall.Kill(s.Pid(), syscall.SIGSTOP))
		}
		err := read()
		for _, s := range cluster.Servers[3:] {
			require.NoError(t, syscall.Kill(s.Pid(), syscall.SIGCONT))
		}
		require.ErrorIs(t, err, connection.ErrReplicas)
		require.Eventually(t, func() bool { return errors.Is(read(), redis.Nil) }, time.Minute, 20*time.Millisecond)
	}
	seen, err := cluster.Errors(t.Context())
	require.NoError(t, err)
	require.Zero(t, seen["MOVED"], "a fence in another slot than its reads")
}

// onCluster runs the commands of a pipeline for which first returns true before the others, as the nodes of a
// cluster may. In between it calls then; an error of then ends the pipeline.
type onCluster struct {
	redisrig.NoHook
	first func(redis.Cmder) bool
	then  func() error
}

// ProcessPipelineHook implements redis.Hook.
func (c *onCluster) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		var early, late []redis.Cmder
		for _, cmd := range cmds {
			if c.first(cmd) {
				early = append(early, cmd)
			} else {
				late = append(late, cmd)
			}
		}
		if len(early) == 0 || len(late) == 0 {
			return next(ctx, cmds)
		}
		if err := next(ctx, early); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		if err := c.then(); err != nil {
			for _, cmd := range late {
				cmd.SetErr(err)
			}
			return err
		}
		return next(ctx, late)
	}
}

// While the command that sets an article's ticket is on its way, a copy registers another slice, draws a
// ticket, and gives the article a higher ticket. The article must find the copy in that slice, although it
// read the slices and the lists before it was given the ticket.
func TestGivenATicketWhileItLooksUp(t *testing.T) {
	addr := miniredis.RunT(t).Addr()
	cfg := redisrig.Config(redisrig.Standard)
	slow, quick := redisrig.Client(t, addr), newIndex(t, redisrig.Client(t, addr), cfg)
	late, earlier := redisrig.Article(1, 5), redisrig.Article(2, 5)
	earlier.Time = earlier.Time.Add(45 * time.Minute)
	require.NotEqual(t, quick.keys.Layout.Slice(keyspace.WindowTime(late.Time)),
		quick.keys.Layout.Slice(keyspace.WindowTime(earlier.Time)))
	var got article.Verdict
	slow.AddHook(&onCluster{
		first: func(cmd redis.Cmder) bool { return cmd.Name() == "hget" || cmd.Name() == "hmget" },
		then: func() error {
			got = claimOne(t, quick, earlier)
			return nil
		},
	})
	m := claimOne(t, newIndex(t, slow, cfg), late)
	require.Equal(t, article.Unique, got.Kind)
	require.Equal(t, earlier.Coordinates, m.Original.Coordinates, "two copies, both unique")
}

// The node with one of an article's block lists is away while the article is stored on the other nodes.
// Nobody may find the article and give it a ticket before all its lists hold it: a later copy that looks only
// into the missing list would not find it.
func TestNodeAwayDuringStore(t *testing.T) {
	addr := miniredis.RunT(t).Addr()
	cfg := redisrig.Config(redisrig.Standard)
	cut, x := redisrig.Client(t, addr), newIndex(t, redisrig.Client(t, addr), cfg)
	a, similar, copied := redisrig.Article(1, 0), redisrig.Article(2, 1), redisrig.Article(3, 1<<15|1<<31|1<<63)
	a.Signature, similar.Signature, copied.Signature = []byte{1, 0}, []byte{2, 0}, []byte{1, 0}
	away := errors.New("node away")
	common := simhash.Block{Index: 1, Value: 0}
	for i, block := range x.keys.Layout.Plan.AppendLookups(nil, &article.Article{Fingerprint: copied.Fingerprint}) {
		require.Equal(t, i == common.Index, block.Value == 0, "the only block in common")
	}
	missing := x.keys.List(keyspace.ListRef{Slice: x.keys.Layout.Slice(keyspace.WindowTime(a.Time)),
		Block: common.Index, Value: common.Value})
	cut.AddHook(&onCluster{
		first: func(cmd redis.Cmder) bool { return cmd.Name() == "evalsha" && cmd.Args()[3] != missing },
		then:  func() error { return away },
	})
	over := newIndex(t, cut, cfg)
	_, err := newCall(over, []article.Article{a}).attempt(t.Context())
	require.ErrorIs(t, err, away)
	require.Equal(t, article.Unique, claimOne(t, x, similar).Kind)
	kind := claimOne(t, x, copied).Kind
	require.True(t, kind.IsCopy() || claimOne(t, x, a).Kind.IsCopy(),
		"two copies, and neither has the verdict of a copy")
}

// Replays and exact repeats prolong the life of entries without drawing tickets. The counter must not expire
// before the entries.
func TestCounterOutlivesReplayedEntries(t *testing.T) {
	server := miniredis.RunT(t)
	x := newIndex(t, redisrig.Client(t, server.Addr()), redisrig.Config(redisrig.Standard))
	claimOne(t, x, redisrig.Article(1, 0xff<<32))
	a := redisrig.Article(2, 0)
	want := claimOne(t, x, a)
	for range 5 {
		server.FastForward(x.keys.Layout.Lifetime * 2 / 3)
		require.Equal(t, want, claimOne(t, x, a))
	}
	require.Equal(t, a.Coordinates, claimOne(t, x, redisrig.Article(3, 1)).Original.Coordinates)
}
