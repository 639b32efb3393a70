package keyspace

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/indextest"
	"echosieve/test/redisserver"
)

func testConfig() Config {
	cfg := DefaultConfig()
	p := indextest.Params{Window: time.Hour, Slices: 2, MaxDistance: 3}
	cfg.Namespace, cfg.Window, cfg.Slices, cfg.Search = "test", p.Window, p.Slices, p.Search()
	return cfg
}

// docs/operations.md and docs/benchmarks.md say how many windows of articles Redis holds, on average and at most,
// when articles come evenly. Operators plan memory by it.
func TestWindowsHeld(t *testing.T) {
	for _, c := range []struct {
		slices        int
		average, most float64
	}{{1, 2, 2.5}, {2, 1.75, 2}} {
		cfg := testConfig()
		cfg.Window, cfg.Slices = 100*time.Hour, c.slices
		l := newLayout(cfg)
		length := time.Duration(l.sliceMs) * time.Millisecond
		const steps = 1000
		most, sum := 0.0, 0.0
		for i := range steps {
			now := 10*cfg.Window + time.Duration(i)*cfg.Window/steps
			held := time.Duration(0)
			for begin := time.Duration(0); begin < now; begin += length {
				if end := begin + length; end > now {
					held += now - begin
				} else if now < end+l.Lifetime {
					held += length
				}
			}
			windows := float64(held) / float64(cfg.Window)
			most, sum = max(most, windows), sum+windows
		}
		require.InDelta(t, c.average, sum/steps, 0.01)
		require.InDelta(t, c.most, most, 0.01)
	}
}

func TestConfigValidate(t *testing.T) {
	require.NoError(t, testConfig().Validate())
	for name, breakIt := range map[string]func(*Config){
		"namespace is": func(c *Config) { c.Namespace = "" }, "buckets is": func(c *Config) { c.Buckets = "hashes" },
	} {
		cfg := testConfig()
		breakIt(&cfg)
		require.ErrorContains(t, cfg.Validate(), name)
	}
	for namespace, good := range map[string]bool{
		strings.Repeat("n", maxNamespaceBytes) + ":news-4-3fa9c1d2": true,
		strings.Repeat("n", maxNamespaceBytes+1):                    false,
		"a{tag}b":                                                   true, "{tag}": true, "a{}b": false, "a}b": false,
		"a{b": false, "{a}{b}": false, "{{a}}": false,
	} {
		cfg := testConfig()
		cfg.Namespace = namespace
		require.Equal(t, good, cfg.Validate() == nil, namespace)
	}
}

func TestLayout(t *testing.T) {
	for _, test := range []struct {
		window   time.Duration
		slices   int
		articles int
		distance int
		shards   int
		blocks   int
		tag      string
	}{
		{7 * 24 * time.Hour, 2, 1_000_000, 21, 16, 15, "6hc0.16.4x15.12.4"},
		{7 * 24 * time.Hour, 2, 1_040_000, 21, 16, 15, "6hc0.16.4x15.12.4"}, // the same size class
		{time.Minute, 8, 1, 21, 6, 6, "8.6.4x6.12.4"},
		// without overlaps, within 3 bits one of four blocks is equal
		{24 * time.Hour, 1, 100_000_000, 3, 24, 16, "1uo0.24.4x16.12.4"},
		{24 * time.Hour, 1, 100_000_000, 21, 24, 20, "1uo0.24.4x20.13.4"},
	} {
		cfg := testConfig()
		cfg.Window, cfg.Slices, cfg.ExpectedArticles, cfg.MaxDistance = test.window, test.slices,
			test.articles, test.distance
		l := newLayout(cfg)
		require.Equal(t, test.shards, l.shardBits)
		require.Equal(t, test.blocks, l.Plan.Layout.Bits)
		require.Equal(t, test.tag, l.tag)
		require.LessOrEqual(t, l.sliceMs, l.windowMs)
		require.Greater(t, l.Lifetime, cfg.Window)
		require.Less(t, l.Lifetime, cfg.Window+cfg.Window/2+2*time.Second)
	}
}

func index() ID {
	return ID{
		Name:     Name{Namespace: "a space & more:x", Recipe: "news-4-3fa9c1d2", Layout: "3c00.18.4x15.11.5"},
		Settings: map[string]string{"window": "168h", "redis.generations": "1"},
	}
}

func TestNamesOfIndexes(t *testing.T) {
	i := index()
	require.Equal(t, "a space & more:x:news-4-3fa9c1d2:3c00.18.4x15.11.5:", i.Prefix())
	require.Equal(t, "a space & more:x:news-4-3fa9c1d2:3c00.18.4x15.11.5", i.String())
	i.Database = 3
	require.Equal(t, "a space & more:x:news-4-3fa9c1d2:3c00.18.4x15.11.5@3", i.String())
	for _, p := range []Name{
		{Namespace: "a:b", Recipe: "classic-python-30-1-3fa9c1d2", Layout: "3c00.18.4x15.sets.5"},
		{Namespace: "ns", Layout: "3c00.18.4x15.11.5"},
	} {
		got, ok := ParsePrefix(p.Prefix())
		require.True(t, ok)
		require.Equal(t, p, got)
	}
	for _, text := range []string{"", "queue:", "orders:3c00:", "3c00.18.4x15.11.5:"} {
		_, ok := ParsePrefix(text)
		require.False(t, ok, text)
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		change func(*ID)
		words  string
	}{
		{func(*ID) {}, ""},
		{func(i *ID) { i.Settings = nil }, ""},
		{func(i *ID) { i.Layout, i.Settings["window"] = "x", "72h" }, "window 168h here, 72h there"},
		{func(i *ID) { i.Layout, i.Settings["later"] = "x", "1" }, "layout of keys 3c00.18.4x15.11.5 here, x there"},
		{func(i *ID) { i.Database, i.Namespace = 1, "y" },
			"redis.db 0 here, 1 there; redis.namespace a space & more:x here, y there"},
		{func(i *ID) { i.Recipe = "news-5-0" },
			"recipe id (settings under detection, or the release) news-4-3fa9c1d2 here, news-5-0 there"},
	} {
		other := index()
		c.change(&other)
		require.Equal(t, c.words, index().Compare(other))
		require.Equal(t, c.words == "", index().Same(other))
	}
}

func TestSlotOf(t *testing.T) {
	cluster := redisserver.StartCluster(t, 3, 0)
	node := cluster.Servers[0].Client
	for _, cfg := range []string{"ns:", "{ns}:"} {
		names := Keys{Prefix: cfg}.Markers(true)
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
	require.Len(t, Keys{Prefix: "ns:"}.Markers(true), clusterMarkers)
	require.Len(t, Keys{Prefix: "{ns}:"}.Markers(true), 1)
}
