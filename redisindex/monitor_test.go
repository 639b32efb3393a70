package redisindex

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex/indexid"
	"echosieve/simhash"
	"echosieve/test/redisserver"
)

// watched is an index with a running monitor, like a process of the service.
type watched struct {
	*Index
	stop func()

	mu       sync.Mutex
	warnings map[string]string
	log      bytes.Buffer
}

// watch starts a monitor. The test calls Recall, as a process does when it knows what its consumer group has stored.
func watch(t testing.TB, client redis.UniversalClient, cfg Config) *watched {
	t.Helper()
	w := &watched{warnings: map[string]string{}}
	var err error
	w.Index, err = New(client, cfg, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(w, nil)), nil)
	require.NoError(t, err)
	w.watermarks.interval = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Monitor(ctx, func(kind, text string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.warnings[kind] = text
			if text == "" {
				delete(w.warnings, kind)
			}
		})
	}()
	w.stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(w.stop)
	return w
}

// Write implements io.Writer for the log.
func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

// warns returns the kinds of the standing warnings and the number of log lines about losses.
func (w *watched) warns() (kinds map[string]string, lines int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.warnings), strings.Count(w.log.String(), "copies of them can pass as unique")
}

func (w *watched) counted(kind string) int {
	return int(testutil.ToFloat64(w.monitorMetrics.losses.WithLabelValues(kind)))
}

// waitRound waits until the monitor has made another full round and has reported everything that the round showed.
func (w *watched) waitRound(t testing.TB) {
	t.Helper()
	for range 2 { // the first may have begun before the call
		w.watermarks.mu.Lock()
		before := w.watermarks.lastShown
		w.watermarks.mu.Unlock()
		require.Eventually(t, func() bool {
			w.watermarks.mu.Lock()
			defer w.watermarks.mu.Unlock()
			return w.watermarks.lastShown.After(before)
		}, time.Minute, 10*time.Millisecond)
	}
}

// claimNew claims n new articles.
func (w *watched) claimNew(t testing.TB, n int) {
	t.Helper()
	for range n {
		at := int(time.Now().UnixNano())
		claimOne(t, w.Index, newArticle(at, simhash.Fingerprint(at)*0x9E3779B97F4A7C15))
	}
}

// requireLoss waits for the warning of a kind of loss, and requires that it was logged once, and that there is no warning of another kind.
func (w *watched) requireLoss(t testing.TB, kind string) {
	t.Helper()
	require.Eventually(t, func() bool {
		kinds, _ := w.warns()
		return kinds[kind] != ""
	}, time.Minute, 10*time.Millisecond, "no warning of kind %s", kind)
	w.claimNew(t, 3)
	w.waitRound(t)
	kinds, lines := w.warns()
	require.Len(t, kinds, 1, "%v", kinds)
	require.Contains(t, kinds[kind], "Redis lost articles")
	require.Equal(t, 1, lines, w.log.String())
	require.InDelta(t, time.Now().Unix(), testutil.ToFloat64(w.monitorMetrics.lastLoss), 120)
}

// requireNoLoss requires that no loss is noticed, now or after more articles.
func (w *watched) requireNoLoss(t testing.TB) {
	t.Helper()
	w.claimNew(t, 3)
	w.waitRound(t)
	kinds, lines := w.warns()
	require.Empty(t, kinds)
	require.Zero(t, lines, w.log.String())
	for _, kind := range lossKinds {
		require.Zero(t, w.counted(kind), kind)
	}
}

func flush(t testing.TB, client redis.UniversalClient) {
	require.NoError(t, client.FlushAll(t.Context()).Err())
}

// restartOlder saves a snapshot, calls more, and restarts the server with the snapshot.
func restartOlder(t testing.TB, server *redisserver.Server, client redis.UniversalClient, more func()) {
	t.Helper()
	require.NoError(t, client.Save(t.Context()).Err())
	more()
	server.Kill()
	server.Restart()
}

