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
		s := section{Title: part.title, About: part.about, Bars: newBars("share flagged, and its 95 % interval"),
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
	for _, c := range r.Curves {
		if len(c.Steps) > 0 {
			out.Lead = append(out.Lead, costs(c))
			out.add(curve(c))
		}
	}
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

// curve shows what the values of a setting give on these pairs.
func curve(c figures.Curve) section {
	now := c.Steps[c.Present]
	s := section{Title: fmt.Sprintf("detection.%s, now %.2f", c.Setting, now.Value),
		Table: newTable(c.Setting, "recall", "missed", "wrong drops", "share")}
	var values []string
	for i, step := range c.Steps {
		value := fmt.Sprintf("%.2f", step.Value)
		values = append(values, value)
		if i == c.Present {
			value += " now"
		}
		s.Table.AppendRow(table.Row{value, share(step.Recall), step.Missed, step.Drops, share(step.Wrong)})
	}
	if len(c.Steps) > 1 {
		s.Lines = newLineChart("detection."+c.Setting, "share", values)
		s.Lines.add("recall", green, func(i int) float64 { return c.Steps[i].Recall })
		s.Lines.add("wrong drops", vermillion, func(i int) float64 { return c.Steps[i].Wrong })
		s.Lines.mark("as set now", blue, c.Present)
	}
	return s
}

// costs says in a line what one step of a setting costs on these pairs.
func costs(c figures.Curve) string {
	now := c.Steps[c.Present]
	var costs []string
	for _, i := range []int{c.Present - 1, c.Present + 1} {
		if i >= 0 && i < len(c.Steps) {
			step := c.Steps[i]
			costs = append(costs, fmt.Sprintf("to %.2f: %+d missed, %+d wrong drops", step.Value, step.Missed-now.Missed,
				step.Drops-now.Drops))
		}
	}
	return fmt.Sprintf("one step of detection.%s, now %.2f: %s", c.Setting, now.Value, strings.Join(costs, "; "))
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
