package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// kindRow is a row of the table by kind.
type kindRow struct {
	Name string
	figures.KindResult
}

// kindsPart is the part of the page for the kinds of one label.
type kindsPart struct {
	Title, About string
	Rows         []kindRow
	Chart        bars
}

// wrongKind holds the wrong pairs of one kind and label.
type wrongKind struct {
	Kind  string
	Alarm bool // look-alikes that were judged to be copies; else copies that were missed
	Pairs []figures.WrongPair
}

// Pairs writes the report of figures.Pairs.
func Pairs(w io.Writer, about About, r figures.PairsResult) error {
	return write(w, pairsPage, "Labelled pairs", about, struct {
		figures.PairsResult
		Chart      *lineChart
		Figures    []figures.Figure
		Parts      []kindsPart
		WrongKinds []wrongKind
	}{r, distanceChart(&r), r.Figures(), kindParts(r.Kinds), wrongKinds(r.Wrong)})
}

func distanceChart(r *figures.PairsResult) *lineChart {
	last := len(r.Distance) - 1
	if last < 1 {
		return nil
	}
	labels := make([]string, len(r.Distance))
	var precision, recall, alarms []point
	for i, d := range r.Distance {
		x := float64(i)
		labels[i] = strconv.Itoa(d.K)
		precision, recall = append(precision, point{x, d.Precision}), append(recall, point{x, d.Recall})
		alarms = append(alarms, point{x, d.FalsePositiveRate})
	}
	c := newLineChart("largest Hamming distance, bits", "share", labels)
	c.add("precision", blue, false, precision...)
	c.add("recall", green, false, recall...)
	c.add("false positives", vermillion, false, alarms...)
	c.add("recall as set", green, true, point{0, r.Recall}, point{float64(last), r.Recall})
	c.add("false positives as set", vermillion, true, point{0, r.FalsePositiveRate},
		point{float64(last), r.FalsePositiveRate})
	return c
}

// kindParts lists copies first, then look-alikes, then the rest, each by name.
func kindParts(kinds map[string]figures.KindResult) []kindsPart {
	var parts []kindsPart
	for _, p := range []struct {
		label              int
		title, about, bars string
	}{
		{figures.Copy, "Copies by kind", "All of them should be flagged. The line in a bar is its 95 % interval.",
			goodBar},
		{figures.HardNegative, "Look-alikes by kind",
			"None of them should be flagged. The line in a bar is its 95 % interval.", badBar},
		{figures.Partial, "Debatable pairs by kind",
			"Partial copies, other pairs labelled -1 and ignored pairs: they count in no figure above.", neutralBar},
	} {
		part := kindsPart{Title: p.title, About: p.about, Chart: shareBars("share flagged")}
		for _, name := range slices.Sorted(maps.Keys(kinds)) {
			if k := kinds[name]; k.Label == p.label {
				part.Rows = append(part.Rows, kindRow{name, k})
				part.Chart.addShare(name, p.bars, k.Share(), k.Interval, fmt.Sprintf("of %d", k.N))
			}
		}
		if len(part.Rows) > 0 {
			parts = append(parts, part)
		}
	}
	return parts
}

// wrongKinds groups wrong pairs. They must be ordered by label and kind.
func wrongKinds(wrong []figures.WrongPair) []wrongKind {
	var out []wrongKind
	for _, p := range wrong {
		alarm := p.Label == figures.HardNegative
		if last := len(out) - 1; last < 0 || out[last].Kind != p.Kind || out[last].Alarm != alarm {
			out = append(out, wrongKind{Kind: p.Kind, Alarm: alarm})
		}
		last := &out[len(out)-1]
		last.Pairs = append(last.Pairs, p)
	}
	return out
}
