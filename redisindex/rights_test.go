package redisindex

import (
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/internal/base/diag"
	"echosieve/pipeline/article"
	"echosieve/simhash"
	"echosieve/test/loopback"
	"echosieve/test/redisserver"
)

var update = flag.Bool("update", false, "write the generated part of docs/security.md")

// A user with exactly the rights of the list can do all the work and a whole check, on every kind of server. Without any one of the
// needed rights the user cannot, and the error names the missing right.
func TestRightsAreEnoughAndNoneTooMany(t *testing.T) {
	for _, kind := range []struct {
		setting string // that the server is about
		args    []string
		change  func(*Options)
	}{
		{"", nil, func(*Options) {}},
		{whenSets, nil, func(*Options) {}},
		{"redis.db", nil, func(o *Options) { o.DB = 1 }},
		{"redis.cluster", []string{"--cluster-enabled", "yes"}, func(o *Options) { o.Cluster = true }},
		{"redis.wait_replicas", nil, func(o *Options) { o.WaitReplicas, o.Timeout, o.WaitTimeout = 1, time.Minute, 30*time.Second }},
	} {
		t.Run("server "+kind.setting, func(t *testing.T) {
			t.Parallel()
			if kind.args != nil { // the usual port of the cluster bus may be in use
				kind.args = append(kind.args, "--cluster-port", strconv.Itoa(loopback.Ports(t, 1)[0]))
			}
			server := redisserver.Start(t, kind.args...)
			admin := newClient(t, server.Addr)
			if kind.setting == "redis.wait_replicas" {
				host, port, _ := net.SplitHostPort(server.Addr)
				redisserver.Start(t, "--replicaof", host, port)
				require.Eventually(t, func() bool {
					return strings.Contains(admin.Info(t.Context(), "replication").Val(), "state=online")
				}, time.Minute, 20*time.Millisecond)
			}
			if kind.args != nil {
				require.NoError(t, admin.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err())
				require.Eventually(t, func() bool {
					return strings.Contains(admin.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
				}, time.Minute, 20*time.Millisecond)
			}
			cfg := testConfig(standard)
			cfg.Namespace += ":news-1-01234567"
			buckets := whenPacked
			if kind.setting == whenSets {
				cfg.Buckets, buckets = bucketsSets, whenSets
			}
			setRules(t, admin, cfg, "")
			require.NoError(t, admin.ConfigResetStat(t.Context()).Err())
			require.NoError(t, work(t, server.Addr, kind.change, cfg))
			for _, f := range checkAs(t, server.Addr, kind.change, cfg) {
				require.NotEqual(t, diag.Failure, f.Severity, "%+v", f)
				require.NotContains(t, f.Problem, "NOPERM")
			}
			used := commandsUsed(t, admin)
			for _, r := range Rights() {
				if r.When != "" && r.When != kind.setting && r.When != buckets {
					continue
				}
				require.Contains(t, used, r.Command, "nobody uses this right")
				t.Run(r.Command, func(t *testing.T) {
					setRules(t, admin, cfg, r.Command)
					require.NoError(t, admin.ScriptFlush(t.Context()).Err())
					err := work(t, server.Addr, kind.change, cfg)
					findings := checkAs(t, server.Addr, kind.change, cfg)
					if r.Optional {
						require.NoError(t, err)
						for _, f := range findings {
							require.NotEqual(t, diag.Failure, f.Severity, "%+v", f)
						}
						return
					}
					command, sub, _ := strings.Cut(r.Command, "|")
					var p *diag.Problem
					require.ErrorAs(t, Explain(err, connectAs(t, server.Addr, kind.change), cfg.base()), &p)
					require.Equal(t, "a right is missing in Redis", p.Cause, err)
					require.Contains(t, p.Remedy, "+"+r.Command)
					if !strings.Contains(err.Error(), "executing the script") { // Redis 7.0 does not name it there
						require.Contains(t, err.Error(), command)
						require.Contains(t, err.Error(), sub)
					}
					require.NotEmpty(t, findings)
					require.Equal(t, diag.Failure, findings[0].Severity)
					require.Contains(t, findings[0].Remedy, "ACL SETUSER sieve ~"+cfg.base()+":* +ping")
				})
			}
			setRules(t, admin, cfg, "")
			cfg.Namespace = "elsewhere:news-1-01234567"
			err := work(t, server.Addr, kind.change, cfg)
			require.ErrorContains(t, Explain(err, connectAs(t, server.Addr, kind.change), cfg.base()), "ACL SETUSER sieve ~elsewhere:*")
		})
	}
}

// setRules gives the user "sieve" the documented rule without one command.
func setRules(t *testing.T, admin redis.UniversalClient, cfg Config, without string) {
	t.Helper()
	rules := []any{"ACL", "SETUSER", "sieve", "reset", "on", ">pass"}
	for rule := range strings.FieldsSeq(ACLRule(cfg.base())) {
		if rule != "+"+without {
			rules = append(rules, rule)
		}
	}
	require.NoError(t, admin.Do(t.Context(), rules...).Err())
}

// A user with the rights of ToolRule can do what the commands "echosieve index" do, and lacks no right less than that.
func TestToolRights(t *testing.T) {
	for suffix, buckets := range kinds {
		t.Run("Real"+suffix, func(t *testing.T) {
			server := redisserver.Start(t)
			admin := newClient(t, server.Addr)
			cfg := kindConfig(standard, buckets)
			cfg.Namespace += ":news-1-01234567"
			maintain := func(without string) error {
				setRules(t, admin, cfg, without)
				rules := []any{"ACL", "SETUSER", "sieve"}
				for _, r := range toolRights {
					if r != without {
						rules = append(rules, "+"+r)
					}
				}
				require.NoError(t, admin.Do(t.Context(), rules...).Err())
				x := newIndex(t, connectAs(t, server.Addr, func(*Options) {}), cfg)
				return maintainAll(t, x)
			}
			require.NoError(t, maintain(""))
			for _, r := range toolRights {
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
func maintainAll(t *testing.T, x *Index) error {
	t.Helper()
	a := newArticle(1, 0xF0)
	r, err := x.StartRestore(t.Context())
	if err != nil {
		return err
	}
	progress, err := x.OpenRefill(t.Context(), "test", true)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { _, _, err := progress.Take(t.Context(), "part", 0); return err },
		func() error { return progress.Note(t.Context(), "part", Range{0, 7}) },
		func() error { return progress.NoteGap(t.Context()) },
		func() error { return progress.Release(t.Context(), "part") },
		func() error { _, err := progress.Cure(t.Context()); return err },
		func() error {
			_, err := r.Restore(t.Context(), []article.Article{a}, []article.Verdict{{Kind: article.Unique, Root: a.Ref()}})
			return err
		},
		func() error { _, err := x.Stored(t.Context(), &a); return err },
		func() error { _, err := x.Candidates(t.Context(), &a); return err },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return x.Walk(t.Context(), func(int64, int64) {}, func(k Keys) error {
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
		if _, err := x.Unlisted(t.Context(), found); err != nil {
			return err
		}
		return k.Lists(t.Context(), func(lists []List) error {
			_, err := x.Missing(t.Context(), lists)
			return err
		})
	})
}

// Refills of several processes share their parts, and go on where one of them was.
func TestRefillProgress(t *testing.T) {
	client := newClient(t, redisserver.Addr(t))
	x := newIndex(t, client, testConfig(standard))
	open := func(anew bool) *Refill {
		r, err := x.OpenRefill(t.Context(), "outputs", anew)
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
	require.NoError(t, first.Note(t.Context(), "topic/0", Range{5, 10}))
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
	require.NoError(t, first.Note(t.Context(), "topic/0", Range{5, 20}))
	lost, err := first.LostMore(t.Context())
	require.NoError(t, err)
	require.False(t, lost)
	require.NoError(t, client.HSet(t.Context(), x.watermarks.markerKeys[0], "lost", "1 missing").Err())
	lost, err = first.LostMore(t.Context())
	require.NoError(t, err)
	require.True(t, lost)
	done, _ = take(open(false), 5)
	require.Equal(t, Range{5, 5}, done, "progress from before a loss is not used")
}

// A complete refill ends the warnings of the losses that were known when it began, in all processes and in those that start later.
func TestCure(t *testing.T) {
	server := redisserver.Start(t)
	client := newClient(t, server.Addr)
	cfg := testConfig(standard)
	w, other := watch(t, client, cfg), watch(t, client, cfg)
	for _, w := range []*watched{w, other} {
		w.Recall(nil)
		w.requireNoLoss(t)
	}
	open := func() *Refill {
		r, err := w.OpenRefill(t.Context(), "outputs", false)
		require.NoError(t, err)
		return r
	}
	cure := func(r *Refill) bool {
		cured, err := r.Cure(t.Context())
		require.NoError(t, err)
		return cured
	}
	require.False(t, cure(open()), "there was no loss")
	before := open()
	flush(t, client)
	w.requireLoss(t, lossMissing)
	other.requireLoss(t, lossMissing)
	require.False(t, cure(before), "the loss came after it began")
	gap := open()
	require.NoError(t, gap.NoteGap(t.Context()))
	require.False(t, cure(gap))
	require.False(t, cure(open()), "another process of the same run has left something out")

	_, err := w.OpenRefill(t.Context(), "outputs", true)
	require.NoError(t, err)
	require.True(t, cure(open()))
	for _, w := range []*watched{w, other} {
		require.Eventually(t, func() bool { kinds, _ := w.warns(); return len(kinds) == 0 }, time.Minute, 10*time.Millisecond)
		require.Zero(t, testutil.ToFloat64(w.monitorMetrics.lastLoss))
	}
	later := watch(t, client, cfg)
	later.Recall([]string{w.Note()})
	later.requireNoLoss(t)

	require.NoError(t, client.HSet(t.Context(), w.watermarks.markerKeys[0], "seen", 1).Err())
	require.Eventually(t, func() bool { kinds, _ := later.warns(); return kinds[lossRollback] != "" }, time.Minute, 10*time.Millisecond, "a further loss")
	later.waitRound(t)
	kinds, _ := later.warns()
	require.NotEmpty(t, kinds[lossRollback], "the earlier refill has not cured it")
}

func connectAs(t *testing.T, addr string, change func(*Options)) redis.UniversalClient {
	t.Helper()
	o := DefaultOptions()
	o.Addrs, o.Username, o.Password = []string{addr}, "sieve", "pass"
	change(&o)
	client, err := Connect(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// work does what the service does: a probe, and batches with copies and little text.
func work(t *testing.T, addr string, change func(*Options), cfg Config) error {
	t.Helper()
	client := connectAs(t, addr, change)
	if err := client.Ping(t.Context()).Err(); err != nil {
		return err
	}
	x, err := New(client, cfg, nil, slog.New(slog.DiscardHandler), nil)
	require.NoError(t, err)
	little := newArticle(3, 77)
	little.LittleText = true
	base := int(time.Now().UnixNano())
	for i := range 2 {
		claims := []article.Article{newArticle(base+4*i, 5), newArticle(base+4*i+1, 4), newArticle(base+4*i+2, simhash.Fingerprint(base+4*i)), little} // the third is new to the lists
		if _, err := x.run(t.Context(), claims, newCall(x, nil)); err != nil {
			return err
		}
	}
	return nil
}

func checkAs(t *testing.T, addr string, change func(*Options), cfg Config) []diag.Finding {
	t.Helper()
	return Check(t.Context(), connectAs(t, addr, change), cfg)
}

// commandsUsed asks the server which commands were called.
func commandsUsed(t *testing.T, admin redis.UniversalClient) []string {
	t.Helper()
	info, err := admin.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	var names []string
	for line := range strings.Lines(info) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_"); ok {
			name, _, _ := strings.Cut(rest, ":")
			names = append(names, name)
		}
	}
	return names
}

// docs/security.md holds the rule and the list that follow from Rights.
func TestSecurityDocs(t *testing.T) {
	const path, begin, end = "../docs/security.md", "<!-- redis rights: generated, do not edit -->\n", "<!-- end of redis rights -->"
	var b strings.Builder
	fmt.Fprintf(&b, "```sh\nredis-cli ACL SETUSER echosieve on '>PASSWORD' '%s' \\\n ", strings.Fields(ACLRule("echosieve"))[0])
	for i, r := range Rights() {
		if i > 0 && i%6 == 0 {
			b.WriteString(" \\\n ")
		}
		fmt.Fprintf(&b, " '+%s'", r.Command)
	}
	b.WriteString("\n```\n\n| right | needed |\n|---|---|\n")
	for _, r := range Rights() {
		var needed string
		switch {
		case r.Optional:
			needed = "optional: " + r.For
		case r.When != "":
			needed = "with `" + r.When + "`"
		default:
			continue // always needed, as the page says above the rule
		}
		fmt.Fprintf(&b, "| `+%s` | %s |\n", strings.ReplaceAll(r.Command, "|", "\\|"), needed)
	}
	doc, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(doc), begin)
	require.True(t, found)
	old, after, found := strings.Cut(rest, end)
	require.True(t, found)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(before+begin+b.String()+end+after), 0o644))
		return
	}
	require.Equal(t, b.String(), old, "run: go test ./redisindex -run TestSecurityDocs -update")
}
