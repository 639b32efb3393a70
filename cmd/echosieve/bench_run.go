package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"echosieve/pipeline"
	"echosieve/pipeline/memindex"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/segment/cppjieba"
	"echosieve/redisindex"
)

// runBench measures in rounds, each a bare Cut, if there is gojieba, and the whole over the same texts, and takes medians.
func runBench(ctx context.Context, cfg Config, r *recipe.Recipe, records []pipeline.Record, rounds int, withRedis bool, progress io.Writer) (benchResult, error) {
	result := benchResult{Articles: len(records), Rounds: rounds, Index: "in-process", Stages: map[string]float64{}}
	if withRedis {
		result.Index = "redis"
	}
	texts := make([]string, 0, len(records))
	for i := range records {
		if doc, reject := cfg.Input.Decode(&records[i]); reject == nil {
			texts = append(texts, doc.Text)
			result.Bytes += len(doc.Text)
		}
	}
	result.Bytes /= max(1, len(texts))
	bareCut, err := recipe.LoadBareCut()
	if err != nil && !errors.Is(err, cppjieba.ErrMissing) {
		return benchResult{}, err
	}
	var cuts, wholes, ratios []float64
	stages := map[pipeline.Stage][]float64{}
	perArticle := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(len(records)) }
	for round := range rounds {
		fmt.Fprintf(progress, "round %d of %d, %d articles\n", round+1, rounds, len(records))
		cut := 0.0
		if bareCut != nil {
			start := cpuTime()
			bareCut(texts)
			cut = perArticle(cpuTime() - start)
		}
		whole, shares, err := benchWhole(ctx, cfg, r, records, withRedis)
		if err != nil {
			return benchResult{}, err
		}
		cuts, wholes = append(cuts, cut), append(wholes, perArticle(whole))
		if cut > 0 {
			ratios = append(ratios, perArticle(whole)/cut)
		}
		for stage, share := range shares {
			stages[stage] = append(stages[stage], share*perArticle(whole))
		}
	}
	result.Cut, result.Whole, result.Ratio = median(cuts), median(wholes), median(ratios)
	for stage, us := range stages {
		result.Stages[string(stage)] = median(us)
	}
	return result, nil
}

// benchWhole runs the records through the pipeline once and returns the CPU time and each
// stage's share of it, by wall clock.
func benchWhole(ctx context.Context, cfg Config, r *recipe.Recipe, records []pipeline.Record, withRedis bool) (cpu time.Duration, shares map[pipeline.Stage]float64, err error) {
	index, closeIndex, err := benchIndex(ctx, cfg, r.ID(), withRedis)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, closeIndex()) }()
	registry := prometheus.NewRegistry()
	p := pipeline.New(pipeline.Config{Decode: cfg.Input, MaxMessageBytes: cfg.Kafka.MaxMessageBytes}, r, index, registry)
	start := cpuTime()
	for batch := range slices.Chunk(records, cfg.Kafka.BatchRecords) {
		outputs, err := p.Decide(ctx, p.Prepare(batch))
		if err != nil {
			return 0, nil, err
		}
		p.Published(outputs, 0)
	}
	cpu = cpuTime() - start
	sums, err := stageSeconds(registry)
	if err != nil {
		return 0, nil, err
	}
	total := 0.0
	for _, stage := range benchStages {
		total += sums[string(stage)]
	}
	shares = map[pipeline.Stage]float64{}
	for _, stage := range benchStages {
		shares[stage] = sums[string(stage)] / total
	}
	return cpu, shares, nil
}

// benchIndex opens an empty index.
func benchIndex(ctx context.Context, cfg Config, recipeID string, withRedis bool) (pipeline.Index, func() error, error) {
	layout := cfg.index(recipeID)
	layout.Window = time.Hour // all articles are of now; in Redis, keys live about that long
	if !withRedis {
		index := memindex.New(memindex.Config{
			Window: layout.Window, Generations: layout.Generations, Search: layout.Search, BlockBits: layout.Plan().Layout.Bits,
		})
		return index, func() error { return nil }, nil
	}
	layout.Namespace += ":bench-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	client, err := dialRedis(ctx, cfg.Redis)
	if err != nil {
		return nil, nil, err
	}
	index, err := redisindex.New(client, layout, nil, newLogger(cfg.Log, os.Stderr), func(string, error) {})
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return index, client.Close, nil
}

// stageSeconds reads the sum of each stage's histogram.
func stageSeconds(registry *prometheus.Registry) (map[string]float64, error) {
	families, err := registry.Gather()
	if err != nil {
		return nil, err
	}
	sums := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "echosieve_pipeline_stage_seconds" {
			continue
		}
		for _, m := range family.GetMetric() {
			sums[m.GetLabel()[0].GetValue()] = m.GetHistogram().GetSampleSum()
		}
	}
	return sums, nil
}

// median returns 0 if there are no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.SortedFunc(slices.Values(values), cmp.Compare)
	return sorted[len(sorted)/2]
}