func TestLossesOfARunningService(t *testing.T) {
	for _, test := range []struct {
		name, kind string // no kind: nothing is lost
		args       []string
		happens    func(t *testing.T, w *watched, server *redisserver.Server, client redis.UniversalClient)
	}{
		{"first start", "", nil, func(*testing.T, *watched, *redisserver.Server, redis.UniversalClient) {}},
		{"flushed", lossMissing, nil, func(t *testing.T, _ *watched, _ *redisserver.Server, client redis.UniversalClient) {
			flush(t, client)
		}},
		{"flushed while articles flow", lossMissing, nil, func(t *testing.T, w *watched, _ *redisserver.Server, client redis.UniversalClient) {
			flush(t, client)
			w.claimNew(t, 1)
		}},
		{"counter gone", lossMissing, nil, func(t *testing.T, w *watched, _ *redisserver.Server, client redis.UniversalClient) {
			require.EqualValues(t, 1, client.Del(t.Context(), w.keys.sequence()).Val())
		}},
		{"counter back, overtaken before anybody looks", lossRollback, nil, func(t *testing.T, w *watched, _ *redisserver.Server, client redis.UniversalClient) {
			w.watermarks.mu.Lock() // the monitor stands still
			defer w.watermarks.mu.Unlock()
			require.NoError(t, client.Set(t.Context(), w.keys.sequence(), 1, 0).Err())
			w.claimNew(t, 20)
		}},
		{"marker gone", lossMissing, nil, func(t *testing.T, w *watched, _ *redisserver.Server, client redis.UniversalClient) {
			require.EqualValues(t, 1, client.Del(t.Context(), w.watermarks.markerKeys...).Val())
		}},
		{"marker back", lossRollback, nil, func(t *testing.T, w *watched, _ *redisserver.Server, client redis.UniversalClient) {
			require.NoError(t, client.HSet(t.Context(), w.watermarks.markerKeys[0], "seen", 1).Err())
		}},
		{"older snapshot", lossRollback, nil, func(t *testing.T, w *watched, server *redisserver.Server, client redis.UniversalClient) {
			restartOlder(t, server, client, func() { w.claimNew(t, 1) })
		}},
		{"came back empty", lossMissing, nil, func(_ *testing.T, _ *watched, server *redisserver.Server, _ redis.UniversalClient) {
			server.Kill()
			server.Restart()
		}},
		{"restarted with its data", "", []string{"--appendonly", "yes", "--appendfsync", "always"}, func(_ *testing.T, _ *watched, server *redisserver.Server, _ redis.UniversalClient) {
			server.Kill()
			server.Restart()
		}},
		{"reloaded", "", nil, func(t *testing.T, _ *watched, _ *redisserver.Server, client redis.UniversalClient) {
			require.NoError(t, client.Do(t.Context(), "DEBUG", "RELOAD").Err())
		}},
		{"scripts forgotten", "", nil, func(t *testing.T, _ *watched, _ *redisserver.Server, client redis.UniversalClient) {
			require.NoError(t, client.ScriptFlush(t.Context()).Err())
		}},
		{"foreign bytes in an entry", lossDamage, nil, func(t *testing.T, w *watched, _ *redisserver.Server, client redis.UniversalClient) {
			a := newArticle(1, 0xff)
			field := w.entryOf(a).field()
			require.NoError(t, client.HSet(t.Context(), w.keys.entries(field), field.name(), "hello").Err())
			require.Equal(t, article.Unique, claimOne(t, w.Index, a).Kind)
		}},
		{"evicts again and again", lossEviction, []string{"--maxmemory-policy", "allkeys-lru"}, func(t *testing.T, w *watched, _ *redisserver.Server, client redis.UniversalClient) {
			info := func() serverInfo { return parseInfo(client.Info(t.Context()).Val()) }
			require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", fmt.Sprint(info().memoryUsed+2<<20)).Err())
			for n, before := 0, int64(0); n < 3; n, before = n+1, info().evicted {
				for i := 0; info().evicted == before; i++ {
					require.NoError(t, client.Set(t.Context(), fmt.Sprint("filler", n, i), strings.Repeat("x", 1000), 0).Err())
				}
				w.waitRound(t)
			}
			require.GreaterOrEqual(t, w.counted(lossEviction), 2)
			require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "0").Err())
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := redisserver.Start(t, append([]string{"--enable-debug-command", "yes"}, test.args...)...)
			client := newClient(t, server.Addr)
			w := watch(t, client, testConfig(standard))
			w.Recall(nil)
			w.claimNew(t, 10)
			w.waitRound(t)
			drawn := w.watermarks.highest.Load()
			test.happens(t, w, server, client)
			if test.kind == "" {
				w.requireNoLoss(t)
				return
			}
			w.requireLoss(t, test.kind)
			if test.kind != lossEviction {
				require.Equal(t, 1, w.counted(test.kind))
			}
			require.Greater(t, w.watermarks.highest.Load(), drawn, "tickets do not start over")
		})
	}
}

