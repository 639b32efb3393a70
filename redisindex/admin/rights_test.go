package admin

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/connection"
	"echosieve/test/redisrig"
	"echosieve/test/redisrig/indexrig"
	"echosieve/test/redisserver"
)

// A user with the rights of ToolRule can do what the commands "echosieve index" do, and lacks no right less than that.
func TestToolRights(t *testing.T) {
	for suffix, buckets := range redisrig.Kinds {
		t.Run("Real"+suffix, func(t *testing.T) {
			server := redisserver.Start(t)
			admin := redisrig.Client(t, server.Addr)
			cfg := redisrig.KindConfig(redisrig.Standard, buckets)
			cfg.Namespace += ":news-1-01234567"
			maintain := func(without string) error {
				redisrig.SetRules(t, admin, connection.ToolRule(cfg.BaseNamespace()), without)
				x := indexrig.New(t, redisrig.ConnectAs(t, server.Addr, func(*connection.Options) {}), cfg)
				return maintainAll(t, x)
			}
			require.NoError(t, maintain(""))
			more := strings.Fields(strings.TrimPrefix(connection.ToolRule("ns"), connection.ACLRule("ns")))
			require.NotEmpty(t, more)
			for _, right := range more {
				r := strings.TrimPrefix(right, "+")
				err := maintain(r)
				if r == "dbsize" { // without it no total is known
					require.NoError(t, err)
					continue
				}
				require.ErrorContains(t, err, strings.Split(r, "|")[0], r)
				require.ErrorContains(t, err, "+"+r)
				require.ErrorContains(t, err, "ACL SETUSER sieve ")
			}
		})
	}
}

// maintainAll uses everything that the commands "echosieve index" use.
func maintainAll(t *testing.T, x *redisindex.Index) error {
	t.Helper()
	a := redisrig.Article(1, 0xF0)
	r, err := New(x).StartRestore(t.Context(), time.Now())
	if err != nil {
		return err
	}
	progress, err := New(x).OpenRefill(t.Context(), "test", true)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { _, _, err := progress.Take(t.Context(), "part", 0); return err },
		func() error { return progress.Done(t.Context(), "part", Range{0, 7}) },
		func() error { return progress.LeaveOut(t.Context()) },
		func() error { return progress.Release(t.Context(), "part") },
		func() error { _, err := progress.Cure(t.Context()); return err },
		func() error {
			_, err := r.Restore(t.Context(), []article.Article{a},
				[]article.Verdict{{Kind: article.Unique, Root: a.Ref()}})
			return err
		},
		func() error { _, err := x.Stored(t.Context(), &a); return err },
		func() error { _, err := x.Candidates(t.Context(), &a); return err },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return New(x).Walk(t.Context(), func(int64, int64) {}, func(k Keys) error {
		if _, err := k.Bytes(t.Context()); err != nil {
			return err
		}
		found, _, err := k.Articles(t.Context())
		if err != nil {
			return err
		}
		for _, s := range found {
			if _, err := x.Hide(t.Context(), s); err != nil {
				return err
			}
		}
		return nil
	})
}

// Refills of several processes share their parts, and go on where one of them was.
func TestRefillProgress(t *testing.T) {
	client := redisrig.Client(t, redisserver.Addr(t))
	x := indexrig.New(t, client, redisrig.Config(redisrig.Standard))
	open := func(anew bool) *Refill {
		r, err := New(x).OpenRefill(t.Context(), "outputs", anew)
		require.NoError(t, err)
		return r
	}
	take := func(r *Refill, from int64) (Range, bool) {
		done, ok, err := r.Take(t.Context(), "topic/0", from)
		require.NoError(t, err)
		return done, ok
	}
	first, second := open(false), open(false)
	done, ok := take(first, 5)
	require.True(t, ok)
	require.Equal(t, Range{5, 5}, done)
	require.NoError(t, first.Done(t.Context(), "topic/0", Range{5, 10}))
	done, ok = take(second, 5)
	require.False(t, ok, "the other process has it")
	require.Equal(t, Range{5, 10}, done)
	require.NoError(t, first.Release(t.Context(), "topic/0"))
	_, ok = take(second, 5)
	require.True(t, ok)
	require.NoError(t, second.Release(t.Context(), "topic/0"))
	for from, want := range map[int64]Range{
		4: {4, 4}, 5: {5, 10}, 7: {5, 10}, 10: {5, 10}, 11: {11, 11},
	} {
		done, _ := take(second, from)
		require.Equal(t, want, done, "wanted from %d on", from)
	}
	require.NoError(t, second.Release(t.Context(), "topic/0"))

	done, _ = take(open(true), 5)
	require.Equal(t, Range{5, 5}, done, "begun again")
	require.NoError(t, first.Done(t.Context(), "topic/0", Range{5, 20}))
	lost, err := first.LostMore(t.Context())
	require.NoError(t, err)
	require.False(t, lost)
	require.NoError(t, client.HSet(t.Context(), x.Keys().Markers(false)[0], "lost", "1 missing").Err())
	lost, err = first.LostMore(t.Context())
	require.NoError(t, err)
	require.True(t, lost)
	done, _ = take(open(false), 5)
	require.Equal(t, Range{5, 5}, done, "progress from before a loss is not used")
}
