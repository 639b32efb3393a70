package report

import (
	"html/template"
	"io"
	"maps"
	"slices"
	"time"

	"echosieve/cmd/echosieve/internal/eval"
)

// mostMissed is the number of missed copies that a page lists. Dropped originals are all listed.
const mostMissed = 500

// countsRow is a row of a table by language or kind.
type countsRow struct {
	Name string
	eval.StreamCounts
}

// Stream writes the report of eval.Stream.
func Stream(w io.Writer, about About, r eval.StreamResult) error {
	kinds, languages := countsRows(r.Kinds), countsRows(r.Languages)
	var bars []bar
	for _, row := range kinds {
		if row.Copies > 0 {
			bars = append(bars, bar{row.Name, row.CaughtShare(), green})
		}
	}
	charts := map[string]template.HTML{}
	var err error
	if charts["kinds"], err = barChart("share of copies caught", 1, bars); err != nil {
		return err
	}
	bars = nil
	for _, gap := range r.Gaps {
		if gap.Copies > 0 {
			bars = append(bars, bar{gap.From + " and later", float64(gap.Caught) / float64(gap.Copies), blue})
		}
	}
	if charts["gaps"], err = barChart("share caught, by time since the original", 1, bars); err != nil {
		return err
	}
	total := r.Total()
	return write(w, streamPage, "Stream", about, charts, struct {
		eval.StreamResult
		Total                    countsRow
		LanguageRows, KindRows   []countsRow
		MissedRows               []eval.Repeat
		MedianDelay, LongerDelay time.Duration
	}{
		r,
		countsRow{"all", total},
		languages, kinds, r.Missed[:min(len(r.Missed), mostMissed)],
		rounded(r.Delay.Median), rounded(r.Delay.P90),
	})
}

func countsRows(counts map[string]eval.StreamCounts) []countsRow {
	var rows []countsRow
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		rows = append(rows, countsRow{name, counts[name]})
	}
	return rows
}

func rounded(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second)
}
