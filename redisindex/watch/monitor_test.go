package watch_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/internal/diag"
	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/admin"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/redisindex/watch"
	"echosieve/simhash"
	"echosieve/test/redisrig"
	"echosieve/test/redisrig/indexrig"
	"echosieve/test/redisserver"
)

// watched is an index with a running monitor, like a process of the service.
type watched struct {
	*redisindex.Index
	*watch.Losses
	stop func()
	reg  *prometheus.Registry

	mu       sync.Mutex
	warnings map[string]string
	log      bytes.Buffer
}

// startWatched starts a monitor.
func startWatched(t testing.TB, client redis.UniversalClient, cfg keyspace.Config) *watched {
	t.Helper()
	w := &watched{warnings: map[string]string{}, reg: prometheus.NewRegistry()}
	var err error
	w.Index, err = redisindex.New(client, cfg, w.reg, slog.New(slog.NewTextHandler(w, nil)), nil)
	require.NoError(t, err)
	w.Losses = w.Index.Losses()
	w.SetInterval(50 * time.Millisecond)
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

// said is how often the log has a text.
func (w *watched) said(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.log.String(), text)
}

// waitRound waits until the monitor has made another full round and has reported everything that the round showed.
func (w *watched) waitRound(t testing.TB) {
	t.Helper()
	for range 2 { // the first may have begun before the call
		before := w.LastShown()
		require.Eventually(t, func() bool { return w.LastShown().After(before) }, time.Minute, 10*time.Millisecond)
	}
}

func fieldOf(x *redisindex.Index, a *article.Article) keyspace.FieldRef {
	e := x.Keys().Layout.EntryOf(a)
	return e.Field()
}

func infoOf(t testing.TB, client redis.UniversalClient) connection.ServerInfo {
	t.Helper()
	info, err := connection.AskInfo(t.Context(), client.(*redis.Client))
	require.NoError(t, err)
	return info
}

// checkWarns says whether Check warns of a subject, too.
func checkWarns(t testing.TB, client redis.UniversalClient, subject string) bool {
	t.Helper()
	found := connection.Check(t.Context(), client, redisrig.Config(redisrig.Standard), 0,
		func(context.Context) error { return nil })
	return slices.ContainsFunc(found, func(f diag.Finding) bool {
		return f.Severity == diag.Warning && strings.HasSuffix(f.Subject, " "+subject)
	})
}

// claimNew claims n new articles.
func (w *watched) claimNew(t testing.TB, n int) {
	t.Helper()
	for range n {
		at := int(time.Now().UnixNano())
		indexrig.ClaimOne(t, w.Index, redisrig.Article(at, simhash.Fingerprint(at)*0x9E3779B97F4A7C15))
	}
}

// requireLoss waits for the warning of a kind of loss, and requires that it was logged once, and that there
// is no warning of another kind.
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
	require.InDelta(t, time.Now().Unix(), testutil.ToFloat64(w.LastLoss()), 120)
}

// requireNoLoss requires that no loss is noticed, now or after more articles.
func (w *watched) requireNoLoss(t testing.TB) {
	t.Helper()
	w.claimNew(t, 3)
	w.waitRound(t)
	kinds, lines := w.warns()
	require.Empty(t, kinds)
	require.Zero(t, lines, w.log.String())
	for _, kind := range watch.LossKinds {
		require.Zero(t, w.Counted(kind), kind)
	}
}

// scene is a server, and an index on it with a running monitor.
type scene struct {
	*watched
	t      *testing.T
	server *redisserver.Server
	client redis.UniversalClient
}

func (s scene) flush()   { redisrig.Flush(s.t, s.client) }
func (s scene) restart() { s.server.Kill(); s.server.Restart() }

func (s scene) evictThrice() {
	info := func() connection.ServerInfo { return infoOf(s.t, s.client) }
	require.NoError(s.t, s.client.ConfigSet(s.t.Context(), "maxmemory", fmt.Sprint(info().MemoryUsed+2<<20)).Err())
	for n, before := 0, int64(0); n < 3; n, before = n+1, info().Evicted {
		for i := 0; info().Evicted == before; i++ {
			key, value := fmt.Sprint("filler", n, i), strings.Repeat("x", 1000)
			require.NoError(s.t, s.client.Set(s.t.Context(), key, value, 0).Err())
		}
		s.waitRound(s.t)
	}
	require.GreaterOrEqual(s.t, s.Counted(watch.LossEviction), 2)
	require.NoError(s.t, s.client.ConfigSet(s.t.Context(), "maxmemory", "0").Err())
}

