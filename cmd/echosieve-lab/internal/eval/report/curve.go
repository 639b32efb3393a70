package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
)

// curves shows what the values of settings give, and says what one step costs. recall and drops name the two figures.
func (r *Report) curves(list []figures.Curve, recall, drops string) {
	for _, c := range list {
		if len(c.Steps) > 0 {
			r.Lead = append(r.Lead, costs(c, drops))
			r.add(curve(c, recall, drops))
		}
	}
}

func curve(c figures.Curve, recall, drops string) section {
	now := c.Steps[c.Present]
	s := section{Title: fmt.Sprintf("detection.%s, now %.2f", c.Setting, now.Value),
		Table: newTable(c.Setting, recall, "missed", drops, "share")}
	var values []string
	for i, step := range c.Steps {
		value := fmt.Sprintf("%.2f", step.Value)
		values = append(values, value)
		if i == c.Present {
			value += " now"
		}
		s.Table.AppendRow(table.Row{value, share(step.Recall), step.Missed, step.Drops, share(step.Wrong)})
	}
	if len(c.Steps) > 1 && slices.ContainsFunc(c.Steps, func(s figures.Step) bool { return s.Recall+s.Wrong > 0 }) {
		s.Lines = newLineChart("detection."+c.Setting, "share", values)
		s.Lines.add(recall, green, func(i int) float64 { return c.Steps[i].Recall })
		s.Lines.add(drops, vermillion, func(i int) float64 { return c.Steps[i].Wrong })
		s.Lines.mark("as set now", blue, c.Present)
	}
	return s
}

// costs says in a line what one step of a setting costs.
func costs(c figures.Curve, drops string) string {
	now := c.Steps[c.Present]
	var costs []string
	for _, i := range []int{c.Present - 1, c.Present + 1} {
		if i >= 0 && i < len(c.Steps) {
			step := c.Steps[i]
			costs = append(costs, fmt.Sprintf("to %.2f: %+d missed, %+d %s", step.Value, step.Missed-now.Missed,
				step.Drops-now.Drops, drops))
		}
	}
	return fmt.Sprintf("one step of detection.%s, now %.2f: %s", c.Setting, now.Value, strings.Join(costs, "; "))
}
