package watch

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"echosieve/pipeline/article"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

// commits are what a group has committed, by partition: an offset and a label.
type commits map[int32]struct {
	offset int64
	label  string
}

// upTo are offsets in the partitions of the topic.
func upTo(offsets ...int64) (below []article.Coordinates) {
	for p, offset := range offsets {
		below = append(below, article.Coordinates{Topic: "in", Partition: int32(p), Offset: offset})
	}
	return below
}

func (c commits) labels() map[article.Coordinates]string {
	labels := map[article.Coordinates]string{}
	for p, commit := range c {
		labels[article.Coordinates{Topic: "in", Partition: p, Offset: commit.offset}] = commit.label
	}
	return labels
}

// rig is a server and indexes with several windows in it.
type rig struct {
	t      *testing.T
	client redis.UniversalClient
}

func newRig(t *testing.T) *rig {
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	t.Cleanup(func() { _ = client.Close() })
	return &rig{t, client}
}

// index returns the keys of the index of a window, in which some articles were decided.
func (r *rig) index(window time.Duration, articles int64) (keyspace.Keys, *Handover) {
	cfg := keyspace.DefaultConfig()
	cfg.Namespace, cfg.Window = "ns:news-4-3fa9c1d2", window
	cfg.Blocks = 4
	x := keyspace.New(cfg, 0)
	require.NoError(r.t, r.client.IncrBy(r.t.Context(), x.Sequence(), articles).Err())
	return x, NewHandover(r.client, x, "group", window)
}

func label(x keyspace.Keys, age time.Duration) string {
	return Label{Index: x.ID, Markers: 1, Seen: time.Now().Add(-age), Ticket: 12}.String()
}

// TestLack walks the cases in which the commits of a group name other indexes.
func TestLack(t *testing.T) {
	r := newRig(t)
	old, _ := r.index(168*time.Hour, 3)
	x, h := r.index(72*time.Hour, 1)
	elsewhere := old.ID
	elsewhere.Database = 2
	for _, c := range []struct {
		name      string
		committed commits
		filled    []int64
		articles  uint64 // 0: nothing lacks
	}{
		{"a brand-new group", commits{}, nil, 0},
		{"the same index", commits{0: {5, label(x, 0)}, 1: {7, label(x, time.Hour)}}, nil, 0},
		{"a tool has reset the offsets", commits{0: {5, ""}, 1: {7, "junk"}}, nil, 0},
		{"another window", commits{0: {5, label(old, time.Minute)}}, nil, 12},
		{"one partition of two", commits{0: {5, label(x, 0)}, 1: {7, label(old, time.Hour)}}, nil, 12},
		{"filled up to there", commits{0: {5, label(x, 0)}, 1: {7, label(old, time.Hour)}}, []int64{0, 7}, 0},
		{"filled, and then the old index went on", commits{0: {5, label(x, 0)}, 1: {8, label(old, time.Minute)}},
			[]int64{9, 7}, 12},
		{"a partition idle for longer than the window",
			commits{0: {5, label(x, 0)}, 1: {7, label(old, 73*time.Hour)}}, nil, 0},
		{"another database", commits{0: {5, Label{Index: elsewhere, Seen: time.Now(), Ticket: 12}.String()}}, nil, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, r.client.Del(t.Context(), h.key).Err())
			if c.filled != nil {
				require.NoError(t, h.Fill(t.Context(), upTo(c.filled...)...))
			}
			lack, err := h.Lack(t.Context(), c.committed.labels())
			require.NoError(t, err)
			if c.articles == 0 {
				require.Nil(t, lack)
				require.Zero(t, r.client.HExists(t.Context(), h.key, fieldEnds).Val(), "nothing is remembered")
				return
			}
			require.NotNil(t, lack)
			require.Equal(t, c.articles, lack.Articles)
			require.Positive(t, r.client.TTL(t.Context(), h.key).Val())
		})
	}
	require.NoError(t, r.client.Close())
	_, err := h.Lack(t.Context(), nil)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n", "it is said once")
}

