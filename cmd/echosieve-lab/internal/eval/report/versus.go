package report

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"echosieve/app/visible"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// Versus returns the report of figures.Versus with its samples.
func Versus(r figures.VersusResult, _ bool) Report {
	out := Report{Title: r.Recipes[0] + " and " + r.Recipes[1],
		Lead: []string{fmt.Sprintf("%s, %s", visible.Count(r.Articles, "article"), visible.Count(r.Dead, "dead letter"))}}
	t := newTable("dropped by", "articles", "share")
	for _, row := range []struct {
		by string
		n  int
	}{
		{"both", r.Both}, {"only " + r.Recipes[0], r.Only[0]}, {"only " + r.Recipes[1], r.Only[1]}, {"neither", r.Neither},
	} {
		t.AppendRow(table.Row{visible.Line(row.by), row.n, share(float64(row.n) / float64(max(1, r.Articles-r.Dead)))})
	}
	out.add(section{Table: t})
	for _, p := range r.Samples {
		out.Pairs = append(out.Pairs, pair{"only " + p.Recipe + " drops the right one as a copy of the left one", p.Beside})
	}
	return out
}
