package report

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/visible"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// Ablate returns the report of figures.Ablate.
func Ablate(list []figures.Ablation) Report {
	t := newTable("off", "copies", "95 %\ninterval", "families", "look-\nalikes", "95 %\ninterval", "families")
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 1, WidthMax: 21, WidthMaxEnforcer: text.WrapSoft}})
	signed := func(n int) string { return fmt.Sprintf("%+d", n) }
	for _, a := range list[1:] {
		t.AppendRow(table.Row{
			a.Off, signed(a.Copies.Change), signed(a.Copies.Low) + " to " + signed(a.Copies.High), a.Copies.Families,
			signed(a.LookAlikes.Change), signed(a.LookAlikes.Low) + " to " + signed(a.LookAlikes.High), a.LookAlikes.Families,
		})
	}
	out := Report{Lead: []string{fmt.Sprintf("%s, %d joined; %s, %d joined", visible.Count(list[0].Copies.Pairs, "copy"),
		list[0].Copies.Joined, visible.Count(list[0].LookAlikes.Pairs, "look-alike"), list[0].LookAlikes.Joined)}}
	out.add(section{Table: t})
	return out
}