func TestLossesOfARunningService(t *testing.T) {
	for _, test := range []struct {
		name, kind string // no kind: nothing is lost
		args       []string
		happens    func(s scene)
	}{
		{"first start", "", nil, func(scene) {}},
		{"flushed", watch.LossMissing, nil, scene.flush},
		{"flushed, without the right to INFO", watch.LossMissing, nil, func(s scene) {
			require.NoError(s.t, s.client.Do(s.t.Context(), "ACL", "SETUSER", "default", "-info").Err())
			s.waitRound(s.t)
			s.flush()
			require.Equal(s.t, 1, s.said("Redis does not answer INFO"))
		}},
		{"flushed while articles flow", watch.LossMissing, nil, func(s scene) { s.flush(); s.claimNew(s.t, 1) }},
		{"counter back, overtaken before anybody looks", watch.LossRollback, nil, func(s scene) {
			defer s.Hold()()
			require.NoError(s.t, s.client.Set(s.t.Context(), s.Keys().Sequence(), 1, 0).Err())
			s.claimNew(s.t, 20)
		}},
		{"marker back", watch.LossRollback, nil, func(s scene) {
			require.NoError(s.t, s.client.HSet(s.t.Context(), s.Keys().Markers(false)[0], "seen", 1).Err())
		}},
		{"older snapshot", watch.LossRollback, nil, func(s scene) {
			require.NoError(s.t, s.client.Save(s.t.Context()).Err())
			s.claimNew(s.t, 1)
			s.restart()
		}},
		{"restarted with its data", "", []string{"--appendonly", "yes", "--appendfsync", "always"}, scene.restart},
		{"foreign bytes in an entry", watch.LossDamage, nil, func(s scene) {
			a := redisrig.Article(1, 0xff)
			field := fieldOf(s.Index, &a)
			require.NoError(s.t, s.client.HSet(s.t.Context(), s.Keys().Entries(field), field.Name(), "hello").Err())
			require.Equal(s.t, article.Unique, indexrig.ClaimOne(s.t, s.Index, a).Kind)
		}},
		{"evicts again and again", watch.LossEviction, []string{"--maxmemory-policy", "allkeys-lru"}, scene.evictThrice},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := redisserver.Start(t, test.args...)
			client := redisrig.Client(t, server.Addr)
			w := startWatched(t, client, redisrig.Config(redisrig.Standard))
			w.Recall(nil)
			w.claimNew(t, 10)
			w.waitRound(t)
			drawn := w.HighestTicket()
			test.happens(scene{w, t, server, client})
			if test.kind == "" {
				w.requireNoLoss(t)
				return
			}
			w.requireLoss(t, test.kind)
			if test.kind != watch.LossEviction {
				require.Equal(t, 1, w.Counted(test.kind))
			}
			require.Greater(t, w.HighestTicket(), drawn, "tickets do not start over")
		})
	}
}

func TestLossesWhileTheServiceWasStopped(t *testing.T) {
	other := func(cfg *keyspace.Config, _ *string) { cfg.Namespace += "-other" }
	for _, test := range []struct {
		name, kind string
		flushed    bool
		change     func(cfg *keyspace.Config, label *string)
	}{
		{"nothing", "", false, nil},
		{"flushed", watch.LossMissing, true, nil},
		{"flushed, a new recipe", "", true, other},
		{"a new recipe", "", false, other},
		{"a new layout", "", false, func(cfg *keyspace.Config, _ *string) { cfg.ExpectedArticles *= 4 }},
		{"a group that remembers nothing", "", true, func(_ *keyspace.Config, label *string) { *label = "" }},
		{"everything has expired", "", true, func(cfg *keyspace.Config, label *string) {
			n, _ := watch.ParseLabel(*label)
			n.Seen = time.Now().Add(-2*cfg.Window - time.Second)
			*label = n.String()
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := redisrig.Client(t, redisserver.Start(t).Addr)
			cfg := redisrig.Config(redisrig.Standard)
			first := startWatched(t, client, cfg)
			require.Empty(t, first.Label(), "before Redis showed anything")
			first.Recall(nil)
			first.claimNew(t, 5)
			first.waitRound(t)
			label := first.Label()
			require.NotEmpty(t, label)
			first.stop()
			if test.flushed {
				redisrig.Flush(t, client)
			}
			if test.change != nil {
				test.change(&cfg, &label)
			}
			standby := startWatched(t, client, cfg) // looks before anybody knows what the group remembers
			standby.waitRound(t)
			second := startWatched(t, client, cfg)
			second.waitRound(t)
			second.Recall([]string{label, "another.1.2", "junk", ""})
			if test.kind == "" {
				second.requireNoLoss(t)
				return
			}
			second.requireLoss(t, test.kind)
			require.Equal(t, 1, second.Counted(test.kind))
			second.stop()
			third := startWatched(t, client, cfg) // the next start knows that it was noticed
			third.Recall([]string{label})
			third.requireLoss(t, test.kind)
			require.Zero(t, third.Counted(test.kind))
			require.Contains(t, third.log.String(), "noticed_before_start=true")
		})
	}
}

