package report

import (
	"html/template"
	"io"

	"gonum.org/v1/plot/plotter"

	"echosieve/cmd/echosieve/internal/eval"
)

// Threshold writes the report of eval.Limits with the sampled pairs.
func Threshold(w io.Writer, about About, r eval.ThresholdResult) error {
	points := make(plotter.XYs, len(r.Limits))
	bars := make([]bar, len(r.Limits))
	labels := make([]string, len(r.Limits))
	now, most := -1, 1.0
	for i, l := range r.Limits {
		labels[i] = l.Limit
		points[i] = plotter.XY{X: float64(i), Y: l.Share}
		bars[i] = bar{l.Limit, float64(l.Pairs), blue}
		if l.Limit == r.Current {
			now, bars[i].colour = i, vermillion
		}
		most = max(most, float64(l.Pairs))
	}
	charts := map[string]template.HTML{}
	var err error
	if len(points) > 1 {
		if charts["share"], err = lineChart(r.Scale, "share flagged", labels, now, line{"flagged", blue, points, false}); err != nil {
			return err
		}
	}
	if charts["pairs"], err = barChart("articles flagged from this limit on", most, bars); err != nil {
		return err
	}
	return write(w, thresholdPage, "Choosing a limit", about, charts, r)
}
