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
	for _, step := range []func() error{
		func() error { _, err := New(x).Losses(t.Context()); return err },
		func() error { _, err := New(x).Cure(t.Context(), "7 missing\n"); return err },
		func() error { return New(x).MarkForgotten(t.Context(), []article.Ref{a.Ref()}) },
		func() error { _, err := New(x).BeginRelease(t.Context(), a.Coordinates, 0); return err },
		func() error { return New(x).EndRelease(t.Context(), a.Coordinates, a.Coordinates) },
		func() error { _, err := New(x).AreForgotten(t.Context(), []article.Ref{a.Ref()}); return err },
		func() error {
			_, err := r.Restore(t.Context(),
				[]Published{{Article: a, Verdict: article.Verdict{Kind: article.Unique, Root: a.Ref()}}})
			return err
		},
		func() error { _, err := x.Stored(t.Context(), &a); return err },
		func() error { _, err := x.Advise(t.Context(), &a); return err },
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
