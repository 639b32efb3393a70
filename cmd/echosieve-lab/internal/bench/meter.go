package bench

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
)

const (
	// warmUp is the number of articles that are claimed first: connections are opened, scripts loaded.
	warmUp = 128
	// singles is the number of articles that are claimed one by one.
	singles = 500
	// storedBytes is the memory of Redis that a stored article takes.
	storedBytes = 310
	// fillBatch is the number of articles that are claimed together while an index is filled.
	fillBatch = 500
)

// serverFigures are figures of all masters together.
type serverFigures struct {
	cpu, commands, sent, log, memory float64 // seconds, number, bytes
	machine, used                    float64 // bytes of the smallest machine, and of its Redis
}

// askServers reads the figures from INFO.
func askServers(ctx context.Context, client redis.UniversalClient) (serverFigures, error) {
	var sum serverFigures
	var mu sync.Mutex
	err := connection.EachMaster(ctx, client, func(ctx context.Context, master *redis.Client) error {
		reply, err := master.Info(ctx).Result()
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		i := infoNumbers(reply)
		sum.cpu += i["used_cpu_user"] + i["used_cpu_sys"]
		sum.commands += i["total_commands_processed"]
		sum.sent += i["total_net_output_bytes"]
		sum.memory += i["used_memory"]
		// A log that is rewritten meanwhile becomes shorter, so replicas' bytes go first.
		if log := i["aof_current_size"]; i["connected_slaves"] == 0 {
			sum.log += log
		} else {
			sum.log += i["master_repl_offset"]
		}
		machine := i["total_system_memory"]
		if limit := i["maxmemory"]; limit > 0 {
			machine = min(machine, limit)
		}
		if machine > 0 && (sum.machine == 0 || machine < sum.machine) {
			sum.machine, sum.used = machine, i["used_memory"]
		}
		return nil
	})
	return sum, err
}

// infoNumbers are the fields of INFO that are numbers.
func infoNumbers(reply string) map[string]float64 {
	numbers := map[string]float64{}
	for line := range strings.Lines(reply) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			numbers[name] = n
		}
	}
	return numbers
}

// room returns an error if Redis' machine has too little memory for so many more articles.
func (f *serverFigures) room(stored int) error {
	need := float64(stored) * storedBytes
	if f.machine == 0 || f.used+need < f.machine {
		return nil
	}
	const gb = 1e9
	return fmt.Errorf("%d articles need %.1f GB, but of the %.1f GB of Redis' machine (or maxmemory) %.1f GB are "+
		"used; choose a smaller --stored",
		stored, need/gb, f.machine/gb, f.used/gb)
}

// meter claims articles and measures the claims.
type meter struct {
	client   redis.UniversalClient
	index    *redisindex.Index
	layout   keyspace.Config
	registry *prometheus.Registry
	next     int64 // offset of the next article
}

func newMeter(ctx context.Context, client redis.UniversalClient, layout keyspace.Config, log *slog.Logger) (*meter,
	error) {
	m := &meter{client: client, layout: layout, registry: prometheus.NewRegistry()}
	var err error
	m.index, err = redisindex.New(client, layout, m.registry, log, func(_ string, _ fmt.Stringer, err error) {
		if err != nil {
			log.WarnContext(ctx, "redis failed, trying again; Ctrl-C gives up", "err", err)
		}
	})
	return m, err
}

// fill claims n articles of the population.
func (m *meter) fill(ctx context.Context, p *population, n int, progress io.Writer) error {
	batch := make([]article.Article, 0, fillBatch)
	for i, a := range p.articles(n) {
		batch = append(batch, *a)
		batch[len(batch)-1].Anchors = slices.Clone(a.Anchors)
		if len(batch) < fillBatch && i < n-1 {
			continue
		}
		if _, err := m.index.Claim(ctx, batch); err != nil {
			return err
		}
		if batch = batch[:0]; (i+1)%100_000 == 0 {
			fmt.Fprintf(progress, "%d of %d articles\n", i+1, n)
		}
	}
	return nil
}

// storedAt is the timestamp of all articles, stored and claimed: the middle of the present slice.
func storedAt(layout keyspace.Layout) time.Time {
	now := time.Now().UnixMilli()
	slice := layout.Slice(now)
	return time.UnixMilli((layout.Start(slice) + layout.Start(slice+1)) / 2)
}

