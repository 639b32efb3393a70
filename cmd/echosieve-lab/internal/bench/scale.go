package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/cmd/echosieve-lab/internal/servers"
	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
	"echosieve/redisindex/admin"
)

const scaleHelp = `Scale measures what a claim costs beside 1, 5, 20 or 50 million stored articles. For each size it
claims so many articles like those of the FILEs in a new index in the Redis of redis.addrs: their
signatures, phrases that several of them share, uniform fingerprints, families of copies. A million
takes two minutes. Then it claims the articles of the FILEs, and edited copies of them, and prints
for one article

  redis, service    CPU time of Redis and of the claiming process, in us
  look-ups, read    block lists, and fingerprints in them
  candidates        entries that are compared
  commands, reply   that Redis got and sent, in bytes
  log               bytes to the append-only file or to replicas, if Redis has one of them
  memory            of Redis, in bytes a stored article
  claim             p50 and p99 in ms, of claims of 256 articles, and of single ones
  found             copies with the verdict of a copy, of those that a comparison with every article of the FILEs finds

Only one program may use that Redis meanwhile. The index is removed at the end. 50 million articles take 15 GB of
Redis' memory: scale refuses a size for which Redis' machine has too little. The sizes before a size that fails are
printed.

Block lists are sized for each number of articles as redis.expected_articles does it.`

// scaleResult is what the command measured at one size. Numbers are means for one article, except where the
// name says otherwise.
type scaleResult struct {
	Stored       int     `json:"stored"`
	BlockBits    int     `json:"block_bits"`
	FillSeconds  float64 `json:"fill_s"`
	RedisMicros  float64 `json:"redis_us"`
	ClaimMicros  float64 `json:"service_us"`
	Lookups      float64 `json:"lookups"`
	Read         float64 `json:"fingerprints_read"`
	Candidates   float64 `json:"candidates"`
	Commands     float64 `json:"commands"`
	ReplyBytes   float64 `json:"reply_bytes"`
	LogBytes     float64 `json:"log_bytes,omitempty"` // 0: Redis has no log and no replica
	MemoryBytes  float64 `json:"memory_bytes_per_stored"`
	ClaimP50     float64 `json:"claim_p50_ms"`
	ClaimP99     float64 `json:"claim_p99_ms"`
	SingleMicros float64 `json:"single_redis_us"`
	SingleP50    float64 `json:"single_p50_ms"`
	SingleP99    float64 `json:"single_p99_ms"`
	Copies       int     `json:"copies"` // that a comparison with every article finds
	Found        int     `json:"found"`  // of these
}

func scaleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "scale FILE...", Short: "Measure claims beside millions of stored articles, on a real Redis",
		Long: scaleHelp,
		Example: `  redis-server --port 6400 --save "" --appendonly yes --appendfsync no --hash-max-listpack-value 1024 &
  echosieve-lab bench scale --redis.addrs localhost:6400 --stored 1M,5M articles.jsonl.gz
  echosieve-lab bench scale --redis.addrs localhost:6400 --stored 20M,50M articles.jsonl.gz`,
		Args: cobra.MinimumNArgs(1),
	}
	sizes := cmd.Flags().StringSlice("stored", []string{"1M"}, "numbers of stored articles, such as 500k,1M")
	limit := cmd.Flags().Int("limit", 4000, "articles of the FILEs to use at most")
	asJSON := command.AddJSONFlag(cmd)
	config.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		cfg, err := config.Load(cmd.Flags())
		if err != nil {
			return err
		}
		stored, err := parseSizes(*sizes)
		if err != nil {
			return err
		}
		if *limit < 2 {
			return errors.New("--limit must be at least 2")
		}
		made, err := cfg.LoadRecipe()
		if err != nil {
			return err
		}
		cfg.Input.Config = cfg.Input.AsJSON()
		records, err := readRecords(cmd, names, *limit, cfg, made)
		if err != nil {
			return err
		}
		s := newScale(cfg, made, records, cmd.ErrOrStderr())
		results, failed := s.sizes(cmd.Context(), stored)
		if len(results) == 0 {
			return failed
		}
		if *asJSON {
			err = command.PrintJSON(cmd.OutOrStdout(), map[string]any{"articles": len(s.originals), "sizes": results})
		} else {
			err = printScale(cmd.OutOrStdout(), results)
		}
		return errors.Join(failed, err)
	}
	return cmd
}

// parseSizes reads numbers of articles with k or M behind them.
func parseSizes(texts []string) (sizes []int, err error) {
	for _, t := range texts {
		number, unit := t, 1.0
		for suffix, factor := range map[string]float64{"k": 1e3, "M": 1e6} {
			if cut, has := strings.CutSuffix(t, suffix); has {
				number, unit = cut, factor
			}
		}
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || !(n*unit >= 1 && n*unit <= 1e9) {
			return nil, fmt.Errorf("--stored has %q, wants numbers of articles such as 500k,1M", t)
		}
		sizes = append(sizes, int(n*unit))
	}
	return sizes, nil
}

