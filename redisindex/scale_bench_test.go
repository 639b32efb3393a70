package redisindex

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/child"
	"echosieve/test/redisrig"
	"echosieve/test/redisserver"
)

// BenchmarkStored claims b.N articles on an index that holds others already. For each claimed article it reports the CPU time of
// client and server, the lists and fingerprints that were read, and the growth of the append-only file; for each stored article the
// memory of its entry and of its fingerprints in block lists. Fingerprints are uniform. Those of real news are closer together, so
// more are read. By hand:
//
//	ECHOSIEVE_BENCH_STORED=1000000 ECHOSIEVE_BENCH_BITS=15,16,17,20 ECHOSIEVE_BENCH_PROBES=4,8,12,16 \
//		go test ./redisindex -run NONE -bench Stored -benchtime 20000x -timeout 1h
//
// ECHOSIEVE_BENCH_DISTANCE is the largest distance of a candidate, ECHOSIEVE_BENCH_BLOCK_DISTANCE that of a candidate that no anchor
// finds, and ECHOSIEVE_BENCH_ANCHORS the number of anchors. These and the probes are by default those of the recipe news. With
// ECHOSIEVE_BENCH_HOURS=48 the stored articles are spread over a window, which takes three slices; otherwise they are in one slice.
// ECHOSIEVE_BENCH_EXPECTED is the setting expected_articles; 0: as many as are stored. ECHOSIEVE_BENCH_BUCKETS is the setting buckets.
func BenchmarkStored(b *testing.B) {
	distance := benchNumbers(b, "DISTANCE", strconv.Itoa(benchParams.MaxDistance))[0]
	blockDistance := benchNumbers(b, "BLOCK_DISTANCE", strconv.Itoa(benchParams.BlockDistance))[0]
	anchors := benchNumbers(b, "ANCHORS", "5")[0]
	for _, stored := range benchNumbers(b, "STORED", "20000") {
		for _, width := range benchNumbers(b, "BITS", "15,20") {
			b.Run(fmt.Sprintf("Stored=%d/Bits=%d", stored, width), func(b *testing.B) {
				server := redisserver.Start(b, "--hash-max-listpack-value", "1024", "--set-max-intset-entries", "2048", "--appendonly", cmp.Or(os.Getenv("ECHOSIEVE_BENCH_APPENDONLY"), "no"))
				cfg := redisrig.Config(benchParams)
				cfg.Namespace, cfg.BlockBits, cfg.MaxDistance, cfg.BlockDistance = "echosieve:news-1-0123abcd", width, distance, blockDistance
				cfg.Buckets = cmp.Or(os.Getenv("ECHOSIEVE_BENCH_BUCKETS"), keyspace.BucketsPacked)
				cfg.ExpectedArticles = cmp.Or(benchNumbers(b, "EXPECTED", "0")[0], stored)
				p := preload{
					client: redisrig.Client(b, server.Addr), r: rand.New(rand.NewPCG(1, 2)), stored: stored, anchors: anchors,
					span: time.Duration(benchNumbers(b, "HOURS", "0")[0]) * time.Hour, used: map[int64]bool{},
				}
				p.store(b, newIndex(b, p.client, cfg))
				for _, probes := range benchNumbers(b, "PROBES", strconv.Itoa(benchParams.Probes)) {
					b.Run(fmt.Sprintf("Probes=%d", probes), func(b *testing.B) {
						cfg.Probes = probes
						x := newIndex(b, p.client, cfg)
						p.measure(b, x, server.Pid())
						b.ReportMetric(p.logBytes(b, x), "log-B/op")
						b.ReportMetric(p.listsMemory/float64(stored), "lists-B/stored")
						b.ReportMetric(p.entriesMemory/float64(stored), "entries-B/stored")
					})
				}
			})
		}
	}
}

// benchNumbers reads a list of numbers from the environment.
func benchNumbers(b *testing.B, name, otherwise string) (list []int) {
	text := os.Getenv("ECHOSIEVE_BENCH_" + name)
	if text == "" {
		text = otherwise
	}
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		require.NoError(b, err, name)
		list = append(list, n)
	}
	return list
}

// preload fills an index with unique articles that have their verdicts, without look-ups for them.
type preload struct {
	client                     redis.UniversalClient
	r                          *rand.Rand
	stored                     int           // articles to be stored
	anchors                    int           // of each article
	span                       time.Duration // over which they are spread
	made                       int           // articles stored or claimed so far
	used                       map[int64]bool
	listsMemory, entriesMemory float64
}

// next makes an article. Those that are claimed after the stored ones are all at the end of the time, which is the middle of a slice.
func (p *preload) next() article.Article {
	end := time.UnixMilli((1_700_000_000_000/86_400_000)*86_400_000 + 43_200_000)
	c := random(p.r, p.made, end.Add(-p.span/time.Duration(p.stored)*time.Duration(max(0, p.stored-p.made))))
	c.Anchors = c.Anchors[:0]
	for range p.anchors {
		c.Anchors = append(c.Anchors, p.r.Uint64())
	}
	p.made++
	return c
}