// costs are what claims have cost.
type costs struct {
	redis, service float64   // CPU seconds
	claims         []float64 // milliseconds, sorted
	verdicts       []article.Verdict
	servers        serverFigures // differences
	metrics        map[string]float64
}

// measure claims the originals, the last of them one by one, then the copies.
func (m *meter) measure(ctx context.Context, s *scale, at time.Time) (r []figure, err error) {
	n := len(s.originals)
	warm, last := min(warmUp, n/4), n-min(singles, n/4)
	if _, err := m.claim(ctx, s.originals[:warm], at, warmUp); err != nil {
		return r, err
	}
	batch := s.cfg.Kafka.BatchRecords
	originals, err := m.claim(ctx, s.originals[warm:last], at, batch)
	if err != nil {
		return r, err
	}
	alone, err := m.claim(ctx, s.originals[last:], at, 1)
	if err != nil {
		return r, err
	}
	copies, err := m.claim(ctx, s.copies, at, batch)
	if err != nil {
		return r, err
	}
	caught, found := 0, 0
	rule := m.layout.Rule
	for i := range s.copies {
		if !slices.ContainsFunc(s.originals,
			func(o article.Article) bool { return rule.Compare(&s.copies[i], &o).Kind.IsCopy() }) {
			continue
		}
		caught++
		if copies.verdicts[i].Kind.IsCopy() {
			found++
		}
	}
	per, one := float64(len(originals.verdicts)), float64(len(alone.verdicts))
	return []figure{
		{"redis_us", "Redis, us", 1, originals.redis / per * 1e6},
		{"service_us", "service, us", 1, originals.service / per * 1e6},
		{"lookups", "look-ups", 1, originals.metrics["lookups_per_article"] / per},
		{"fingerprints_read", "fingerprints read", 0, originals.metrics["members_read_total"] / per},
		{"candidates", "candidates", 2, originals.metrics["candidates_per_article"] / per},
		{"commands", "commands", 2, originals.servers.commands / per},
		{"reply_bytes", "reply, bytes", 0, originals.servers.sent / per},
		{"log_bytes", "log, bytes", 0, originals.servers.log / per},
		{"claim_p50_ms", "claim p50, ms", 2, quantile(originals.claims, .5)},
		{"claim_p99_ms", "claim p99, ms", 2, quantile(originals.claims, .99)},
		{"single_redis_us", "single: Redis, us", 1, alone.redis / one * 1e6},
		{"single_p50_ms", "single: p50, ms", 2, quantile(alone.claims, .5)},
		{"single_p99_ms", "single: p99, ms", 2, quantile(alone.claims, .99)},
		{"copies", "copies", 0, float64(caught)}, // that a comparison with every article finds
		{"found", "found", 0, float64(found)},    // of these
	}, nil
}

// claim claims articles under coordinates of their own, so many at once.
func (m *meter) claim(ctx context.Context, articles []article.Article, at time.Time, batch int) (c costs, err error) {
	claims := slices.Clone(articles)
	for i := range claims {
		claims[i].Coordinates = article.Coordinates{Topic: "bench-claimed", Offset: m.next}
		claims[i].ID, claims[i].Time = claims[i].String(), at
		m.next++
	}
	before, err := askServers(ctx, m.client)
	if err != nil {
		return c, err
	}
	sums, err := sumsOf(m.registry, "echosieve_redisindex_")
	if err != nil {
		return c, err
	}
	cpu := cpuTime()
	for part := range slices.Chunk(claims, batch) {
		start := time.Now()
		verdicts, err := m.index.Claim(ctx, part)
		if err != nil {
			return c, err
		}
		c.claims = append(c.claims, time.Since(start).Seconds()*1000)
		c.verdicts = append(c.verdicts, verdicts...)
	}
	c.service = (cpuTime() - cpu).Seconds()
	after, err := askServers(ctx, m.client)
	if err != nil {
		return c, err
	}
	c.redis = after.cpu - before.cpu
	c.servers = serverFigures{commands: after.commands - before.commands, sent: after.sent - before.sent,
		log: after.log - before.log}
	if c.metrics, err = sumsOf(m.registry, "echosieve_redisindex_"); err != nil {
		return c, err
	}
	for name, sum := range sums {
		c.metrics[name] -= sum
	}
	slices.Sort(c.claims)
	return c, nil
}

// quantile returns a value of a sorted list.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
