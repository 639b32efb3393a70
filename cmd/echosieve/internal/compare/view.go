package compare

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/command"
	"echosieve/app/sidebyside"
	"echosieve/app/visible"
	"echosieve/simhash"
)

// print writes the comparison as text and a table.
func (c *Comparison) print(w io.Writer, terminal sidebyside.Terminal) error {
	var b strings.Builder
	for _, t := range []struct {
		letter string
		comparedText
	}{{"A", c.A}, {"B", c.B}} {
		more := ""
		if t.LeftOut > 0 {
			more = fmt.Sprintf(", %.0f %% left out as boilerplate", 100*t.LeftOut)
		}
		if t.LittleText {
			more += ", little text"
		}
		fmt.Fprintf(&b, "%s  %s  %s: %d bytes of clean text, %d different words%s\n",
			t.letter, t.Fingerprint, visible.Line(t.Name), t.CleanBytes, t.Features, more)
	}
	bitsA, bitsB := c.inBlocks(c.A.Bits), c.inBlocks(c.B.Bits)
	fmt.Fprintf(&b, "\nA  %s\nB  %s\n", bitsA, bitsB)
	if c.Distance > 0 {
		fmt.Fprintf(&b, "   %s\n", differences(bitsA, bitsB))
	}
	fmt.Fprintf(&b, "\ndistance      %d of 64 bits\nonly in A     %s\nonly in B     %s\n\n",
		c.Distance, shortList(c.OnlyA), shortList(c.OnlyB))
	b.WriteString(c.wordTable())
	fmt.Fprintf(&b, "\n\n%s\nrecipe %s\n", c.Report(), c.Recipe)
	_, err := io.WriteString(w, command.Fit(b.String())+c.SideBySide(terminal))
	return err
}

// inBlocks returns the binary digits of a fingerprint with a space between its blocks. If a look-up uses only
// the first bits of a block, a dot follows these bits: "11111111111111.11" is a block of which 14 bits are
// looked up. Blocks that overlap are shown without the overlap.
func (c *Comparison) inBlocks(bits string) string {
	parts := make([]string, 0, c.Layout.Blocks)
	for i := range c.Layout.Blocks {
		part := bits[:simhash.BlockBits(i, c.Layout.Blocks-1)]
		bits = bits[len(part):]
		if c.Layout.Bits < len(part) {
			part = part[:c.Layout.Bits] + "." + part[c.Layout.Bits:]
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

// differences marks the places in which two strings of the same length differ.
func differences(a, b string) string {
	marks := []byte(strings.Repeat(" ", len(a)))
	for i := range marks {
		if a[i] != b[i] {
			marks[i] = '^'
		}
	}
	return strings.TrimRight(string(marks), " ")
}

// Report says why, with the figures of the rule and the look-ups.
func (c *Comparison) Report() string {
	return fmt.Sprintf("%s\n\n%s\n\n%s", c.Explanation, FigureTable(c.Figures), c.LookupLines())
}

// SideBySide returns the numbers that only one text has, and both texts; nothing without AddTexts.
func (c *Comparison) SideBySide(terminal sidebyside.Terminal) string {
	if c.Texts == nil {
		return ""
	}
	var numbers string
	if line := c.NumberLine(); line != "" {
		numbers = command.Fit("\n" + line + "\n")
	}
	return numbers + fmt.Sprintf("\n%s (left) and %s (right)\n", visible.Line(c.A.Name), visible.Line(c.B.Name)) +
		terminal.Render(c.Texts)
}

// NumberLine names the numbers that only one text has; empty: there are none.
func (c *Comparison) NumberLine() string {
	n := c.Numbers
	if n == nil || len(n.Original)+len(n.Article) == 0 {
		return ""
	}
	line := fmt.Sprintf("numbers only left: %s; only right: %s", shortList(n.Original), shortList(n.Article))
	if c.compared.Known && c.compared.Contradictions == 0 && len(n.Original)*len(n.Article) > 0 {
		line += " (a figure in place of another is seen only if it is among the up to 13 that are sampled; these are not)"
	}
	return line
}

// FigureTable lists figures in a table of less than 80 columns.
func FigureTable(figures []Figure) string {
	t := command.NewTable("figure", "value", "limit", "", "detection.")
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, WidthMax: 20, WidthMaxEnforcer: text.WrapSoft},
		{Number: 3, WidthMax: 26, WidthMaxEnforcer: text.WrapSoft},
		{Number: 5, WidthMax: 14, WidthMaxEnforcer: text.WrapSoft},
	})
	for _, f := range figures {
		t.AppendRow(table.Row{f.Name, f.Value, f.Limit, f.State, strings.TrimPrefix(f.Setting, "detection.")})
	}
	return t.Render()
}

// LookupLines says in two lines by which look-ups the service finds A when B comes.
func (c *Comparison) LookupLines() string {
	return fmt.Sprintf("equal blocks  %s\nlook-ups      %s\n", c.equalBlocks(), c.lookups())
}

// equalBlocks lists the blocks that are the same in both texts.
func (c *Comparison) equalBlocks() string {
	list := []string{fmt.Sprintf("%d of %d, each of %d bits:", len(c.EqualBlocks), c.Layout.Blocks, c.Layout.Bits)}
	for _, i := range c.EqualBlocks {
		list = append(list, strconv.Itoa(i))
	}
	return strings.TrimSuffix(strings.Join(list, " "), ":")
}

// lookups describes the look-ups for B, and by which of them the index would find A.
func (c *Comparison) lookups() string {
	kinds := fmt.Sprintf("%d (%d blocks, each with up to %d probes, and anchors): ", c.Lookups, c.Layout.Blocks,
		c.Layout.Probes)
	if c.A.LittleText || c.B.LittleText {
		kinds = fmt.Sprintf("%d (little text is looked up by its digest): ", c.Lookups)
	}
	if len(c.FoundBy) == 0 {
		return kinds + "B does not find A"
	}
	return kinds + "B finds A by " + strings.Join(c.FoundBy, ", ")
}

// wordTable lists words with their weights.
func (c *Comparison) wordTable() string {
	t := command.NewTable("word", "IDF", "weight in A", "weight in B")
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, WidthMax: 40, WidthMaxEnforcer: func(s string, most int) string { return text.Snip(s, most, "~") }},
		{Number: 2, Align: text.AlignRight},
		{Number: 3, Align: text.AlignRight},
		{Number: 4, Align: text.AlignRight},
	})
	for _, word := range c.Words {
		t.AppendRow(table.Row{
			word.Word, fmt.Sprintf("%.1f", word.IDF), weight(word.WeightA, word.CountA),
			weight(word.WeightB, word.CountB),
		})
	}
	if rest := c.TotalWords - len(c.Words); rest > 0 {
		t.AppendFooter(table.Row{fmt.Sprintf("and %d more", rest)})
	}
	return t.Render()
}

// shortList joins the first words of a list.
func shortList(words []string) string {
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

// weight returns a weight as text, with the number of occurrences behind it if the word occurs more than once.
func weight(weight float64, count int) string {
	switch count {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%.1f", weight)
	default:
		return fmt.Sprintf("%.1f (%dx)", weight, count)
	}
}
