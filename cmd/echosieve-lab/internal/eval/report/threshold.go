package report

import (
	"html/template"
	"io"

	"gonum.org/v1/plot/plotter"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// Threshold writes the report of figures.Limits with the sampled pairs.
func Threshold(w io.Writer, about About, r figures.ThresholdResult) error {
	points := make(plotter.XYs, len(r.Limits))
	labels, counts := make([]string, len(r.Limits)), make([]int, len(r.Limits))
	now := -1
	for i, l := range r.Limits {
		labels[i], counts[i] = l.Limit, l.Pairs
		points[i] = plotter.XY{X: float64(i), Y: l.Share}
		if l.Limit == r.Current {
			now = i
		}
	}
	charts := map[string]template.HTML{}
	if len(points) > 1 {
		var err error
		if charts["share"], err = lineChart(r.Scale, "share flagged", labels, now,
			line{"flagged", blue, points, false}); err != nil {
			return err
		}
	}
	chart := countBars("articles flagged from this limit on", labels, counts, now)
	return write(w, thresholdPage, "Choosing a limit", about, charts, struct {
		figures.ThresholdResult
		Bars bars
	}{r, chart})
}
