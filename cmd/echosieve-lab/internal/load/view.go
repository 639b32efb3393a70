package load

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Print writes the report for people.
func (r Report) Print(w io.Writer) {
	if s := r.Service; s != nil {
		fmt.Fprintf(w, "service: ready %.0f ms after its start; resident memory %s idle, %s under load, %s at most\n",
			s.StartMS, mebibytes(s.IdleBytes), mebibytes(s.UnderLoad), mebibytes(s.PeakBytes))
	}
	if l := r.Limit; l != nil && l.PerSecond > 0 {
		fmt.Fprintf(w, "limit: %.0f records/s, %s\n  sustained means: %s\n", l.PerSecond, l.above(), l.Rule)
	}
	if len(r.Results) > 0 {
		r.table(w)
	}
	for i := range r.Results {
		r.Results[i].print(w)
	}
}

func (l Limit) above() string {
	if l.NotSustained == 0 {
		return "the highest rate that was tried"
	}
	return fmt.Sprintf("%.0f was not sustained", l.NotSustained)
}

func (r Report) table(w io.Writer) {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"records/s", "verdicts/s", "delay p50", "p90", "p99", "max", "CPU/article", "memory", "lag max"})
	for _, x := range r.Results {
		rate := fmt.Sprintf("%.0f", x.Rate)
		if x.Share > 0 {
			rate += fmt.Sprintf(" (%d %%)", x.Share)
		}
		t.AppendRow(table.Row{
			rate, fmt.Sprintf("%.0f", x.Throughput), ms(x.Delay.P50), ms(x.Delay.P90), ms(x.Delay.P99), ms(x.Delay.Max),
			fmt.Sprintf("%.0f us", x.CPU), mebibytes(x.MostMemory), x.MostLag,
		})
	}
	t.Render()
}

// print writes the accounts of one trial.
func (r Result) print(w io.Writer) {
	var verdicts []string
	for _, name := range slices.Sorted(maps.Keys(r.Verdicts)) {
		verdicts = append(verdicts, fmt.Sprintf("%d %s", r.Verdicts[name], name))
	}
	fmt.Fprintf(w, "%.0f/s: %d records published", r.Rate, r.Published)
	if m := r.Made; m.Unknown == 0 {
		fmt.Fprintf(w, " (%d originals, %d near and %d exact copies)", m.Originals, m.Near, m.Exact)
	}
	fmt.Fprintf(w, "; verdicts: %s; %d missing, %d delivered again\n", strings.Join(verdicts, ", "), r.Missing, r.Redelivered)
	if r.Ended {
		fmt.Fprintf(w, "%.0f/s: the articles ended before --duration\n", r.Rate)
	}
	if !r.Sustained {
		fmt.Fprintf(w, "%.0f/s: not sustained: %s\n", r.Rate, r.Why)
	}
}

func ms(v float64) string { return fmt.Sprintf("%.0f ms", v) }

func mebibytes(n int64) string {
	if n == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20))
}
