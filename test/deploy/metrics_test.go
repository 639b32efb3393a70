package deploy_test

import (
	"cmp"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"echosieve/test/promserver"
	"echosieve/test/service"
)

// metric is one item of docs/metrics.md: name, type, labels with their values, and meaning.
type metric struct {
	name, kind string
	labels     []string
	values     map[string][]string // the values of a label, where the page lists them
}

var (
	row   = regexp.MustCompile("(?m)^- `(echosieve_[a-z_]+)`(?:, (gauge|histogram))?(?:; ([^:\n]*))?(?:: |$)")
	label = regexp.MustCompile("`([a-z]+)`(?: \\(([^)]*)\\))?")
)

func documented(t *testing.T) map[string]metric {
	t.Helper()
	metrics := map[string]metric{}
	for _, m := range row.FindAllStringSubmatch(string(read(t, "docs/metrics.md")), -1) {
		entry := metric{name: m[1], kind: cmp.Or(m[2], "counter"), values: map[string][]string{}}
		for _, l := range label.FindAllStringSubmatch(m[3], -1) {
			entry.labels = append(entry.labels, l[1])
			if l[2] != "" {
				entry.values[l[1]] = strings.Split(l[2], ", ")
			}
		}
		metrics[entry.name] = entry
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

// Boards and alerts use only metrics and labels that the documentation lists.
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

// Every query has a result for a service that exposes exactly the metrics of docs/metrics.md. The test
// notices misspelt label values, vectors that do not match, and wrong metric types.
func TestEveryQueryIsAnsweredByTheDocumentedMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	var touch []func()
	for _, m := range documented(t) {
		touch = append(touch, register(t, reg, m)...)
	}
	for _, f := range touch {
		f()
	}
	target := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	t.Cleanup(target.Close)

	p := promserver.Start(t, strings.TrimPrefix(target.URL, "http://"))
	p.CheckQueries(t, []string{"up == 1"})
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	go func() { // a quantile of a rate needs observations between two scrapes
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				for _, f := range touch {
					f()
				}
			}
		}
	}()
	queries := promserver.Queries(t, p.Selected(t))
	p.CheckQueries(t, queries)
	// Prometheus also scrapes itself, and exports the same metrics of a Go process. "All" must not select them.
	instance := strings.TrimPrefix(target.URL, "http://")
	require.Eventually(t, func() bool { // a scrape that takes longer than its second leaves a gap
		return len(p.Labels(t, []string{"process_cpu_seconds_total"}, "instance")) == 2
	}, service.Patience, 100*time.Millisecond)
	require.Equal(t, []string{instance}, p.Labels(t, queries, "instance"))
}

// register adds the metric with every combination of its label values. It returns functions that count or observe.
func register(t *testing.T, reg prometheus.Registerer, m metric) (touch []func()) {
	t.Helper()
	switch m.kind {
	case "counter":
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.name, Help: "-"}, m.labels)
		reg.MustRegister(v)
		for _, l := range combinations(m) {
			touch = append(touch, v.With(l).Inc)
		}
	case "gauge":
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.name, Help: "-"}, m.labels)
		reg.MustRegister(v)
		for _, l := range combinations(m) {
			touch = append(touch, func() { v.With(l).Set(1) })
		}
	case "histogram":
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.name, Help: "-",
			Buckets: append(prometheus.DefBuckets, 60)}, m.labels)
		reg.MustRegister(v)
		for _, l := range combinations(m) {
			touch = append(touch, func() { v.With(l).Observe(1) })
		}
	}
	return touch
}

func combinations(m metric) []prometheus.Labels {
	all := []prometheus.Labels{{}}
	for _, l := range m.labels {
		values := m.values[l]
		if values == nil {
			values = []string{"some"}
		}
		var next []prometheus.Labels
		for _, labels := range all {
			for _, v := range values {
				extended := prometheus.Labels{l: v}
				for name, value := range labels {
					extended[name] = value
				}
				next = append(next, extended)
			}
		}
		all = next
	}
	return all
}
