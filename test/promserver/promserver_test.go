package promserver_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"

	"echosieve/test/promserver"
)

// A result is a number, zero included. A missing series, a wrong query and a quantile without observations are no results.
func TestProblem(t *testing.T) {
	reg := prometheus.NewRegistry()
	promauto.With(reg).NewCounter(prometheus.CounterOpts{Name: "quiet_total", Help: "Never counts."})
	promauto.With(reg).NewHistogram(prometheus.HistogramOpts{Name: "empty_seconds", Help: "Never observes."})
	target := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	t.Cleanup(target.Close)

	p := promserver.Start(t, strings.TrimPrefix(target.URL, "http://"))
	p.CheckQueries(t, []string{`up{job="echosieve"}`, "quiet_total", "rate(quiet_total[1m])"})

	require.Empty(t, p.Problem(t.Context(), "quiet_total"))
	require.Equal(t, "no series", p.Problem(t.Context(), "loud_total"))
	require.Contains(t, p.Problem(t.Context(), "rate(quiet_total"), "parse error")
	// The rate above needed two scrapes: this one has its two as well.
	require.Contains(t, p.Problem(t.Context(), "histogram_quantile(0.9, rate(empty_seconds_bucket[1m]))"), "NaN")
}
