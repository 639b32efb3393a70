package tables

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// Pairs writes the figures of eval pairs as tables.
func Pairs(w io.Writer, r figures.PairsResult) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d articles, %d pairs: %d copies, %d look-alikes, %d debatable\n",
		r.Docs, r.Pairs, r.Copies, r.LookAlikes, r.Debatable)
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
	distances := newTable("distance", "recall", "precision", "false positives")
	for _, d := range r.Distance {
		distances.AppendRow(table.Row{d.K, gauge(d.Recall), gauge(d.Precision), gauge(d.FalsePositiveRate)})
	}
	fmt.Fprintf(&b, "\nA plain limit on the Hamming distance would give:\n%s\n", distances.Render())
	printWrong(&b, r.Wrong)
	_, err := io.WriteString(w, b.String())
	return err
}

func printKinds(b *strings.Builder, title string, label int, kinds map[string]figures.KindResult) {
	t := newTable("kind", "pairs", "flagged", "possible", "share flagged", "95 % interval", "families", "relations of B to A")
	for _, name := range sortedKeys(kinds) {
		if k := kinds[name]; k.Label == label {
			t.AppendRow(table.Row{Printable(name), k.N, k.Flagged, k.Possible, share(k.Share()), ends(k.Interval), families(k.Interval), relations(k)})
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
	t := newTable("verdict", "bits", "reason", "kind", "article", "other article")
	for _, p := range wrong[:min(len(wrong), MostListed)] {
		t.AppendRow(table.Row{p.Verdict(), p.Distance, p.Reason, Printable(p.Kind), Printable(p.A), Printable(p.B)})
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

// relations lists the relations of the flagged pairs of a kind, such as "contained 12, overlaps 3".
func relations(k figures.KindResult) string {
	var list []string
	for _, name := range sortedKeys(k.Relations) {
		list = append(list, fmt.Sprintf("%s %d", name, k.Relations[name]))
	}
	return strings.Join(list, ", ")
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
