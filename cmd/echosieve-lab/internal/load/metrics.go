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
)

// reading holds metrics of the service at one moment.
type reading struct {
	at      time.Duration // since the start
	arrived int           // verdicts read by then
	cpu     float64       // seconds
	memory  float64       // resident bytes
	lag     float64       // records that are not committed, as echosieve_consumer_lag_records counts them
}

// scrape reads the metrics of the service at an address such as http://127.0.0.1:9464.
func scrape(ctx context.Context, service string) (reading, error) {
	var s reading
	code, body, err := get(ctx, service+"/metrics")
	if err != nil {
		return s, fmt.Errorf("load: no metrics of the service: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if code != http.StatusOK || err != nil {
		return s, fmt.Errorf("load: /metrics of the service answers %d: %w", code, err)
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
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}

// sampler collects readings while records are published.
type sampler struct {
	service  string // its address
	ledger   *ledger
	readings []reading
}

// take adds a reading. It adds none if the service does not answer in time because it is busy.
func (s *sampler) take(ctx context.Context) {
	got, err := scrape(ctx, s.service)
	if err != nil {
		return
	}
	got.at = time.Since(s.ledger.start)
	_, got.arrived = s.ledger.counts()
	s.readings = append(s.readings, got)
}
