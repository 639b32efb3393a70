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
	"echosieve/cmd/echosieve-lab/internal/eval/edits"
	"echosieve/pipeline/article"
	"echosieve/redisindex/admin"
	"echosieve/redisindex/connection"
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

// figure is a number of one size: a mean for one article, except where the name says otherwise.
type figure struct {
	key, name string // in JSON, and in the table
	decimals  int
	value     float64
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
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, names []string) error {
		stored, err := parseSizes(*sizes)
		if err != nil {
			return err
		}
		if *limit < 2 {
			return errors.New("--limit must be at least 2")
		}
		in, err := read(cmd, cfg, names, *limit)
		if err != nil {
			return err
		}
		s := newScale(in, cmd.ErrOrStderr())
		results, failed := s.sizes(cmd.Context(), stored)
		if len(results) == 0 {
			return failed
		}
		sizes := make([]map[string]float64, len(results))
		for i, figures := range results {
			sizes[i] = map[string]float64{}
			for _, f := range figures {
				sizes[i][f.key] = f.value
			}
		}
		return errors.Join(failed, command.Print(cmd, *asJSON, map[string]any{"articles": len(s.originals), "sizes": sizes},
			func() string { return scaleText(results) }))
	})
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
	*input
	progress io.Writer
	// originals are the articles of the files, copies[i] an edited copy of originals[i].
	originals, copies []article.Article
}

func newScale(in *input, progress io.Writer) *scale {
	s := &scale{input: in, progress: progress}
	var texts []string
	for i := range in.records {
		content, reject := in.cfg.Input.Decode(&in.records[i])
		if reject != nil {
			continue
		}
		if a, _ := in.recipe.Fingerprint(content.Text, article.Origin{}); !a.LittleText {
			texts, s.originals = append(texts, content.Text), append(s.originals, a)
		}
	}
	// Each copy is edited: words replaced, a third cut off, or a paragraph added.
	corpus := edits.NewCorpus("und", texts)
	for i, text := range texts {
		a, _ := in.recipe.Fingerprint(corpus.Repost(text, i, 1), article.Origin{})
		s.copies = append(s.copies, a)
	}
	return s
}

// sizes measures one size after another. It stops at the first that fails, and returns the results of those
// before: a size takes minutes.
func (s *scale) sizes(ctx context.Context, stored []int) (results [][]figure, err error) {
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
func (s *scale) size(ctx context.Context, stored int) (r []figure, err error) {
	layout := s.cfg.IndexConfig(s.recipe.ID())
	layout.Namespace += ":bench-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	layout.ExpectedArticles = stored
	client, err := connection.Connect(s.cfg.Redis.Options)
	if err != nil {
		return r, err
	}
	defer client.Close()
	if err := connection.Explain(connection.Ping(ctx, client), client, s.cfg.Redis.Namespace); err != nil {
		return r, fmt.Errorf("redis at %s does not answer: %w", strings.Join(s.cfg.Redis.Addrs, ", "), err)
	}
	before, err := askServers(ctx, client)
	if err != nil {
		return r, err
	}
	if err := before.room(stored); err != nil {
		return r, err
	}
	log, _ := s.cfg.Log.NewLogger(s.progress)
	m, err := newMeter(ctx, client, layout, log)
	if err != nil {
		return r, err
	}
	defer func() {
		fmt.Fprintf(s.progress, "removing the index of %d articles\n", stored)
		err = errors.Join(err, admin.New(m.index).Remove(context.WithoutCancel(ctx)))
	}()
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
	measured, err := m.measure(ctx, s, population.at)
	return append([]figure{
		{"stored", "stored", 0, float64(stored)},
		{"block_bits", "block bits", 0, float64(plan.Plan.Layout.Bits)},
		{"fill_s", "filled and measured in s", 0, time.Since(start).Seconds()},
		{"memory_bytes_per_stored", "memory, bytes a stored one", 0, (filled.memory - before.memory) / float64(stored)},
	}, measured...), err
}

// scaleText is a table with a column for each size.
func scaleText(results [][]figure) string {
	t := command.NewTable()
	var columns []table.ColumnConfig
	for i := range results {
		columns = append(columns, table.ColumnConfig{Number: i + 2, Align: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	for i, f := range results[0] {
		row := table.Row{f.name}
		for _, figures := range results {
			row = append(row, strconv.FormatFloat(figures[i].value, 'f', f.decimals, 64))
		}
		t.AppendRow(row)
	}
	return t.Render() + "\n"
}