// The next commits overwrite the evidence: a restart does not end a lack. Filling ends it, and later commits
// of idle partitions that still name the other index change nothing.
func TestLackOutlivesTheEvidence(t *testing.T) {
	r := newRig(t)
	old, back := r.index(168*time.Hour, 3)
	x, h := r.index(72*time.Hour, 1)
	lack := func(h *Handover, c commits) *Lack {
		l, err := h.Lack(t.Context(), c.labels())
		require.NoError(t, err)
		return l
	}
	idle := label(old, time.Hour)
	require.NotNil(t, lack(h, commits{0: {5, label(old, 0)}, 1: {7, idle}}))
	require.NotNil(t, lack(h, commits{0: {6, label(x, 0)}, 1: {8, label(x, 0)}}), "after a restart")
	require.NotNil(t, lack(back, commits{0: {6, label(x, 0)}, 1: {7, idle}}),
		"whoever goes back lacks what was decided meanwhile")
	require.NoError(t, h.Fill(t.Context(), upTo(6, 6)...))
	require.NotNil(t, lack(h, commits{0: {9, label(x, 0)}, 1: {7, idle}}), "not up to there")
	require.NoError(t, h.Fill(t.Context(), upTo(0, 7)...))
	require.Nil(t, lack(h, commits{0: {9, label(x, 0)}, 1: {7, idle}}))
}

// The gaps of an index begin where it was filled. Nobody knows those of one that never was.
func TestGaps(t *testing.T) {
	r := newRig(t)
	old, _ := r.index(168*time.Hour, 3)
	_, h := r.index(72*time.Hour, 1)
	committed := commits{0: {9, label(old, time.Minute)}, 1: {4, label(old, time.Hour)}}.labels()
	lack, err := h.Lack(t.Context(), committed)
	require.NoError(t, err)
	require.Empty(t, lack.Gaps)
	require.NoError(t, h.Fill(t.Context(), upTo(5, 4)...))
	lack, err = h.Lack(t.Context(), committed)
	require.NoError(t, err)
	require.Equal(t, []Gap{{From: upTo(5)[0], To: 9}}, lack.Gaps)
}

