package report

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"echosieve/app/visible"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/pipeline/article"
)

const aboutRates = `Recall is the share of copies that are recognised, precision the share of the recognised that are
copies, the false-positive rate the share of look-alikes that are taken for copies. Candidate recall is the share of
copies that a look-up in the index finds at all. Pairs of one family are right or wrong together, so families are
resampled, not pairs. Fewer than 20 families are few: such a rate may be chance.`

// Pairs returns the report of figures.Pairs.
func Pairs(r figures.PairsResult, onPage bool) Report {
	out := Report{Title: "Labelled pairs", Lead: []string{fmt.Sprintf("%s, %s: %s, %s, %d debatable",
		visible.Count(r.Docs, "article"), visible.Count(r.Pairs, "pair"), visible.Count(r.Copies, "copy"),
		visible.Count(r.LookAlikes, "look-alike"), r.Debatable)}}
	if r.WithoutFamily > 0 {
		out.Lead = append(out.Lead,
			fmt.Sprintf("%d pairs name no base or cluster: each of them is a family by itself", r.WithoutFamily))
	}
	for _, warning := range r.Warnings {
		out.Lead = append(out.Lead, "warning: "+warning)
	}
	rates := newTable("", "rate", "95 % interval", "families")
	for _, f := range r.Figures() {
		rates.AppendRow(table.Row{f.Name, share(f.Value), ends(f.Interval), families(f.Interval)})
	}
	out.add(section{About: aboutRates, Table: rates})
	for _, part := range []struct {
		title, about, class string
		label               int
	}{
		{"Copies", "All of them should be flagged.", "good", figures.Copy},
		{"Look-alikes", "None of them should be flagged.", "bad", figures.HardNegative},
		{"Versions that should be published", "Flagged ones should be published, too.", "neutral", figures.Version},
		{"Debatable or ignored, in no figure above", "", "neutral", figures.Partial},
	} {
		s := section{Title: part.title, About: part.about, Bars: &bars{Title: "share flagged, and its 95 % interval"},
			Table: newTable("kind", "pairs", "flagged", "pub-\nlished", "pos-\nsible", "share", "95 %\ninterval", "families")}
		for _, name := range sortedKeys(r.Kinds) {
			if k := r.Kinds[name]; k.Label == part.label {
				s.Table.AppendRow(table.Row{visible.Line(name), k.N, k.Flagged, k.Published, k.Possible, share(k.Share()),
					ends(k.Interval), families(k.Interval)})
				s.Bars.add(name, part.class, k.Share(), k.Interval, k.N)
			}
		}
		out.add(s)
	}
	out.add(section{Title: "Relations of flagged pairs, of B to A", Table: relations(r.Kinds)})
	out.curves(r.Curves, "recall", "wrong drops")
	out.wrong(r.Wrong, onPage)
	return out
}

// relations tells how the flagged pairs of each kind lie to each other.
func relations(kinds map[string]figures.KindResult) table.Writer {
	header := []any{"kind"}
	for _, r := range article.Relations() {
		header = append(header, r.String())
	}
	t := newTable(header...)
	for _, name := range sortedKeys(kinds) {
		row := table.Row{visible.Line(name)}
		for _, r := range article.Relations() {
			row = append(row, kinds[name].Relations[r.String()])
		}
		if len(kinds[name].Relations) > 0 {
			t.AppendRow(row)
		}
	}
	return t
}

// wrong lists wrong pairs, and shows those with texts side by side on a page.
func (r *Report) wrong(wrong []figures.WrongPair, onPage bool) {
	t := newTable("verdict", "bits", "reason", "kind", "articles")
	for _, p := range wrong[:min(len(wrong), most(onPage))] {
		t.AppendRow(table.Row{strings.ReplaceAll(p.Verdict(), ", ", ",\n"), p.Distance, p.Reason, visible.Line(p.Kind),
			visible.Line(p.A) + "\n" + visible.Line(p.B)})
		if onPage && p.Texts != nil {
			why := fmt.Sprintf("%s: %s, reason: %s, %d bits", visible.Line(p.Kind), p.Verdict(), p.Reason, p.Distance)
			r.Pairs = append(r.Pairs, pair{why, p.Beside})
		}
	}
	more(t, len(wrong))
	r.add(section{Title: "Pairs with a wrong verdict", Table: t,
		About: `The reason is the test that decided; "not found": no look-up in the index meets the earlier article.`})
}

// ends returns the two ends of an interval as text.
func ends(i *figures.Interval) string {
	if i == nil {
		return "-"
	}
	return fmt.Sprintf("%.3f-%.3f", i.Low, i.High)
}

// families returns the number of families of a rate as text, with a mark if they are few.
func families(i *figures.Interval) string {
	switch {
	case i == nil:
		return "-"
	case i.Few:
		return fmt.Sprintf("%d few", i.Families)
	default:
		return fmt.Sprint(i.Families)
	}
}
