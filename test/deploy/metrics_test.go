package deploy_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/promserver"
)

// metric is one item of docs/metrics.md.
type metric struct {
	kind   string
	labels []string
}

var (
	row   = regexp.MustCompile("(?m)^- `(echosieve_[a-z_]+)`(?:, (gauge|histogram))?(?:; ([^:\n]*))?(?:: |$)")
	label = regexp.MustCompile("`([a-z]+)`")
)

func documented(t *testing.T) map[string]metric {
	t.Helper()
	metrics := map[string]metric{}
	for _, m := range row.FindAllStringSubmatch(string(read(t, "docs/metrics.md")), -1) {
		entry := metric{kind: m[2]}
		for _, l := range label.FindAllStringSubmatch(m[3], -1) {
			entry.labels = append(entry.labels, l[1])
		}
		metrics[m[1]] = entry
	}
	require.Greater(t, len(metrics), 20)
	return metrics
}

var (
	metricName  = regexp.MustCompile(`\b(echosieve|go|process)_[a-z_]+`)
	grouping    = regexp.MustCompile(`\b(?:by|without|on|ignoring) \(([^)]*)\)`)
	matcher     = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
	fromScrapes = []string{"cluster", "namespace", "job", "instance", "le"}
)

// Boards and alerts use only metrics and labels that the documentation lists. Package e2e shows that each of
// their queries has a result for a running service.
func TestQueriesUseDocumentedMetricsAndLabels(t *testing.T) {
	metrics := documented(t)
	for _, query := range promserver.Queries(t, nil) {
		t.Run(query, func(t *testing.T) {
			known := append([]string(nil), fromScrapes...)
			for _, name := range metricName.FindAllString(query, -1) {
				if !strings.HasPrefix(name, "echosieve_") {
					continue
				}
				m, ok := metrics[name]
				if !ok {
					for _, suffix := range []string{"_bucket", "_sum", "_count"} {
						if base, cut := strings.CutSuffix(name, suffix); cut && metrics[base].kind == "histogram" {
							m, ok = metrics[base], true
						}
					}
				}
				require.True(t, ok, "%s is not in docs/metrics.md", name)
				known = append(known, m.labels...)
			}
			for _, m := range matcher.FindAllStringSubmatch(query, -1) {
				require.Contains(t, known, m[1])
			}
			for _, g := range grouping.FindAllStringSubmatch(query, -1) {
				for l := range strings.SplitSeq(g[1], ",") {
					require.Contains(t, known, strings.TrimSpace(l))
				}
			}
		})
	}
}