// Processes that fill an index at once do not undo what the others have filled, and none lowers it.
func TestFillAtOnce(t *testing.T) {
	r := newRig(t)
	_, h := r.index(time.Hour, 1)
	const partitions, last = 8, 1 << 52
	var fillers errgroup.Group
	for p := range int32(partitions) {
		fillers.Go(func() error {
			for _, offset := range []int64{1, 2, last, 3} {
				at := article.Coordinates{Topic: "in", Partition: p, Offset: offset}
				if err := h.Fill(t.Context(), at); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, fillers.Wait())
	var filled offsets
	require.NoError(t, h.read(t.Context(), fieldFilled, &filled))
	require.Len(t, filled, partitions)
	for partition, offset := range filled {
		require.EqualValues(t, last, offset, partition)
	}
	require.Positive(t, r.client.TTL(t.Context(), h.key).Val())
}

// TestReporter follows a process whose group was on another index, until it is filled.
func TestReporter(t *testing.T) {
	r := newRig(t)
	old, _ := r.index(168*time.Hour, 3)
	x, h := r.index(72*time.Hour, 1)
	idle := label(old, time.Hour)
	var log bytes.Buffer
	w := NewReporter(h, false, nil, slog.New(slog.NewTextHandler(&log, nil)))
	warned := ""
	round := func(c commits) string {
		if c != nil {
			w.Recall(c.labels())
		}
		w.round(t.Context(), func(kind, text string) {
			require.Equal(t, warnLack, kind)
			warned = text
		})
		return warned
	}
	require.Empty(t, round(nil), "before it knows what the group has committed")
	require.Empty(t, round(commits{0: {1, label(x, 0)}}))
	for range 2 {
		require.Contains(t, round(commits{0: {2, label(x, 0)}, 1: {7, idle}}),
			"the group's articles are in another index (window 72h here, 168h there): up to 12 articles stand there")
		require.Contains(t, warned,
			"echosieve index refill; or do without: echosieve index accept; both with the settings of this process")
		require.InDelta(t, 12, testutil.ToFloat64(w.lacking), 0)
		require.Equal(t, 1, strings.Count(log.String(), "are in another index"))
	}
	require.NoError(t, h.Fill(t.Context(), upTo(9, 9)...))
	require.Empty(t, round(commits{0: {3, label(x, 0)}, 1: {7, idle}}))
	require.Zero(t, testutil.ToFloat64(w.lacking))
	require.Contains(t, log.String(), "lacks no articles of its group any more")
}

func TestRemedy(t *testing.T) {
	mine := keyspace.ID{Name: keyspace.Name{Recipe: "news-4-a"}}
	require.Contains(t, Remedy(false, mine, keyspace.ID{Name: keyspace.Name{Recipe: "news-4-b"}}),
		"index refill --from input;")
	require.Contains(t, Remedy(false, mine, keyspace.ID{}), "index refill --from input;")
	require.NotContains(t, Remedy(true, mine, mine), "refill")
}

// A counter that another program has raised beyond all tickets is an error that names the key, and is not
// learned: once the key is moved away, it begins where this process knows it.
func TestCounterOfAnotherProgram(t *testing.T) {
	r := newRig(t)
	x, _ := r.index(time.Hour, 10)
	w := newWatermarks(r.client, x)
	w.recalled = true
	for _, s := range []*redis.Script{markerScript, counterScript} {
		require.NoError(t, s.Load(t.Context(), r.client).Err())
	}
	_, err := w.check(t.Context())
	require.NoError(t, err)
	for _, raised := range []int64{1 << 62, keyspace.Withdrawn, -1} {
		require.NoError(t, r.client.Set(t.Context(), x.Sequence(), raised, 0).Err())
		_, err = w.check(t.Context())
		if key := (*keyspace.KeyError)(nil); raised > 0 {
			require.ErrorAs(t, err, &key)
			require.Equal(t, x.Sequence(), key.Key)
		}
		require.EqualValues(t, 10, w.highest.Load())
		require.NoError(t, r.client.Rename(t.Context(), x.Sequence(), "elsewhere").Err())
		_, err = w.check(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 10, r.client.IncrBy(t.Context(), x.Sequence(), 0).Val())
	}
}

func index() keyspace.ID {
	return keyspace.ID{
		Name:     keyspace.Name{Namespace: "a space & more:x", Recipe: "news-4-3fa9c1d2", Layout: "3c00.18.4x15.11.5"},
		Settings: map[string]string{"window": "168h", "redis.generations": "1"},
	}
}

func TestLabels(t *testing.T) {
	want := Label{Index: index(), Markers: 64, Seen: time.UnixMilli(1795412345678), Ticket: 48213}
	want.Index.Database = 2
	text := want.String()
	require.NotContains(t, text, " ", "one word of the label")
	require.Contains(t, text, "window=168h", "readable")
	got, ok := ParseLabel(text)
	require.True(t, ok)
	require.Equal(t, want, got)
	require.False(t, got.Index.Same(index()), "another database")

	got, ok = ParseLabel(text + "&something=new")
	require.True(t, ok, "a name that a later version writes")
	require.True(t, got.Index.Same(want.Index))
	for _, junk := range []string{"", "junk", "a.b.c", "another.1.99999999999999999999", "layout=x",
		"layout=x&seen=1&ticket=-1", "%zz", "seen=1&ticket=1"} {
		_, ok = ParseLabel(junk)
		require.False(t, ok, junk)
	}
}

// The warning of a loss is over one window after the loss, and the gauge is 0 then.
func TestLossWarningEnds(t *testing.T) {
	cfg := redisrig.Config(redisrig.Standard)
	x := NewLosses(redisrig.Client(t, redisserver.Addr(t)), keyspace.New(cfg, 0), cfg.Window, nil,
		slog.New(slog.DiscardHandler))
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
	require.Zero(t, testutil.ToFloat64(x.metrics.lastLoss))
}

// A witness speaks only as long as its keys cannot have expired, and the sample stays small and spread over
// the lifetime of the keys.
func TestWitnessesAreASample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lifetime = 100 * time.Second
		l := &Losses{watermarks: &watermarks{keys: keyspace.Keys{Layout: keyspace.Layout{Lifetime: lifetime}}}}
		w := &l.witnesses
		for n := range 20_000 {
			l.AddWitness(time.Now(), keyspace.FieldRef{Fingerprint: simhash.Fingerprint(n)},
				func() []keyspace.ListRef { return nil })
			require.LessOrEqual(t, len(w.kept), witnessesKept)
			time.Sleep(10 * time.Millisecond)
		}
		kept := w.some(witnessesKept, time.Now())
		require.Greater(t, len(kept), witnessesKept/4)
		thirds := [3]int{}
		for _, k := range kept {
			left := time.Until(k.until)
			require.Positive(t, left)
			require.LessOrEqual(t, left, lifetime)
			thirds[min(2, int(3*left/lifetime))]++
		}
		for _, n := range thirds {
			require.Greater(t, n, len(kept)/5, fmt.Sprint(thirds))
		}
		require.Len(t, w.some(witnessesRound, time.Now()), witnessesRound)
		time.Sleep(lifetime)
		require.Empty(t, w.some(witnessesKept, time.Now()))
	})
}
