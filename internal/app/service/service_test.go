package service

import (
	"cmp"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"echosieve/internal/app/config"
)

// ofStories gathers the metrics that only the role of stories has: Gatherers takes no metric twice.
type ofStories struct{ prometheus.Gatherer }

func (o ofStories) Gather() ([]*dto.MetricFamily, error) {
	all, err := o.Gatherer.Gather()
	return slices.DeleteFunc(all, func(f *dto.MetricFamily) bool {
		return !strings.HasPrefix(f.GetName(), "echosieve_stories_")
	}), err
}

// Dashboards are written from docs/metrics.md: it lists exactly the metrics that a service and the role of stories
// register.
func TestMetricsAreThoseInTheDocs(t *testing.T) {
	cfg := config.Default()
	cfg.HTTP.Listen = "127.0.0.1:0"
	cfg.Input.Records.PublisherLabels = 1 // 0 leaves a metric out
	cfg.Input.Format, cfg.Input.Framing, cfg.Input.Avro.Registry.URLs = "avro", "confluent", []string{"http://127.0.0.1:1"}
	var err error
	cfg.Input.Schemas, err = cfg.Input.Avro.Open()
	require.NoError(t, err)
	s, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer s.Close()
	role, err := NewStories(t.Context(), cfg, StoriesConfig{}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer role.close()
	families, err := prometheus.Gatherers{s.registry, ofStories{role.registry}}.Gather()
	require.NoError(t, err)
	got := map[string]string{}
	labels := map[string][]string{} // values of "metric label"
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "echosieve_") {
			continue
		}
		got[f.GetName()] = strings.ToLower(f.GetType().String())
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				of := f.GetName() + " " + l.GetName()
				labels[of] = append(labels[of], l.GetValue())
			}
		}
	}

	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "metrics.md"))
	require.NoError(t, err)
	want := map[string]string{}
	for _, row := range regexp.MustCompile(
		"(?m)^- `(echosieve_[a-z_]+)`(?:, ([a-z]+))?(?:; ([^:\n]*))?(?:: |$)").FindAllStringSubmatch(strings.ReplaceAll(string(text), "\n  ", " "), -1) {
		want[row[1]] = cmp.Or(row[2], "counter")
		for _, label := range regexp.MustCompile("`([a-z]+)` \\(([^)]*)\\)").FindAllStringSubmatch(row[3], -1) {
			values := labels[row[1]+" "+label[1]]
			slices.Sort(values)
			listed := strings.Split(label[2], ", ")
			slices.Sort(listed)
			require.Equal(t, slices.Compact(values), listed, "%s{%s}", row[1], label[1])
		}
	}
	// The lag of a partition exists once the partition is assigned, and the figures of a node once the node
	// was queried. test/e2e checks both.
	for _, later := range []string{
		"echosieve_consumer_lag_records", "echosieve_redisindex_memory_used_bytes",
		"echosieve_redisindex_memory_limit_bytes",
		"echosieve_redisindex_save_failing", "echosieve_stories_lag_records",
	} {
		require.Contains(t, want, later)
		delete(want, later)
	}
	require.Equal(t, want, got)
}
