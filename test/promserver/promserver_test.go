package promserver_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"echosieve/test/promserver"
)

// A result is a number, zero included. A missing series, a wrong query and a quantile without observations
// are no results.
func TestProblem(t *testing.T) {
	reg := prometheus.NewRegistry()
	promauto.With(reg).NewCounter(prometheus.CounterOpts{Name: "quiet_total", Help: "Never counts."})
	promauto.With(reg).NewHistogram(prometheus.HistogramOpts{Name: "empty_seconds", Help: "Never observes."})
	target := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	t.Cleanup(target.Close)

	p := promserver.Start(t, strings.TrimPrefix(target.URL, "http://"))
	p.CheckQueries(t, []string{`up{job="echosieve"}`, "quiet_total", "rate(quiet_total[10m])"})

	becomes := func(problem, query string) {
		t.Helper() // it waits, because a scrape that takes longer than its second leaves a gap
		require.Eventually(t, func() bool { return p.Problem(t.Context(), query) == problem }, 4*time.Minute,
			100*time.Millisecond, query)
	}
	becomes("", "quiet_total")
	becomes("no series", "loud_total")
	require.Contains(t, p.Problem(t.Context(), "rate(quiet_total"), "parse error")
	// The rate above needed two scrapes: this one has its two as well.
	becomes("only NaN: nothing was observed", "histogram_quantile(0.9, rate(empty_seconds_bucket[10m]))")
}
