package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"echosieve/cmd/echosieve-lab/gojieba"
	"echosieve/pipeline"
	"echosieve/pipeline/memindex"
)

// measure measures in rounds and takes medians. A round is a bare Cut, if this program has gojieba, and the whole
// pipeline over the same texts.
func (in *input) measure(ctx context.Context, rounds int, progress io.Writer) (result, error) {
	n := len(in.records)
	r := result{Articles: n, Rounds: rounds, Stages: map[string]float64{}}
	texts := make([]string, 0, n)
	for i := range in.records {
		if content, reject := in.cfg.Input.Decode(&in.records[i]); reject == nil {
			texts = append(texts, content.Text)
			r.Bytes += len(content.Text)
		}
	}
	r.Bytes /= max(1, len(texts))
	jieba, err := gojieba.New(nil)
	if err != nil && !errors.Is(err, gojieba.ErrMissing) {
		return r, err
	}
	var cuts, wholes, ratios []float64
	byStage := map[pipeline.Stage][]float64{}
	perArticle := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(n) }
	for round := range rounds {
		fmt.Fprintf(progress, "round %d of %d, %d articles\n", round+1, rounds, n)
		cut := 0.0
		if err == nil {
			start := cpuTime()
			for _, text := range texts {
				jieba.Cut(nil, text)
			}
			cut = perArticle(cpuTime() - start)
		}
		whole, shares, err := in.whole(ctx)
		if err != nil {
			return r, err
		}
		cuts, wholes = append(cuts, cut), append(wholes, perArticle(whole))
		if cut > 0 {
			ratios = append(ratios, perArticle(whole)/cut)
		}
		for stage, share := range shares {
			byStage[stage] = append(byStage[stage], share*perArticle(whole))
		}
	}
	r.Cut, r.Whole, r.Ratio = median(cuts), median(wholes), median(ratios)
	for stage, us := range byStage {
		r.Stages[string(stage)] = median(us)
	}
	return r, nil
}

// whole sends the records through the pipeline once. It returns the CPU time and the share of each stage in it; the
// shares are shares of the wall-clock time.
func (in *input) whole(ctx context.Context) (cpu time.Duration, shares map[pipeline.Stage]float64, err error) {
	layout := in.cfg.IndexConfig(in.recipe.ID())
	index := memindex.New(memindex.Config{
		Window: time.Hour, Slices: layout.Slices, Search: layout.Search, // every article has the present time
		BlockBits: layout.Plan().Layout.Bits,
	})
	registry := prometheus.NewRegistry()
	p := pipeline.New(pipeline.Config{Decode: in.cfg.Input.Config, RecordConfig: in.cfg.Input.Records,
		MaxMessageBytes: in.cfg.Kafka.MaxMessageBytes}, in.recipe, index, registry)
	start := cpuTime()
	for batch := range slices.Chunk(in.records, in.cfg.Kafka.BatchRecords) {
		prepared, err := p.Prepare(ctx, batch)
		if err != nil {
			return 0, nil, err
		}
		outputs, err := p.Decide(ctx, prepared)
		if err != nil {
			return 0, nil, err
		}
		p.Acknowledged(outputs, 0)
	}
	cpu = cpuTime() - start
	sums, err := sumsOf(registry, "echosieve_pipeline_stage_seconds")
	if err != nil {
		return 0, nil, err
	}
	total := 0.0
	for _, stage := range stages {
		total += sums[string(stage)]
	}
	shares = map[pipeline.Stage]float64{}
	for _, stage := range stages {
		shares[stage] = sums[string(stage)] / total
	}
	return cpu, shares, nil
}

// sumsOf returns the counters whose names begin with the prefix, and the sums of such histograms, by the rest of their
// names. If the prefix is a whole name, it returns them by their first label.
func sumsOf(registry *prometheus.Registry, prefix string) (map[string]float64, error) {
	families, err := registry.Gather()
	sums := map[string]float64{}
	for _, family := range families {
		name, found := strings.CutPrefix(family.GetName(), prefix)
		for _, m := range family.GetMetric() {
			key := name
			if found && name == "" {
				key = m.GetLabel()[0].GetValue()
			}
			sums[key] += m.GetCounter().GetValue() + m.GetHistogram().GetSampleSum()
		}
	}
	return sums, err
}

// median returns the middle value, 0 if there are no values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// cpuTime returns the CPU time that all threads of this process have used so far, user and system time.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0 // cannot happen: the arguments are constant
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
