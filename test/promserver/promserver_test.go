package promserver_test

import (
	"context"
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

// An answer is a number, zero included; neither a missing series nor a quantile of nothing is one.
func TestUnansweredTellsAnswersFromSilence(t *testing.T) {
	reg := prometheus.NewRegistry()
	promauto.With(reg).NewCounter(prometheus.CounterOpts{Name: "quiet_total", Help: "Never counts."})
	promauto.With(reg).NewHistogram(prometheus.HistogramOpts{Name: "empty_seconds", Help: "Never observes."})
	target := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	t.Cleanup(target.Close)

	p := promserver.Start(t, strings.TrimPrefix(target.URL, "http://"))
	p.CheckQueries(t, []string{`up{job="echosieve"}`, "quiet_total", "rate(quiet_total[1m])"})

	// Long enough for each to be asked, on a busy machine too.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	open := p.Unanswered(ctx, []string{
		"quiet_total", "loud_total", "rate(quiet_total", "histogram_quantile(0.9, rate(empty_seconds_bucket[1m]))",
	})
	require.Len(t, open, 3)
	require.Equal(t, "no series", open["loud_total"])
	require.Contains(t, open["rate(quiet_total"], "parse error")
	require.Contains(t, open["histogram_quantile(0.9, rate(empty_seconds_bucket[1m]))"], "NaN")
}
