package inquiry

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/command"
	"echosieve/app/sidebyside"
	"echosieve/app/visible"
	"echosieve/pipeline/changes"
	"echosieve/pipeline/evidence"
)

// Report says why, with the figures of the rule, the look-ups, and what is new.
func (c *Comparison) Report() string {
	report := fmt.Sprintf("%s\n\n%s\n\n%s", c.Explanation, FigureTable(c.Figures).Render(), c.LookupLines())
	if news := c.NewsLine(); news != "" {
		report += "new in B      " + news + "\n"
	}
	return report
}

// NewsLine says in a line what is new in B; empty: it is not known.
func (c *Comparison) NewsLine() string {
	n := c.Changes
	if n == nil {
		return ""
	}
	line := News(n)
	if c.compared.Known && c.compared.Contradictions == 0 && len(n.Figures.Old)*len(n.Figures.New) > 0 {
		line += " (a figure in place of another is seen only if it is among the up to 13 that are sampled; these are not)"
	}
	return line
}

// News says in a line what a version brings.
func News(n *changes.Changes) string {
	line := fmt.Sprintf("%s: %s added (%.0f %% of the letters), %d changed, %d removed", n.Kind,
		visible.Count(n.Counts.Added, "sentence"), 100*n.NewShare, n.Counts.Changed, n.Counts.Removed)
	if len(n.Figures.Old)+len(n.Figures.New) > 0 {
		line += "; figures " + ShortList(n.Figures.Old) + " -> " + ShortList(n.Figures.New)
	}
	if t := n.Title; t != nil {
		line += fmt.Sprintf("; title %q -> %q", text.Trim(t.Old, mostTitle), text.Trim(t.New, mostTitle))
	}
	return visible.Line(line)
}

// SideBySide returns both texts; nothing without Texts.
func (c *Comparison) SideBySide(terminal sidebyside.Terminal) string {
	if c.Texts == nil {
		return ""
	}
	return fmt.Sprintf("\n%s (left) and %s (right)\n", visible.Line(c.A.Name), visible.Line(c.B.Name)) +
		terminal.Render(c.Texts)
}

// FigureTable lists figures in a table of less than 80 columns.
func FigureTable(figures []evidence.Asked) table.Writer {
	t := command.NewTable("figure", "value", "limit", "", "detection.")
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, WidthMax: 20, WidthMaxEnforcer: text.WrapSoft},
		{Number: 3, WidthMax: 26, WidthMaxEnforcer: text.WrapSoft},
		{Number: 5, WidthMax: 14, WidthMaxEnforcer: text.WrapSoft},
	})
	for _, f := range figures {
		t.AppendRow(table.Row{f.Name, f.Value, f.Limit, f.State, strings.TrimPrefix(f.Setting, "detection.")})
	}
	return t
}

// LookupLines says in two lines by which look-ups the service finds A when B comes.
func (c *Comparison) LookupLines() string {
	equal := []string{fmt.Sprintf("%d of %d, each of %d bits:", len(c.EqualBlocks), c.Blocks, c.BlockBits)}
	for _, i := range c.EqualBlocks {
		equal = append(equal, strconv.Itoa(i))
	}
	kinds := fmt.Sprintf("%d (%d blocks, each with up to %d probes, and anchors): ", c.Lookups, c.Blocks, c.Probes)
	if c.A.LittleText || c.B.LittleText {
		kinds = fmt.Sprintf("%d (little text is looked up by its digest): ", c.Lookups)
	}
	found := "B does not find A"
	if len(c.FoundBy) > 0 {
		found = "B finds A by " + strings.Join(c.FoundBy, ", ")
	}
	return "equal blocks  " + strings.TrimSuffix(strings.Join(equal, " "), ":") + "\nlook-ups      " + kinds + found + "\n"
}

// ShortList joins the first words of a list.
func ShortList(words []string) string {
	const most = 12
	switch {
	case len(words) == 0:
		return "-"
	case len(words) > most:
		return fmt.Sprintf("%s and %d more", strings.Join(words[:most], ", "), len(words)-most)
	default:
		return strings.Join(words, ", ")
	}
}