// scale is one run of the command.
type scale struct {
	cfg      config.Config
	recipe   *recipe.Recipe
	progress io.Writer
	// originals are the articles of the files, copies[i] an edited copy of originals[i].
	originals, copies []article.Article
}

func newScale(cfg config.Config, made *recipe.Recipe, records []record.Record, progress io.Writer) *scale {
	s := &scale{cfg: cfg, recipe: made, progress: progress}
	var texts []string
	for i := range records {
		content, reject := cfg.Input.Decode(&records[i])
		if reject != nil {
			continue
		}
		if a, _ := made.Fingerprint(content.Text, article.Origin{}); !a.LittleText {
			texts, s.originals = append(texts, content.Text), append(s.originals, a)
		}
	}
	s.copies = copiesOf(made, texts)
	return s
}

// sizes measures one size after another. It stops at the first that fails, and returns the results of those
// before: a size takes minutes.
func (s *scale) sizes(ctx context.Context, stored []int) (results []scaleResult, err error) {
	for _, n := range stored {
		r, err := s.size(ctx, n)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, nil
}

// size fills an index with that many articles, measures it and removes it.
func (s *scale) size(ctx context.Context, stored int) (r scaleResult, err error) {
	layout := s.cfg.IndexConfig(s.recipe.ID())
	layout.Namespace += ":bench-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	layout.ExpectedArticles = stored
	client, err := servers.DialRedis(ctx, s.cfg.Redis)
	if err != nil {
		return r, err
	}
	defer func() {
		fmt.Fprintf(s.progress, "removing the index of %d articles\n", stored)
		err = errors.Join(err, admin.Remove(context.WithoutCancel(ctx), client, layout.Namespace), client.Close())
	}()
	before, err := askServers(ctx, client)
	if err != nil {
		return r, err
	}
	if err := before.room(stored); err != nil {
		return r, err
	}
	m, err := newMeter(ctx, client, layout, s.cfg.Log.NewLogger(s.progress))
	if err != nil {
		return r, err
	}
	plan := m.index.Keys().Layout
	start := time.Now()
	population := newPopulation(s.originals, storedAt(plan))
	if err := m.fill(ctx, population, stored, s.progress); err != nil {
		return r, err
	}
	filled, err := askServers(ctx, client)
	if err != nil {
		return r, err
	}
	fmt.Fprintf(s.progress, "%d articles: measuring\n", stored)
	r, err = m.measure(ctx, s, population.at)
	r.Stored, r.BlockBits = stored, plan.Plan.Layout.Bits
	r.FillSeconds = time.Since(start).Seconds()
	r.MemoryBytes = (filled.memory - before.memory) / float64(stored)
	return r, err
}

// printScale prints a column for each size.
func printScale(w io.Writer, results []scaleResult) error {
	header := []any{""}
	columns := []table.ColumnConfig{}
	for i, r := range results {
		header = append(header, r.Stored)
		columns = append(columns, table.ColumnConfig{Number: i + 2, Align: text.AlignRight,
			AlignHeader: text.AlignRight})
	}
	t := command.NewTable(header...)
	t.SetColumnConfigs(columns)
	for _, row := range []struct {
		name, format string
		value        func(r *scaleResult) any
	}{
		{"block bits", "%d", func(r *scaleResult) any { return r.BlockBits }},
		{"filled and measured in s", "%.0f", func(r *scaleResult) any { return r.FillSeconds }},
		{"Redis, us", "%.1f", func(r *scaleResult) any { return r.RedisMicros }},
		{"service, us", "%.1f", func(r *scaleResult) any { return r.ClaimMicros }},
		{"look-ups", "%.1f", func(r *scaleResult) any { return r.Lookups }},
		{"fingerprints read", "%.0f", func(r *scaleResult) any { return r.Read }},
		{"candidates", "%.2f", func(r *scaleResult) any { return r.Candidates }},
		{"commands", "%.2f", func(r *scaleResult) any { return r.Commands }},
		{"reply, bytes", "%.0f", func(r *scaleResult) any { return r.ReplyBytes }},
		{"log, bytes", "%.0f", func(r *scaleResult) any { return r.LogBytes }},
		{"memory, bytes a stored one", "%.0f", func(r *scaleResult) any { return r.MemoryBytes }},
		{"claim p50, ms", "%.2f", func(r *scaleResult) any { return r.ClaimP50 }},
		{"claim p99, ms", "%.2f", func(r *scaleResult) any { return r.ClaimP99 }},
		{"single: Redis, us", "%.1f", func(r *scaleResult) any { return r.SingleMicros }},
		{"single: p50, ms", "%.2f", func(r *scaleResult) any { return r.SingleP50 }},
		{"single: p99, ms", "%.2f", func(r *scaleResult) any { return r.SingleP99 }},
		{"copies", "%d", func(r *scaleResult) any { return r.Copies }},
		{"found", "%d", func(r *scaleResult) any { return r.Found }},
	} {
		cells := table.Row{row.name}
		for i := range results {
			cells = append(cells, fmt.Sprintf(row.format, row.value(&results[i])))
		}
		t.AppendRow(cells)
	}
	_, err := io.WriteString(w, t.Render()+"\n")
	return err
}
