package tables

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"echosieve/app/command"
	"echosieve/app/visible"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// Ablate writes what each part of the rule is worth.
func Ablate(w io.Writer, list []figures.Ablation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d joined; %s, %d joined\n", visible.Count(list[0].Copies.Pairs, "copy"), list[0].Copies.Joined,
		visible.Count(list[0].LookAlikes.Pairs, "look-alike"), list[0].LookAlikes.Joined)
	t := newTable("off", "copies", "95 % interval", "families", "look-alikes", "95 % interval", "families")
	for _, a := range list[1:] {
		t.AppendRow(table.Row{
			strings.ReplaceAll(a.Off, ", ", ",\n"), signed(a.Copies.Change), between(a.Copies), a.Copies.Families,
			signed(a.LookAlikes.Change), between(a.LookAlikes), a.LookAlikes.Families,
		})
	}
	fmt.Fprintln(&b, t.Render())
	_, err := io.WriteString(w, command.Fit(b.String()))
	return err
}

func signed(n int) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%+d", n)
}

func between(c figures.Change) string { return fmt.Sprintf("%+d to %+d", c.Low, c.High) }
