package bench

import (
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/app/command/commandtest"
	"echosieve/app/config"
	"echosieve/pipeline/article"
	"echosieve/redisindex/keyspace"
	"echosieve/sample"
	"echosieve/test/redisserver"
)

func TestBench(t *testing.T) {
	r := commandtest.Answer[result](t, commandtest.Only(Command()), "bench", "--rounds", "1", "--limit", "150")
	require.GreaterOrEqual(t, r.Articles, 150)
	require.Len(t, r.Stages, len(stages))
	sum := 0.0
	for _, us := range r.Stages {
		require.Positive(t, us)
		sum += us
	}
	require.InDelta(t, r.Whole, sum, r.Whole/1000)
}

func TestBenchPrintsATable(t *testing.T) {
	stagesUS := map[string]float64{}
	for _, stage := range stages {
		stagesUS[string(stage)] = 12345.6
	}
	for _, cut := range []float64{0, 23456.7} {
		var b strings.Builder
		require.NoError(t, printResult(&b, result{Articles: 100000, Bytes: 123456, Rounds: 100,
			Cut: cut, Stages: stagesUS, Whole: 98765.4, Ratio: .43}))
		require.Contains(t, b.String(), "whole ")
		commandtest.FitsTerminal(t, b.String())
	}
}

func TestScale(t *testing.T) {
	// While the log is synchronised on a slow disk, Redis holds back what it adds to the log.
	server := redisserver.Start(t, "--appendonly", "yes", "--appendfsync", "no")
	got := commandtest.Answer[struct{ Sizes []scaleResult }](t, commandtest.Only(Command()), "bench", "scale",
		"--stored", "2k,5000", "--limit", "200", "--redis.addrs", server.Addr,
		commandtest.File(t, "sample.jsonl", string(sample.News)))
	require.Len(t, got.Sizes, 2)
	for i, stored := range []int{2000, 5000} {
		r := got.Sizes[i]
		require.Equal(t, stored, r.Stored)
		require.Positive(t, r.Copies)
		require.GreaterOrEqual(t, float64(r.Found), .9*float64(r.Copies))
		require.Greater(t, r.MemoryBytes, 150.0)
		require.Less(t, r.MemoryBytes, 1500.0)
		for name, figure := range map[string]float64{
			"look-ups": r.Lookups, "read": r.Read, "commands": r.Commands, "reply": r.ReplyBytes, "log": r.LogBytes,
			"claim": r.ClaimP50, "single": r.SingleP99,
		} {
			require.Positive(t, figure, name)
		}
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	require.Zero(t, client.DBSize(t.Context()).Val(), "the indexes are removed")
}

func TestSizes(t *testing.T) {
	sizes, err := parseSizes([]string{"500k", "1.5M", "7"})
	require.NoError(t, err)
	require.Equal(t, []int{500_000, 1_500_000, 7}, sizes)
	for _, wrong := range []string{"", "M", "0", "-1", "1G", "NaN", "1e12"} {
		_, err := parseSizes([]string{wrong})
		require.ErrorContains(t, err, "--stored", wrong)
	}
}

// An index that is filled in bulk has the keys, the fields and the block lists of one that got the same
// articles by claims.
func TestFillLeavesWhatClaimsLeave(t *testing.T) {
	server := redisserver.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	cfg := config.Default()
	made, err := cfg.LoadRecipe()
	require.NoError(t, err)
	records, err := readRecords(nil, nil, 100, cfg, made)
	require.NoError(t, err)
	s := newScale(cfg, made, records, io.Discard)
	for _, buckets := range []string{keyspace.BucketsPacked, keyspace.BucketsSets} {
		t.Run(buckets, func(t *testing.T) {
			const n = 700
			contents := map[string]map[string]any{}
			for _, way := range []string{"fill", "claim"} {
				layout := cfg.IndexConfig(made.ID())
				layout.Namespace, layout.Buckets, layout.ExpectedArticles = way+":"+buckets, buckets, n
				m, err := newMeter(t.Context(), client, layout, slog.New(slog.DiscardHandler))
				require.NoError(t, err)
				p := newPopulation(s.originals, storedAt(m.index.Keys().Layout))
				if way == "fill" {
					require.NoError(t, newFiller(client, m.index.Keys(), io.Discard).fill(t.Context(), p, n))
				} else {
					for _, a := range p.articles(n) {
						_, err := m.index.Claim(t.Context(), []article.Article{*a})
						require.NoError(t, err)
					}
				}
				contents[way] = stored(t, client, m.index.Keys().Prefix)
			}
			require.NotEmpty(t, contents["fill"])
			require.Equal(t, contents["claim"], contents["fill"])
		})
	}
}

// stored returns what is below a prefix, by key: of block lists fields and values, of sets their members, and of
// entries the fields alone, since their verdicts differ.
func stored(t *testing.T, client *redis.Client, prefix string) map[string]any {
	t.Helper()
	found := map[string]any{}
	keys, err := client.Keys(t.Context(), prefix+"*").Result()
	require.NoError(t, err)
	for _, key := range keys {
		switch name := strings.TrimPrefix(key, prefix); name[:2] {
		case "o:":
			fields := client.HKeys(t.Context(), key).Val()
			slices.Sort(fields)
			found[name] = fields
		case "b:":
			found[name] = client.HGetAll(t.Context(), key).Val()
		case "s:":
			found[name] = client.SMembersMap(t.Context(), key).Val()
		case "g:", "se":
			found[name] = client.Type(t.Context(), key).Val()
		default:
			continue
		}
		if !strings.HasSuffix(key, keyspace.SequenceKey) {
			require.Positive(t, client.TTL(t.Context(), key).Val(), "%s expires", key)
		}
	}
	return found
}