func TestMonitorMemoryAndSaves(t *testing.T) {
	dir := t.TempDir() + "/gone"
	require.NoError(t, os.Mkdir(dir, 0o755))
	server := redisserver.Start(t, "--enable-protected-configs", "yes")
	client := redisrig.Client(t, server.Addr)
	w := startWatched(t, client, redisrig.Config(redisrig.Standard))
	w.Recall(nil)
	set := func(name, value string) { require.NoError(t, client.ConfigSet(t.Context(), name, value).Err()) }
	warning := func(kind, text string) {
		t.Helper()
		require.Eventually(t, func() bool {
			kinds, _ := w.warns()
			return strings.Contains(kinds[kind], text) && (text != "") == (kinds[kind] != "")
		}, time.Minute, 10*time.Millisecond)
	}
	limit := infoOf(t, client).MemoryUsed * 11 / 10
	set("maxmemory", fmt.Sprint(limit))
	warning(watch.WarnMemory, server.Addr+" uses")
	used, most, _ := w.OfNode(server.Addr)
	require.InDelta(t, float64(limit), most, 0)
	require.Greater(t, used, 0.8*float64(limit))
	require.True(t, checkWarns(t, client, "memory"))
	set("maxmemory", "0")
	warning(watch.WarnMemory, "")

	set("dir", dir)
	require.NoError(t, os.Remove(dir))
	require.Error(t, client.Save(t.Context()).Err())
	_ = client.BgSave(t.Context()).Err()
	warning(watch.WarnSave, "rdb_last_bgsave_status")
	_, _, failing := w.OfNode(server.Addr)
	require.InDelta(t, 1, failing, 0)
	require.True(t, checkWarns(t, client, "save"))
	require.NoError(t, os.Mkdir(dir, 0o755))
	set("dir", dir)
	require.NoError(t, client.BgSave(t.Context()).Err())
	warning(watch.WarnSave, "")
}

// The loss of any one master of a cluster is noticed.
func TestLossOfOneMaster(t *testing.T) {
	cluster := redisserver.StartCluster(t, 3, 0)
	client := redisrig.Connect(t, redisrig.ClusterOptions(cluster))
	for _, master := range cluster.Servers {
		w := startWatched(t, client, redisrig.Config(redisrig.Standard))
		w.Recall(nil)
		w.requireNoLoss(t)
		used, _, _ := w.OfNode(master.Addr)
		require.Positive(t, used)
		require.NoError(t, master.Client.FlushAll(t.Context()).Err())
		w.requireLoss(t, watch.LossMissing)
		w.stop()
	}
}