func TestLossesWhileTheServiceWasStopped(t *testing.T) {
	for _, test := range []struct {
		name, kind string
		happens    func(t *testing.T, server *redisserver.Server, client redis.UniversalClient)
		change     func(cfg *Config, note *string)
	}{
		{"nothing", "", nil, nil},
		{"flushed", lossMissing, func(t *testing.T, _ *redisserver.Server, client redis.UniversalClient) { flush(t, client) }, nil},
		{
			"flushed, a new recipe", "", func(t *testing.T, _ *redisserver.Server, client redis.UniversalClient) { flush(t, client) },
			func(cfg *Config, _ *string) { cfg.Namespace += "-other" },
		},
		{"a new recipe", "", nil, func(cfg *Config, _ *string) { cfg.Namespace += "-other" }},
		{"a new layout", "", nil, func(cfg *Config, _ *string) { cfg.ExpectedArticles *= 4 }},
		{
			"a group that remembers nothing", "", func(t *testing.T, _ *redisserver.Server, client redis.UniversalClient) { flush(t, client) },
			func(_ *Config, note *string) { *note = "" },
		},
		{
			"everything has expired", "", func(t *testing.T, _ *redisserver.Server, client redis.UniversalClient) { flush(t, client) },
			func(cfg *Config, note *string) {
				n, _ := indexid.Parse(*note)
				n.Seen = time.Now().Add(-newLayout(*cfg).lifetime - time.Second)
				*note = n.String()
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := redisserver.Start(t)
			client := newClient(t, server.Addr)
			cfg := testConfig(standard)
			first := watch(t, client, cfg)
			require.Empty(t, first.Note(), "before Redis showed anything")
			first.Recall(nil)
			first.claimNew(t, 5)
			first.waitRound(t)
			note := first.Note()
			require.NotEmpty(t, note)
			first.stop()
			if test.happens != nil {
				test.happens(t, server, client)
			}
			if test.change != nil {
				test.change(&cfg, &note)
			}
			standby := watch(t, client, cfg) // looks before anybody knows what the group remembers
			standby.waitRound(t)
			second := watch(t, client, cfg)
			second.waitRound(t)
			second.Recall([]string{note, "another.1.2", "junk", ""})
			if test.kind == "" {
				second.requireNoLoss(t)
				return
			}
			second.requireLoss(t, test.kind)
			require.Equal(t, 1, second.counted(test.kind))
			second.stop()

			third := watch(t, client, cfg) // the next start knows that it was noticed
			third.Recall([]string{note})
			third.requireLoss(t, test.kind)
			require.Zero(t, third.counted(test.kind))
			require.Contains(t, third.log.String(), "noticed_before_start=true")
		})
	}
}

// The ticket counter shows an older snapshot even if the snapshot is only a moment old.
func TestOlderSnapshotWhileStopped(t *testing.T) {
	server := redisserver.Start(t)
	client := newClient(t, server.Addr)
	cfg := testConfig(standard)
	first := watch(t, client, cfg)
	first.Recall(nil)
	first.claimNew(t, 1)
	first.waitRound(t)
	var note string
	restartOlder(t, server, client, func() {
		first.stop()
		first.claimNew(t, 1)
		note = first.Note()
	})
	second := watch(t, client, cfg)
	second.Recall([]string{note})
	second.requireLoss(t, lossRollback)
}

// All processes that share an index notice a loss, whichever of them checks first. They raise no alarm because of each other.
func TestLossWithSeveralProcesses(t *testing.T) {
	client := newClient(t, redisserver.Start(t).Addr)
	cfg := testConfig(standard)
	a, b := watch(t, client, cfg), watch(t, client, cfg)
	a.Recall(nil)
	b.Recall(nil)
	a.claimNew(t, 5)
	b.claimNew(t, 5)
	c := watch(t, client, cfg)
	c.Recall([]string{a.Note(), b.Note()})
	for _, w := range []*watched{a, b, c} {
		w.requireNoLoss(t)
	}
	flush(t, client)
	total := 0
	for _, w := range []*watched{a, b, c} {
		w.requireLoss(t, lossMissing)
		total += w.counted(lossMissing)
	}
	require.Positive(t, total)
}

// Without the right to INFO a flush is still noticed, and the log says once that evictions, memory and saves are not watched.
func TestMonitorWithoutInfo(t *testing.T) {
	client := newClient(t, redisserver.Start(t).Addr)
	require.NoError(t, client.Do(t.Context(), "ACL", "SETUSER", "default", "-info").Err())
	w := watch(t, client, testConfig(standard))
	w.Recall(nil)
	w.requireNoLoss(t)
	flush(t, client)
	w.requireLoss(t, lossMissing)
	require.Equal(t, 1, strings.Count(w.log.String(), "Redis does not answer INFO"))
}

