package tables

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/internal/app/command"
)

// weakRecall is the recall below which, and weakFalse the share of false joins above which, a kind of a
// language is listed.
const (
	weakRecall = 0.88
	weakFalse  = 0.05
)

// Languages writes the figures of eval languages.
func Languages(w io.Writer, r figures.LanguagesResult) error {
	var b strings.Builder
	t := newTable("", "articles", "recall", "95 %", "false", "95 %")
	for _, l := range r.Languages {
		t.AppendRow(languageRow(l.Language, l.Articles, &l.PairsResult))
	}
	if len(r.Languages) > 1 {
		t.AppendFooter(languageRow("all", "", &r.All))
	}
	fmt.Fprintln(&b, t.Render())
	printKinds(&b, "Copies", figures.Copy, r.All.Kinds)
	printKinds(&b, "Look-alikes", figures.HardNegative, r.All.Kinds)
	weak := newTable("language", "kind", "pairs", "flagged", "possible", "share")
	for _, l := range r.Languages {
		for _, name := range sortedKeys(l.Kinds) {
			k := l.Kinds[name]
			if k.Label == figures.Copy && k.Share() < weakRecall || k.Label == figures.HardNegative &&
				k.Share() > weakFalse {
				weak.AppendRow(table.Row{l.Language, name, k.N, k.Flagged, k.Possible, share(k.Share())})
			}
		}
	}
	if len(r.Languages) > 1 && weak.Length() > 0 {
		fmt.Fprintf(&b, "\nCopies below %g, look-alikes above %g:\n%s\n", weakRecall, weakFalse, weak.Render())
	}
	_, err := io.WriteString(w, command.Fit(b.String()))
	return err
}

func languageRow(name string, articles any, p *figures.PairsResult) table.Row {
	return table.Row{
		name, articles, fmt.Sprintf("%.3f", p.Recall), shortEnds(p.Intervals.Recall),
		fmt.Sprintf("%.3f", p.FalsePositiveRate),
		shortEnds(p.Intervals.FalsePositiveRate),
	}
}

// shortEnds is ends with two decimals, for a table of many columns.
func shortEnds(i *figures.Interval) string {
	if i == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f-%.2f", i.Low, i.High)
}
