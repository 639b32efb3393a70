package report

import (
	"cmp"
	"html/template"
	"io"
	"maps"
	"slices"
	"strconv"

	"gonum.org/v1/plot/plotter"

	"echosieve/cmd/echosieve/internal/eval"
)

// kindRow is a row of the table by kind.
type kindRow struct {
	Name, Label string
	eval.KindResult
	Share float64 // flagged
}

// Pairs writes the report of eval.Pairs.
func Pairs(w io.Writer, about About, r eval.PairsResult) error {
	charts := map[string]template.HTML{}
	lines := []line{
		{"precision", blue, make(plotter.XYs, len(r.Distance)), false},
		{"recall", green, make(plotter.XYs, len(r.Distance)), false},
		{"false positives", vermillion, make(plotter.XYs, len(r.Distance)), false},
	}
	labels := make([]string, len(r.Distance))
	for i, d := range r.Distance {
		labels[i] = strconv.Itoa(d.K)
		for j, y := range []float64{d.Precision, d.Recall, d.FalsePositiveRate} {
			lines[j].points[i] = plotter.XY{X: float64(d.K), Y: y}
		}
	}
	if last := len(r.Distance) - 1; last > 0 {
		end := float64(r.Distance[last].K)
		lines = append(lines,
			line{"recall as set", green, plotter.XYs{{X: 0, Y: r.Recall}, {X: end, Y: r.Recall}}, true},
			line{"false positives as set", vermillion, plotter.XYs{{X: 0, Y: r.FalsePositiveRate}, {X: end, Y: r.FalsePositiveRate}}, true})
		var err error
		if charts["distance"], err = lineChart("largest Hamming distance, bits", "share", labels, -1, lines...); err != nil {
			return err
		}
	}
	rows := kindRows(r.Kinds)
	var err error
	if charts["kinds"], err = barChart("share flagged", 1, kindBars(rows)); err != nil {
		return err
	}
	return write(w, pairsPage, "Labelled pairs", about, charts, struct {
		eval.PairsResult
		Rows []kindRow
	}{r, rows})
}

var labelNames = map[int]string{eval.Copy: "copies", eval.HardNegative: "look-alikes", eval.Partial: "partial copies"}

// kindRows lists copies first, then look-alikes, then the rest, by name.
func kindRows(kinds map[string]eval.KindResult) []kindRow {
	var rows []kindRow
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		label := labelNames[k.Label]
		if name == eval.IgnoredKind {
			label = "ignored"
		}
		rows = append(rows, kindRow{name, label, k, float64(k.Flagged) / float64(max(1, k.N))})
	}
	order := []int{eval.Copy, eval.HardNegative, eval.Partial}
	slices.SortStableFunc(rows, func(a, b kindRow) int {
		return cmp.Compare(slices.Index(order, a.KindResult.Label), slices.Index(order, b.KindResult.Label))
	})
	return rows
}

func kindBars(rows []kindRow) []bar {
	bars := make([]bar, len(rows))
	for i, row := range rows {
		bars[i] = bar{row.Name, row.Share, green}
		switch row.KindResult.Label {
		case eval.HardNegative:
			bars[i].colour = vermillion
		case eval.Partial:
			bars[i].colour = grey
		}
	}
	return bars
}
