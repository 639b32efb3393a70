package tables

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"echosieve/app/command"
	"echosieve/app/visible"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/pipeline/article"
)

// Pairs writes the figures of eval pairs as tables.
func Pairs(w io.Writer, r figures.PairsResult) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s: %s, %s, %d debatable\n",
		visible.Count(r.Docs, "article"), visible.Count(r.Pairs, "pair"), visible.Count(r.Copies, "copy"),
		visible.Count(r.LookAlikes, "look-alike"), r.Debatable)
	if r.WithoutFamily > 0 {
		fmt.Fprintf(&b, "%d pairs name no base or cluster: each of them is a family by itself\n", r.WithoutFamily)
	}
	rates := newTable("", "rate", "95 % interval", "families")
	for _, f := range r.Figures() {
		rates.AppendRow(table.Row{f.Name, share(f.Value), ends(f.Interval), families(f.Interval)})
	}
	fmt.Fprintln(&b, rates.Render())
	for _, warning := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", warning)
	}
	for _, part := range []struct {
		title string
		label int
	}{
		{"Copies", figures.Copy},
		{"Look-alikes", figures.HardNegative},
		{"Debatable or ignored, in no figure above", figures.Partial},
	} {
		printKinds(&b, part.title, part.label, r.Kinds)
	}
	printRelations(&b, r.Kinds)
	distances := newTable("distance", "recall", "precision", "false positives")
	for _, d := range r.Distance {
		distances.AppendRow(table.Row{d.K, gauge(d.Recall), gauge(d.Precision), gauge(d.FalsePositiveRate)})
	}
	fmt.Fprintf(&b, "\nA plain limit on the Hamming distance would give:\n%s\n", distances.Render())
	printWrong(&b, r.Wrong)
	_, err := io.WriteString(w, command.Fit(b.String()))
	return err
}

func printKinds(b *strings.Builder, title string, label int, kinds map[string]figures.KindResult) {
	t := newTable("kind", "pairs", "flagged", "published", "possible", "share", "95 % interval", "families")
	for _, name := range sortedKeys(kinds) {
		if k := kinds[name]; k.Label == label {
			t.AppendRow(table.Row{rowName(name), k.N, k.Flagged, k.Published, k.Possible, share(k.Share()),
				ends(k.Interval), families(k.Interval)})
		}
	}
	if t.Length() > 0 {
		fmt.Fprintf(b, "\n%s:\n%s\n", title, t.Render())
	}
}

func printWrong(b *strings.Builder, wrong []figures.WrongPair) {
	if len(wrong) == 0 {
		return
	}
	t := newTable("verdict", "bits", "reason", "kind", "articles")
	for _, p := range wrong[:min(len(wrong), MostListed)] {
		t.AppendRow(table.Row{strings.ReplaceAll(p.Verdict(), ", ", ",\n"), p.Distance, p.Reason, rowName(p.Kind),
			both(visible.Line(p.A), visible.Line(p.B))})
	}
	if more := len(wrong) - MostListed; more > 0 {
		t.AppendFooter(table.Row{"", "", "", "", fmt.Sprintf("and %d more, see --html", more)})
	}
	fmt.Fprintf(b, "\nPairs with a wrong verdict:\n%s\n", t.Render())
}

// ends returns the two ends of an interval as text.
func ends(i *figures.Interval) string {
	if i == nil {
		return "-"
	}
	return share(i.Low) + " - " + share(i.High)
}

// printRelations prints how the flagged pairs of each kind lie to each other.
func printRelations(b *strings.Builder, kinds map[string]figures.KindResult) {
	header := []any{"kind"}
	for _, r := range article.Relations() {
		header = append(header, r.String())
	}
	t := newTable(header...)
	for _, name := range sortedKeys(kinds) {
		row := table.Row{rowName(name)}
		for _, r := range article.Relations() {
			row = append(row, kinds[name].Relations[r.String()])
		}
		if len(kinds[name].Relations) > 0 {
			t.AppendRow(row)
		}
	}
	if t.Length() > 0 {
		fmt.Fprintf(b, "\nRelations of flagged pairs, of B to A:\n%s\n", t.Render())
	}
}

// families returns the number of families of a rate as text, with a mark if they are few.
func families(i *figures.Interval) string {
	switch {
	case i == nil:
		return "-"
	case i.Few:
		return fmt.Sprintf("%d  few!", i.Families)
	default:
		return fmt.Sprint(i.Families)
	}
}