// A complete refill ends the warnings of the losses that were known when it began, in all processes and in
// those that start later.
func TestCure(t *testing.T) {
	server := redisserver.Start(t)
	client := redisrig.Client(t, server.Addr)
	cfg := redisrig.Config(redisrig.Standard)
	w, other := startWatched(t, client, cfg), startWatched(t, client, cfg)
	for _, w := range []*watched{w, other} {
		w.Recall(nil)
		w.requireNoLoss(t)
	}
	tools := admin.New(w.Index)
	losses := func() admin.Losses {
		losses, err := tools.Losses(t.Context())
		require.NoError(t, err)
		return losses
	}
	cure := func(losses admin.Losses) bool {
		cured, err := tools.Cure(t.Context(), losses)
		require.NoError(t, err)
		return cured
	}
	require.False(t, cure(losses()), "there was no loss")
	before := losses()
	redisrig.Flush(t, client)
	w.requireLoss(t, watch.LossMissing)
	other.requireLoss(t, watch.LossMissing)
	require.NotEqual(t, before, losses())
	require.True(t, cure(losses()))
	for _, w := range []*watched{w, other} {
		require.Eventually(t, func() bool { kinds, _ := w.warns(); return len(kinds) == 0 }, time.Minute,
			10*time.Millisecond)
		require.Zero(t, testutil.ToFloat64(w.LastLoss()))
	}
	later := startWatched(t, client, cfg)
	later.Recall([]string{w.Label()})
	later.requireNoLoss(t)

	require.NoError(t, client.HSet(t.Context(), w.Keys().Markers(false)[0], "seen", 1).Err())
	require.Eventually(t, func() bool { kinds, _ := later.warns(); return kinds[watch.LossRollback] != "" },
		time.Minute, 10*time.Millisecond, "a further loss")
	later.waitRound(t)
	kinds, _ := later.warns()
	require.NotEmpty(t, kinds[watch.LossRollback], "the earlier refill has not cured it")
}

// keysOf returns the keys of the index by the class that their names begin with.
func keysOf(t testing.TB, x *redisindex.Index, client redis.UniversalClient) map[string][]string {
	t.Helper()
	all, err := client.Keys(t.Context(), x.Keys().Prefix+"*").Result()
	require.NoError(t, err)
	classes := map[string][]string{}
	for _, key := range all {
		class, _, _ := strings.Cut(strings.TrimPrefix(key, x.Keys().Prefix), ":")
		classes[class] = append(classes[class], key)
	}
	return classes
}

// storedNow are n articles of now and their copies, which name them as originals.
func storedNow(n int) (originals, copies []article.Article) {
	for i := range n {
		a := redisrig.Article(i, simhash.Fingerprint(i+1)*0x9E3779B97F4A7C15)
		a.Time = time.Now()
		b := redisrig.Article(n+i, a.Fingerprint^1)
		b.Time = a.Time
		originals, copies = append(originals, a), append(copies, b)
	}
	return originals, copies
}

// Whichever class of keys is deleted under a running service, the loss is noticed, or it changes no verdict.
func TestDeletedKeysAreNoticedOrHarmless(t *testing.T) {
	for _, buckets := range redisrig.Kinds {
		lists := map[string]string{keyspace.BucketsPacked: "b", keyspace.BucketsSets: "s"}[buckets]
		classes := map[string]bool{"o": false, lists: false, "g": false, "seq": false, "life": false, "d": true}
		for class, harmless := range classes {
			t.Run(buckets+" "+class, func(t *testing.T) {
				t.Parallel()
				client := redisrig.Client(t, redisserver.Start(t).Addr)
				w := startWatched(t, client, redisrig.KindConfig(redisrig.Standard, buckets))
				w.Recall(nil)
				originals, copies := storedNow(60)
				damaged := redisrig.Article(1000, 0xff)
				field := fieldOf(w.Index, &damaged)
				if harmless { // these rows need keys of all classes
					require.NoError(t, client.HSet(t.Context(), w.Keys().Entries(field), field.Name(), "hello").Err())
					indexrig.ClaimOne(t, w.Index, damaged)
				}
				first, err := w.Claim(t.Context(), originals)
				require.NoError(t, err)
				w.waitRound(t)
				found := keysOf(t, w.Index, client)
				for class := range found {
					require.Contains(t, classes, class, "keys of this class have no row in this test")
				}
				require.NotEmpty(t, found[class])
				require.NoError(t, client.Del(t.Context(), found[class]...).Err())
				if !harmless {
					w.requireLoss(t, watch.LossMissing)
					require.Equal(t, 1, w.Counted(watch.LossMissing))
					return
				}
				w.waitRound(t)
				require.Zero(t, w.Counted(watch.LossMissing))
				again, err := w.Claim(t.Context(), originals)
				require.NoError(t, err)
				require.Equal(t, first, again)
				verdicts, err := w.Claim(t.Context(), copies)
				require.NoError(t, err)
				for i, v := range verdicts {
					require.Equal(t, originals[i].Coordinates, v.Original.Coordinates)
				}
			})
		}
	}
}
