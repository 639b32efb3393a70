package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// mostMissed is the number of missed copies that a page lists. Dropped originals are all listed.
const mostMissed = 500

// mostPublishers is the number of publishers that a page lists, the largest ones.
const mostPublishers = 100

// countsRow is a row of a table by language, kind or publisher.
type countsRow struct {
	Name string
	figures.StreamCounts
}

// Stream writes the report of figures.Stream.
func Stream(w io.Writer, about About, r figures.StreamResult) error {
	kinds := countsRows(r.Kinds, slices.Sorted(maps.Keys(r.Kinds)))
	kindBars := shareBars("share of copies caught")
	for _, row := range kinds {
		if row.Copies > 0 {
			kindBars.addShare(row.Name, goodBar, row.CaughtShare(), nil, fmt.Sprintf("of %d", row.Copies))
		}
	}
	gapBars := shareBars("share caught, by time since the original")
	for _, gap := range r.Gaps {
		if gap.Copies > 0 {
			share := float64(gap.Caught) / float64(gap.Copies)
			gapBars.addShare(gap.From+" and later", plainBar, share, nil, fmt.Sprintf("of %d", gap.Copies))
		}
	}
	publishers := r.LargestPublishers()
	return write(w, streamPage, "Stream", about, struct {
		*figures.StreamResult
		Total                                 countsRow
		LanguageRows, KindRows, PublisherRows []countsRow
		KindBars, GapBars                     bars
		MissedRows                            []figures.Repeat
		MedianDelay, LongerDelay              time.Duration
	}{
		&r,
		countsRow{"all", r.Total()},
		countsRows(r.Languages, slices.Sorted(maps.Keys(r.Languages))), kinds,
		countsRows(r.Publishers, publishers[:min(len(publishers), mostPublishers)]),
		kindBars, gapBars,
		r.Missed[:min(len(r.Missed), mostMissed)],
		rounded(r.Delay.Median), rounded(r.Delay.P90),
	})
}

func countsRows(counts map[string]figures.StreamCounts, order []string) []countsRow {
	rows := make([]countsRow, len(order))
	for i, name := range order {
		rows[i] = countsRow{name, counts[name]}
	}
	return rows
}

func rounded(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second)
}