func TestMonitorMemoryAndSaves(t *testing.T) {
	dir := t.TempDir() + "/gone"
	require.NoError(t, os.Mkdir(dir, 0o755))
	server := redisserver.Start(t, "--enable-protected-configs", "yes")
	client := newClient(t, server.Addr)
	w := watch(t, client, testConfig(standard))
	w.Recall(nil)
	set := func(name, value string) { require.NoError(t, client.ConfigSet(t.Context(), name, value).Err()) }
	warning := func(kind, text string) {
		t.Helper()
		require.Eventually(t, func() bool {
			kinds, _ := w.warns()
			return strings.Contains(kinds[kind], text) && (text != "") == (kinds[kind] != "")
		}, time.Minute, 10*time.Millisecond)
	}
	limit := parseInfo(client.Info(t.Context()).Val()).memoryUsed * 11 / 10
	set("maxmemory", fmt.Sprint(limit))
	warning(warnMemory, server.Addr+" uses")
	require.InDelta(t, float64(limit), testutil.ToFloat64(w.monitorMetrics.memoryLimit.WithLabelValues(server.Addr)), 0)
	require.Greater(t, testutil.ToFloat64(w.monitorMetrics.memoryUsed.WithLabelValues(server.Addr)), 0.8*float64(limit))
	require.Contains(t, problems(Check(t.Context(), client, testConfig(standard))), "warning memory")
	set("maxmemory", "0")
	warning(warnMemory, "")

	set("dir", dir)
	require.NoError(t, os.Remove(dir))
	require.Error(t, client.Save(t.Context()).Err())
	_ = client.BgSave(t.Context()).Err()
	warning(warnSave, "rdb_last_bgsave_status")
	require.InDelta(t, 1, testutil.ToFloat64(w.monitorMetrics.saveFailing.WithLabelValues(server.Addr)), 0)
	require.Contains(t, problems(Check(t.Context(), client, testConfig(standard))), "warning save")
	require.NoError(t, os.Mkdir(dir, 0o755))
	set("dir", dir)
	require.NoError(t, client.BgSave(t.Context()).Err())
	warning(warnSave, "")
}

// The loss of any one master of a cluster is noticed, while the service runs and at its next start.
func TestLossOfOneMaster(t *testing.T) {
	cluster := redisserver.StartCluster(t, 3, 0)
	client := connect(t, clusterOptions(cluster))
	for _, master := range cluster.Servers {
		flush := func(t *testing.T) { require.NoError(t, cluster.Client(master).FlushAll(t.Context()).Err()) }
		t.Run("running "+master.Addr, func(t *testing.T) {
			w := watch(t, client, testConfig(standard))
			w.Recall(nil)
			w.requireNoLoss(t)
			require.Positive(t, testutil.ToFloat64(w.monitorMetrics.memoryUsed.WithLabelValues(master.Addr)))
			flush(t)
			w.requireLoss(t, lossMissing)
		})
		t.Run("stopped "+master.Addr, func(t *testing.T) {
			cfg := testConfig(standard)
			first := watch(t, client, cfg)
			first.Recall(nil)
			first.requireNoLoss(t)
			first.stop()
			flush(t)
			standby := watch(t, client, cfg) // looks before anybody knows what the group remembers
			standby.waitRound(t)
			second := watch(t, client, cfg)
			second.Recall([]string{first.Note()})
			second.requireLoss(t, lossMissing)
		})
	}
}

// The warning of a loss is over one window after the loss, and the gauge is 0 then.
func TestLossWarningEnds(t *testing.T) {
	cfg := testConfig(standard)
	x := newIndex(t, newClient(t, redisserver.Addr(t)), cfg)
	warned := ""
	m := newMonitor(x, func(_, text string) { warned = text })
	at := time.Now()
	m.report(lossMissing, loss{kind: lossMissing, at: at.Add(-cfg.Window), own: true})
	require.Empty(t, warned, "it is too long ago to matter")
	m.report(lossMissing, loss{kind: lossMissing, at: at.Add(-cfg.Window + time.Minute), own: true})
	m.clearOld()
	require.Contains(t, warned, at.Add(time.Minute).UTC().Format(time.RFC3339))
	m.standing[lossMissing] = at.Add(-cfg.Window)
	m.clearOld()
	require.Empty(t, warned)
	require.Zero(t, testutil.ToFloat64(x.monitorMetrics.lastLoss))
}

func TestSlotOf(t *testing.T) {
	cluster := redisserver.StartCluster(t, 3, 0)
	node := cluster.Client(cluster.Servers[0])
	for _, cfg := range []string{"ns:", "{ns}:"} {
		names := keys{prefix: cfg}.markers(true)
		parts := map[int64]bool{}
		for _, name := range names {
			slot := node.ClusterKeySlot(t.Context(), name).Val()
			parts[slot*clusterMarkers/slotCount] = true
			if _, tag, ok := strings.Cut(strings.TrimSuffix(name, "}"), "life:{"); ok {
				require.EqualValues(t, slotOf(tag), slot, name)
			}
		}
		require.Len(t, parts, len(names), "one in each part of the slots")
	}
	require.Len(t, keys{prefix: "ns:"}.markers(true), clusterMarkers)
	require.Len(t, keys{prefix: "{ns}:"}.markers(true), 1)
}
