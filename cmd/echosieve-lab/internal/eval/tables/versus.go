package tables

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"echosieve/app/command"
	"echosieve/app/sidebyside"
	"echosieve/app/visible"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// Versus writes what each recipe would drop, and samples of what only one would.
func Versus(w io.Writer, r figures.VersusResult) error {
	var b strings.Builder
	terminal := sidebyside.TerminalOf(w)
	fmt.Fprintf(&b, "%s, %s\n", visible.Count(r.Articles, "article"), visible.Count(r.Dead, "dead letter"))
	t := newTable("dropped by", "articles", "share")
	for _, row := range []struct {
		by string
		n  int
	}{
		{"both", r.Both}, {"only " + r.Recipes[0], r.Only[0]}, {"only " + r.Recipes[1], r.Only[1]}, {"neither", r.Neither},
	} {
		t.AppendRow(table.Row{row.by, row.n, share(float64(row.n) / float64(max(1, r.Articles-r.Dead)))})
	}
	b.WriteString(t.Render() + "\n")
	for _, p := range r.Samples {
		fmt.Fprintf(&b, "\nonly %s drops the right one as a copy of the left one\n", p.Recipe)
		writeBeside(&b, terminal, p.Beside)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeBeside(b *strings.Builder, terminal sidebyside.Terminal, p figures.Beside) {
	for _, side := range []figures.Side{p.Earlier, p.Later} {
		b.WriteString(command.Fit(named(side.ID, side.Title) + "\n"))
	}
	b.WriteString(terminal.Render(p.Texts))
}
