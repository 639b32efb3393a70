package redisindex

import (
	"math"
	"strings"
	"testing"
	"time"

	"echosieve/pipeline/article"

	"github.com/stretchr/testify/require"
)

func TestEntryRoundTrip(t *testing.T) {
	little := entry{span: 3, Article: article.Article{
		Coordinates: article.Coordinates{Topic: strings.Repeat("t", 249), Partition: -1, Offset: math.MinInt64},
		ID:          "\x00新", Time: time.UnixMilli(math.MaxInt64), Fingerprint: 5, Digest: article.Digest{1, 2, 3, 15: 9}, LittleText: true,
	}}
	plain := entry{span: 3, Article: newArticle(7, 5)}
	plain.Signature, plain.Time = []byte("signature"), time.UnixMilli(12)
	data := string(plain.append(little.append(nil)))
	for _, want := range []entry{little, plain} {
		var got entry
		var err error
		got, data, err = cutEntry(fieldRef{3, 5}, data)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.Empty(t, data)
}

func TestVerdictRoundTrip(t *testing.T) {
	self := article.Ref{ID: "self"}
	a := article.Ref{ID: "a", Coordinates: article.Coordinates{Topic: "t", Partition: 3, Offset: 1 << 40}}
	b := article.Ref{ID: "", Coordinates: article.Coordinates{Topic: "u"}}
	for _, m := range []article.Verdict{
		{Kind: article.Unique, Root: self},
		{Kind: article.Near, Original: a, Root: a, Distance: 3},
		{Kind: article.Near, Reason: article.ReasonOverlap, Original: a, Root: b, Distance: 31},
		{Kind: article.Possible, Reason: article.ReasonValues, Original: a, Root: self, Distance: 16},
		{Kind: article.Exact, Original: b, Root: a},
	} {
		data := appendVerdict(nil, m)
		got, err := decodeVerdict(data, self)
		require.NoError(t, err)
		require.Equal(t, m, got)
		for n := range data {
			_, err := decodeVerdict(data[:n], self)
			require.ErrorIs(t, err, errCorrupt, "cut to %d bytes", n)
		}
	}
}

func TestTicketsKeepTheirOrder(t *testing.T) {
	for _, n := range []uint64{1, 255, 256, 1 << 24, 1<<48 - 1} {
		require.Len(t, ticketBytes(n), 6)
		require.Equal(t, n, ticketNumber(ticketBytes(n)))
	}
}

func FuzzCutEntry(f *testing.F) {
	good := string((&entry{Article: newArticle(1, 1)}).append(nil))
	for _, seed := range []string{"", good, good + good, good[:30], strings.Repeat("\x00", 60), strings.Repeat("\xff", 60)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		for data != "" {
			e, rest, err := cutEntry(fieldRef{}, data)
			if err != nil {
				return
			}
			if len(rest) >= len(data) {
				t.Fatal("no progress")
			}
			_, _ = decodeVerdict(e.verdictBytes, e.Ref())
			data = rest
		}
	})
}

func TestConfigValidate(t *testing.T) {
	require.NoError(t, testConfig(standard).Validate())
	for name, breakIt := range map[string]func(*Config){
		"namespace is": func(c *Config) { c.Namespace = "" }, "window": func(c *Config) { c.Window = time.Second },
		"max_distance": func(c *Config) { c.MaxDistance = -1 }, "generations": func(c *Config) { c.Generations = 0 },
		"blocks": func(c *Config) { c.Blocks = 0 }, "probes": func(c *Config) { c.Probes = 64 },
		"block_bits":     func(c *Config) { c.BlockBits = 33 },
		"max_candidates": func(c *Config) { c.MaxCandidates = 0 }, "expected_articles": func(c *Config) { c.ExpectedArticles = 0 },
	} {
		cfg := testConfig(standard)
		breakIt(&cfg)
		require.ErrorContains(t, cfg.Validate(), name)
	}
	for namespace, good := range map[string]bool{
		"a{tag}b": true, "{tag}": true, "a{}b": false, "a}b": false, "a{b": false, "{a}{b}": false, "{{a}}": false,
	} {
		cfg := testConfig(standard)
		cfg.Namespace = namespace
		require.Equal(t, good, cfg.Validate() == nil, namespace)
	}
}

func TestOptionsValidate(t *testing.T) {
	require.NoError(t, DefaultOptions().Validate())
	for name, breakIt := range map[string]func(*Options){
		"addrs": func(o *Options) { o.Addrs = nil }, "several": func(o *Options) { o.Addrs = []string{"a:1", "b:1"} },
		"master_name": func(o *Options) { o.Cluster, o.MasterName = true, "m" }, "db": func(o *Options) { o.DB = -1 },
		"db must be 0": func(o *Options) { o.Cluster, o.DB = true, 1 }, "pool_size": func(o *Options) { o.PoolSize = 0 },
		"timeout":       func(o *Options) { o.Timeout = 0 },
		"wait_replicas": func(o *Options) { o.WaitReplicas = -1 },
		"wait_timeout":  func(o *Options) { o.WaitReplicas, o.WaitTimeout = 1, o.Timeout },
		"key_file":      func(o *Options) { o.TLS.CertFile = "x" },
	} {
		o := DefaultOptions()
		breakIt(&o)
		require.ErrorContains(t, o.Validate(), name)
	}
}

func TestLayout(t *testing.T) {
	for _, test := range []struct {
		window      time.Duration
		generations int
		articles    int
		shards      int
		blocks      int
		tag         string
	}{
		{7 * 24 * time.Hour, 2, 1_000_000, 16, 13, "6hc0.16.4x13.10"},
		{7 * 24 * time.Hour, 2, 1_040_000, 16, 13, "6hc0.16.4x13.10"}, // the same size class
		{time.Minute, 8, 1, 6, 6, "8.6.4x6.10"},
		{24 * time.Hour, 1, 100_000_000, 24, 16, "1uo0.24.4x16.10"}, // no overlaps unless asked for
	} {
		cfg := testConfig(standard)
		cfg.Window, cfg.Generations, cfg.ExpectedArticles = test.window, test.generations, test.articles
		l := newLayout(cfg)
		require.Equal(t, test.shards, l.shardBits)
		require.Equal(t, test.blocks, l.plan.Layout.Bits)
		require.Equal(t, test.tag, l.tag)
		require.LessOrEqual(t, l.spanMs, l.windowMs)
		require.Greater(t, l.lifetime, cfg.Window)
		require.Less(t, l.lifetime, cfg.Window+cfg.Window/2+2*time.Second)
	}
}
