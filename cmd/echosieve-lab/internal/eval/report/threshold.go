package report

import (
	"io"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// Threshold writes the report of figures.Limits with the sampled pairs.
func Threshold(w io.Writer, about About, r figures.ThresholdResult) error {
	points := make([]point, len(r.Limits))
	labels, counts := make([]string, len(r.Limits)), make([]int, len(r.Limits))
	now := -1
	for i, l := range r.Limits {
		labels[i], counts[i] = l.Limit, l.Pairs
		points[i] = point{float64(i), l.Share}
		if l.Limit == r.Current {
			now = i
		}
	}
	var chart *lineChart
	if len(points) > 1 {
		chart = newLineChart(r.Scale, "share flagged", labels)
		chart.add("flagged", blue, false, points...)
		if now >= 0 {
			chart.add("present setting", grey, true, point{float64(now), 0}, point{float64(now), 1})
		}
	}
	return write(w, thresholdPage, "Choosing a limit", about, struct {
		figures.ThresholdResult
		Chart *lineChart
		Bars  bars
	}{r, chart, countBars("articles flagged from this limit on", labels, counts, now)})
}
