package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/command"
	"echosieve/app/visible"
)

// Report is the result of a run. All delays are from a record's timestamp until its verdict was read from an
// output topic.
type Report struct {
	Servers string   `json:"servers"` // "in-process" or "configured"
	Service *Service `json:"service,omitempty"`
	Result
	Interrupted bool `json:"interrupted,omitempty"`
}

// Service describes the service process that the command started.
type Service struct {
	StartMS     float64 `json:"start_to_ready_ms"` // from the start of the process to the first 200 of /readyz
	IdleBytes   int64   `json:"rss_idle_bytes"`
	UnderLoad   int64   `json:"rss_under_load_bytes"` // highest that was sampled
	PeakBytes   int64   `json:"rss_peak_bytes"`       // highest since its start; 0 if the system does not report it
	SettledSecs float64 `json:"idle_seconds"`         // time without load before idle memory was read
}

// Result has the figures. CPU time, memory and lag are those of the service. They are 0 if its metrics could
// not be read.
type Result struct {
	Rate    float64 `json:"rate_per_second"` // planned
	Seconds float64 `json:"seconds"`         // from the end of the warm-up to the last verdict

	Published   int            `json:"published"` // this and the next four include the warm-up
	Made        Made           `json:"made"`      // the articles by what they were made as
	Verdicts    map[string]int `json:"verdicts"`
	Missing     int            `json:"missing"`
	Redelivered int            `json:"redelivered"` // verdicts beyond the first of a record

	Throughput float64 `json:"verdicts_per_second"` // after the warm-up
	Delay      Delay   `json:"delay_ms"`
	CPU        float64 `json:"service_cpu_us_per_article"`
	MostMemory int64   `json:"rss_max_bytes"`
	MostLag    int     `json:"lag_max_records"`
	Lag        int     `json:"lag_records"` // when the last record was published
}

// Delay holds quantiles over all records after the warm-up, in milliseconds.
type Delay struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// text is the report as text and a table.
func (r Report) text() string {
	var b strings.Builder
	if s := r.Service; s != nil {
		fmt.Fprintf(&b, "service: ready %.0f ms after its start; resident memory %s idle, %s under load, %s at most\n",
			s.StartMS, mebibytes(s.IdleBytes), mebibytes(s.UnderLoad), mebibytes(s.PeakBytes))
	}
	b.WriteString(r.table())
	var verdicts []string
	for _, name := range slices.Sorted(maps.Keys(r.Verdicts)) {
		verdicts = append(verdicts, fmt.Sprintf("%d %s", r.Verdicts[name], name))
	}
	m := r.Made
	fmt.Fprintf(&b, "%.0f/s: %s published (%d originals, %d near and %d exact copies); verdicts: %s; %d missing, "+
		"%d delivered again\n", r.Rate, visible.Count(r.Published, "record"), m.Originals, m.Near, m.Exact,
		strings.Join(verdicts, ", "), r.Missing, r.Redelivered)
	return command.Fit(b.String())
}

// table has delays, CPU time an article, the most memory and the most records waiting.
func (r Result) table() string {
	t := command.NewTable("records\n/s", "verdicts\n/s", "p50\nms", "p90\nms", "p99\nms", "max\nms", "CPU us",
		"MiB", "lag")
	right := make([]table.ColumnConfig, 9)
	for i := range right {
		right[i] = table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	t.SetColumnConfigs(right)
	var row table.Row
	for _, figure := range []float64{r.Rate, r.Throughput, r.Delay.P50, r.Delay.P90, r.Delay.P99, r.Delay.Max, r.CPU} {
		row = append(row, fmt.Sprintf("%.0f", figure))
	}
	t.AppendRow(append(row, strings.TrimSuffix(mebibytes(r.MostMemory), " MiB"), r.MostLag))
	return t.Render() + "\n"
}

func mebibytes(n int64) string {
	if n == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
}
