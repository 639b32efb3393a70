package redisindex

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/internal/diag"
	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/host"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

var update = flag.Bool("update", false, "write the generated part of docs/security.md")

// A user with exactly the rights of the list can do all the work and a whole check, on every kind of server.
func TestRightsAreEnoughAndNoneTooMany(t *testing.T) {
	for _, kind := range []struct {
		setting string // that the server is about
		args    []string
		change  func(*connection.Options)
	}{
		{"", nil, func(*connection.Options) {}},
		{connection.WhenSets, nil, func(*connection.Options) {}},
		{"redis.db", nil, func(o *connection.Options) { o.DB = 1 }},
		{"redis.cluster", []string{"--cluster-enabled", "yes"}, func(o *connection.Options) { o.Cluster = true }},
		{"redis.wait_replicas", nil,
			func(o *connection.Options) { o.WaitReplicas, o.Timeout, o.WaitTimeout = 1, time.Minute, 30*time.Second }},
	} {
		t.Run("server "+kind.setting, func(t *testing.T) {
			t.Parallel()
			if kind.args != nil { // the usual port of the cluster bus may be in use
				kind.args = append(kind.args, "--cluster-port", strconv.Itoa(host.Ports(t, 1)[0]))
			}
			server := redisserver.Start(t, kind.args...)
			admin := redisrig.Client(t, server.Addr)
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
			cfg := redisrig.Config(redisrig.Standard)
			cfg.Namespace += ":news-1-01234567"
			buckets := connection.WhenPacked
			if kind.setting == connection.WhenSets {
				cfg.Buckets, buckets = keyspace.BucketsSets, connection.WhenSets
			}
			redisrig.SetRules(t, admin, connection.ACLRule(cfg.BaseNamespace()), "")
			require.NoError(t, admin.ConfigResetStat(t.Context()).Err())
			require.NoError(t, work(t, server.Addr, kind.change, cfg))
			for _, f := range checkAs(t, server.Addr, kind.change, cfg) {
				require.NotEqual(t, diag.Failure, f.Severity, "%+v", f)
				require.NotContains(t, f.Problem, "NOPERM")
			}
			used := commandsUsed(t, admin)
			for _, r := range connection.Rights() {
				if r.When != "" && r.When != kind.setting && r.When != buckets {
					continue
				}
				require.Contains(t, used, r.Command, "nobody uses this right")
				t.Run(r.Command, func(t *testing.T) {
					redisrig.SetRules(t, admin, connection.ACLRule(cfg.BaseNamespace()), r.Command)
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
					require.ErrorAs(t, connection.Explain(err, redisrig.ConnectAs(t, server.Addr, kind.change),
						cfg.BaseNamespace()), &p)
					require.Equal(t, "a right is missing in Redis", p.Cause, err)
					require.Contains(t, p.Remedy, "+"+r.Command)
					if !strings.Contains(err.Error(), "executing the script") { // Redis 7.0 does not name it there
						require.Contains(t, err.Error(), command)
						require.Contains(t, err.Error(), sub)
					}
					require.NotEmpty(t, findings)
					require.Equal(t, diag.Failure, findings[0].Severity)
					require.Contains(t, findings[0].Remedy, "ACL SETUSER sieve ~"+cfg.BaseNamespace()+":* +ping")
				})
			}
			redisrig.SetRules(t, admin, connection.ACLRule(cfg.BaseNamespace()), "")
			cfg.Namespace = "elsewhere:news-1-01234567"
			err := work(t, server.Addr, kind.change, cfg)
			require.ErrorContains(t, connection.Explain(err, redisrig.ConnectAs(t, server.Addr, kind.change),
				cfg.BaseNamespace()), "ACL SETUSER sieve ~elsewhere:*")
		})
	}
}

// work does what the service does: a probe, and claims with copies and little text.
func work(t *testing.T, addr string, change func(*connection.Options), cfg keyspace.Config) error {
	t.Helper()
	client := redisrig.ConnectAs(t, addr, change)
	if err := client.Ping(t.Context()).Err(); err != nil {
		return err
	}
	x, err := New(client, cfg, nil, slog.New(slog.DiscardHandler), nil)
	require.NoError(t, err)
	little := redisrig.Article(3, 77)
	little.LittleText = true
	base := int(time.Now().UnixNano())
	for i := range 2 {
		// the third is new to the lists
		claims := []article.Article{redisrig.Article(base+4*i, 5), redisrig.Article(base+4*i+1, 4),
			redisrig.Article(base+4*i+2, simhash.Fingerprint(base+4*i)), little}
		if _, err := newCall(x, claims).run(t.Context()); err != nil {
			return err
		}
	}
	return nil
}

func checkAs(t *testing.T, addr string, change func(*connection.Options), cfg keyspace.Config) []diag.Finding {
	t.Helper()
	client := redisrig.ConnectAs(t, addr, change)
	return connection.Check(t.Context(), client, cfg, 0,
		func(ctx context.Context) error { return Trial(ctx, client, cfg) })
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
	const path, begin, end = "../docs/security.md", "<!-- redis rights: generated, do not edit -->\n",
		"<!-- end of redis rights -->"
	var b strings.Builder
	fmt.Fprintf(&b, "```sh\nredis-cli ACL SETUSER echosieve on '>PASSWORD' '%s' \\\n ",
		strings.Fields(connection.ACLRule("echosieve"))[0])
	for i, r := range connection.Rights() {
		if i > 0 && i%6 == 0 {
			b.WriteString(" \\\n ")
		}
		fmt.Fprintf(&b, " '+%s'", r.Command)
	}
	b.WriteString("\n```\n")
	var rights, needed string // of the item that is not written yet
	for _, r := range append(connection.Rights(), connection.Right{}) {
		now := ""
		switch {
		case r.Optional:
			now = "optional: " + r.For
		case r.When != "":
			now = "with `" + r.When + "`"
		}
		switch {
		case now == needed && now != "":
			rights += fmt.Sprintf(", `+%s`", r.Command)
			continue
		case needed != "":
			fmt.Fprintf(&b, "\n- %s: %s", rights, needed)
		}
		rights, needed = fmt.Sprintf("`+%s`", r.Command), now
	}
	b.WriteString("\n\n")
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