// store writes what the steps of a claim would write, except that many articles share a command. So it needs a fraction of their time.
func (p *preload) store(b testing.TB, x *Index) {
	empty := usedMemory(b, p.client)
	lists := map[keyspace.ListRef][]byte{}
	for p.made < p.stored {
		p.storeEntries(b, x, min(p.stored-p.made, 200_000), lists)
	}
	withEntries := usedMemory(b, p.client)
	pipe := p.client.Pipeline()
	p.storeLists(b, x, pipe, lists)
	pipe.IncrBy(b.Context(), x.keys.Sequence(), int64(p.made))
	for g := range p.used {
		pipe.HSet(b.Context(), x.keys.Exists(g), "", "")
	}
	p.flush(b, pipe, 1)
	p.entriesMemory, p.listsMemory = withEntries-empty, usedMemory(b, p.client)-withEntries
}

// storeLists stores the lists, several packed ones with a command.
func (p *preload) storeLists(b testing.TB, x *Index, pipe redis.Pipeliner, lists map[keyspace.ListRef][]byte) {
	require.NoError(b, connection.LoadScripts(b.Context(), p.client, scripts...))
	for ref, list := range lists {
		if x.cfg.Buckets == keyspace.BucketsSets {
			x.lists.add(b.Context(), pipe, []keyspace.ListRef{ref}, []string{string(list)})
		} else {
			x.lists.add(b.Context(), pipe, []keyspace.ListRef{ref}, []string{string(list[:keyspace.FingerprintBytes])}) // makes the hash
			pipe.HSet(b.Context(), x.keys.ListHash(ref), ref.Field(), list)
		}
		p.flush(b, pipe, 2000)
	}
	p.flush(b, pipe, 1)
}

// storeEntries stores the entries of some articles, and adds their fingerprints to lists.
func (p *preload) storeEntries(b testing.TB, x *Index, articles int, lists map[keyspace.ListRef][]byte) {
	entries := map[string][]any{}
	var blocks []simhash.Block
	for range articles {
		c := p.next()
		field := x.entryOf(c).Field()
		p.used[field.Slice] = true
		blocks = x.layout.Plan.AppendStored(blocks[:0], &c)
		for _, block := range blocks {
			ref := keyspace.ListRef{Slice: field.Slice, Block: block.Index, Value: block.Value}
			lists[ref] = append(lists[ref], field.Name()...)
		}
		e := keyspace.Entry{Article: c, Ticket: uint64(p.made)}
		entry := e.AppendDecided(nil, x.layout.Start(field.Slice), article.Verdict{Kind: article.Unique})
		entries[x.keys.Entries(field)] = append(entries[x.keys.Entries(field)], field.Name(), entry)
	}
	pipe := p.client.Pipeline()
	for key, fields := range entries {
		pipe.HSet(b.Context(), key, fields...)
		pipe.Expire(b.Context(), key, x.layout.Lifetime)
		p.flush(b, pipe, 2000)
	}
	p.flush(b, pipe, 1)
}

// flush sends a pipeline if it holds at least that many commands.
func (p *preload) flush(b testing.TB, pipe redis.Pipeliner, least int) {
	if pipe.Len() >= least {
		_, err := pipe.Exec(b.Context())
		require.NoError(b, err)
	}
}

// measure claims b.N new articles in claims of 128.
func (p *preload) measure(b *testing.B, x *Index, pid int) {
	claims := make([]article.Article, 128+b.N)
	for i := range claims {
		claims[i] = p.next()
	}
	claim := func(claims []article.Article) {
		_, err := x.Claim(b.Context(), claims)
		require.NoError(b, err)
	}
	claim(claims[:128]) // connections, scripts
	x.metrics = newMetrics(nil)
	cpu, serverCPU := clientSeconds(), child.CPU(b, pid)
	b.ResetTimer()
	for part := range slices.Chunk(claims[128:], 128) {
		claim(part)
	}
	b.StopTimer()
	per := func(v float64) float64 { return v / float64(b.N) }
	b.ReportMetric(per((clientSeconds()-cpu)*1e6), "client-us/op")
	b.ReportMetric(per((child.CPU(b, pid)-serverCPU)*1e6), "server-us/op")
	b.ReportMetric(per(sum(b, x.metrics.lookups)), "lookups/op")
	b.ReportMetric(per(float64(counted(x.metrics.members))), "members/op")
	b.ReportMetric(per(sum(b, x.metrics.candidates)), "candidates/op")
}

// logBytes is the growth of the append-only file for each claimed article. A replica receives the same.
func (p *preload) logBytes(b *testing.B, x *Index) float64 {
	require.NoError(b, p.client.ConfigSet(b.Context(), "appendonly", "yes").Err())
	require.Eventually(b, func() bool {
		return infoNumber(b, p.client, "persistence", "aof_rewrite_in_progress")+
			infoNumber(b, p.client, "persistence", "aof_rewrite_scheduled") == 0
	}, 5*time.Minute, 50*time.Millisecond)
	before := infoNumber(b, p.client, "persistence", "aof_current_size")
	claims := make([]article.Article, 10*128)
	for i := range claims {
		claims[i] = p.next()
	}
	for part := range slices.Chunk(claims, 128) {
		_, err := x.Claim(b.Context(), part)
		require.NoError(b, err)
	}
	grown := infoNumber(b, p.client, "persistence", "aof_current_size") - before
	require.NoError(b, p.client.ConfigSet(b.Context(), "appendonly", "no").Err())
	return grown / float64(len(claims))
}

// sum is the sum of what a histogram observed.
func sum(b testing.TB, h prometheus.Histogram) float64 {
	var m dto.Metric
	require.NoError(b, h.Write(&m))
	return m.GetHistogram().GetSampleSum()
}
