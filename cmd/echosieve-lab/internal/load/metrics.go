package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	scrapeInterval = 500 * time.Millisecond
	scrapeTimeout  = 5 * time.Second
	// mostMetricsBytes bounds the bytes that are read, in case an address is not /metrics of a service.
	mostMetricsBytes = 8 << 20
)

// reading holds metrics at one moment, summed over all services.
type reading struct {
	at      time.Duration // since the trial's start
	arrived int           // verdicts read by then
	cpu     float64       // seconds
	memory  float64       // resident bytes
	lag     float64       // records that are not committed, as echosieve_consumer_lag_records counts them
}

// scrape reads the metrics of all services.
func scrape(ctx context.Context, urls []string) (reading, error) {
	var s reading
	for _, url := range urls {
		code, body, err := get(ctx, url)
		if err != nil {
			return s, fmt.Errorf(
				"load: no metrics of a service: %w; name /metrics at http.listen of a service that runs, or leave "+
					"--metrics out", err)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
		if code != http.StatusOK || err != nil || families["process_cpu_seconds_total"] == nil {
			return s, fmt.Errorf("load: %s answers %d without metrics of a service; name /metrics at its http.listen",
				url, code)
		}
		for _, m := range families["process_cpu_seconds_total"].GetMetric() {
			s.cpu += m.GetCounter().GetValue()
		}
		for _, m := range families["process_resident_memory_bytes"].GetMetric() {
			s.memory += m.GetGauge().GetValue()
		}
		for _, m := range families["echosieve_consumer_lag_records"].GetMetric() {
			s.lag += m.GetGauge().GetValue()
		}
	}
	return s, nil
}

func get(ctx context.Context, url string) (code int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(response.Body, mostMetricsBytes))
	return response.StatusCode, body, err
}

// sampler collects readings while a trial runs.
type sampler struct {
	urls     []string
	ledger   *ledger
	readings []reading
}

// take adds a reading. It adds none if a service does not answer in time because it is busy.
func (s *sampler) take(ctx context.Context) {
	got, err := scrape(ctx, s.urls)
	if err != nil {
		return
	}
	got.at = time.Since(s.ledger.start)
	_, got.arrived = s.ledger.counts()
	s.readings = append(s.readings, got)
}
