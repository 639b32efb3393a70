package load

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/command"
	"echosieve/internal/plural"
)

// Report is the result of a run. All delays are from a record's timestamp until its verdict was read from an
// output topic.
type Report struct {
	Servers string   `json:"servers"` // "in-process" or "configured"
	Service *Service `json:"service,omitempty"`
	// Trials are the trials of the search for the limit, in their order.
	Trials []Result `json:"trials,omitempty"`
	Limit  *Limit   `json:"limit,omitempty"`
	// Results are the trials whose delay counts: one at the given rate, or one at each share of the limit.
	Results     []Result `json:"results"`
	Missing     int      `json:"missing"` // records of all trials without a verdict
	Interrupted bool     `json:"interrupted,omitempty"`
}

// Service describes the service process that the command started.
type Service struct {
	StartMS     float64 `json:"start_to_ready_ms"` // from the start of the process to the first 200 of /readyz
	IdleBytes   int64   `json:"rss_idle_bytes"`
	UnderLoad   int64   `json:"rss_under_load_bytes"` // highest that was sampled in any trial
	PeakBytes   int64   `json:"rss_peak_bytes"`       // highest since its start; 0 if the system does not report it
	SettledSecs float64 `json:"idle_seconds"`         // time without load before idle memory was read
}

// Limit is the highest rate that was sustained.
type Limit struct {
	PerSecond float64 `json:"per_second"`
	// NotSustained is the lowest rate that was not sustained; 0 if none was found in time.
	NotSustained float64 `json:"not_sustained_per_second"`
	Rule         string  `json:"rule"`
}

// Result is one trial. CPU time, memory and lag are figures of the service. They are 0 if its metrics could
// not be read.
type Result struct {
	Rate    float64 `json:"rate_per_second"` // planned
	Share   int     `json:"percent_of_limit,omitempty"`
	Seconds float64 `json:"seconds"` // from the end of the warm-up to the last verdict

	Published   int            `json:"published"` // this and the next four include the warm-up
	Made        Made           `json:"made"`      // the articles by what they were made as
	Verdicts    map[string]int `json:"verdicts"`
	Missing     int            `json:"missing"`
	Redelivered int            `json:"redelivered"` // verdicts beyond the first of a record

	Throughput float64 `json:"verdicts_per_second"` // after the warm-up
	Delay      Delay   `json:"delay_ms"`
	CPU        float64 `json:"service_cpu_us_per_article"`
	Memory     int64   `json:"rss_bytes"` // at the end
	MostMemory int64   `json:"rss_max_bytes"`
	MostLag    int     `json:"lag_max_records"`
	Lag        int     `json:"lag_records"` // when the last record was published

	Sustained bool   `json:"sustained"`
	Why       string `json:"why,omitempty"` // the rate was not sustained
}

// Made counts articles: originals, near and exact copies.
type Made struct {
	Originals int `json:"originals"`
	Near      int `json:"near_copies"`
	Exact     int `json:"exact_copies"`
}

// Delay holds quantiles over all records after the warm-up, in milliseconds.
type Delay struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Print writes the report as text and a table.
func (r Report) Print(w io.Writer) {
	var b strings.Builder
	if s := r.Service; s != nil {
		fmt.Fprintf(&b, "service: ready %.0f ms after its start; resident memory %s idle, %s under load, %s at most\n",
			s.StartMS, mebibytes(s.IdleBytes), mebibytes(s.UnderLoad), mebibytes(s.PeakBytes))
	}
	if l := r.Limit; l != nil && l.PerSecond > 0 {
		fmt.Fprintf(&b, "limit: %.0f records/s, %s\n  sustained means: %s\n", l.PerSecond, l.above(), l.Rule)
	}
	if len(r.Results) > 0 {
		b.WriteString(r.table())
	}
	for i := range r.Results {
		r.Results[i].print(&b)
	}
	_, _ = io.WriteString(w, command.Fit(b.String())) // fails only if the terminal is gone
}

func (l Limit) above() string {
	if l.NotSustained == 0 {
		return "the highest rate that was tried"
	}
	return fmt.Sprintf("%.0f was not sustained", l.NotSustained)
}

// table has delays, CPU time an article, the most memory and the most records waiting.
func (r Report) table() string {
	t := command.NewTable("records\n/s", "limit", "verdicts\n/s", "p50\nms", "p90\nms", "p99\nms", "max\nms",
		"CPU us", "MiB", "lag")
	right := make([]table.ColumnConfig, 10)
	for i := range right {
		right[i] = table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	t.SetColumnConfigs(right)
	for _, x := range r.Results {
		share := "-"
		if x.Share > 0 {
			share = fmt.Sprintf("%d %%", x.Share)
		}
		row := table.Row{fmt.Sprintf("%.0f", x.Rate), share}
		for _, figure := range []float64{x.Throughput, x.Delay.P50, x.Delay.P90, x.Delay.P99, x.Delay.Max, x.CPU} {
			row = append(row, fmt.Sprintf("%.0f", figure))
		}
		t.AppendRow(append(row, strings.TrimSuffix(mebibytes(x.MostMemory), " MiB"), x.MostLag))
	}
	return t.Render() + "\n"
}

// print writes the accounts of one trial.
func (r Result) print(w io.Writer) {
	var verdicts []string
	for _, name := range slices.Sorted(maps.Keys(r.Verdicts)) {
		verdicts = append(verdicts, fmt.Sprintf("%d %s", r.Verdicts[name], name))
	}
	fmt.Fprintf(w, "%.0f/s: %s published", r.Rate, plural.Of(r.Published, "record"))
	m := r.Made
	fmt.Fprintf(w, " (%d originals, %d near and %d exact copies)", m.Originals, m.Near, m.Exact)
	fmt.Fprintf(w, "; verdicts: %s; %d missing, %d delivered again\n", strings.Join(verdicts, ", "), r.Missing,
		r.Redelivered)
	if !r.Sustained {
		fmt.Fprintf(w, "%.0f/s: not sustained: %s\n", r.Rate, r.Why)
	}
}

func mebibytes(n int64) string {
	if n == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
}
