package compare

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/command"
	"echosieve/app/inquiry"
	"echosieve/app/sidebyside"
	"echosieve/app/visible"
	"echosieve/simhash"
)

func (c *comparison) text(terminal sidebyside.Terminal) string {
	var b strings.Builder
	for i, t := range []inquiry.Text{c.A, c.B} {
		more := ""
		if t.LeftOut > 0 {
			more = fmt.Sprintf(", %.0f %% left out", 100*t.LeftOut)
		}
		if t.LittleText {
			more += ", little text"
		}
		fmt.Fprintf(&b, "%c  %s  %s: %d bytes of clean text, %d different words%s\n",
			'A'+i, t.Fingerprint, visible.Line(t.Name), t.CleanBytes, t.Features, more)
	}
	for i, t := range []inquiry.Text{c.A, c.B} {
		for _, r := range t.Repeated {
			fmt.Fprintf(&b, "%c  %s\n", 'A'+i, r.String())
		}
	}
	bitsA, bitsB := c.inBlocks(c.A.Bits), c.inBlocks(c.B.Bits)
	fmt.Fprintf(&b, "\nA  %s\nB  %s\n", bitsA, bitsB)
	if c.Distance > 0 {
		fmt.Fprintf(&b, "   %s\n", differences(bitsA, bitsB))
	}
	fmt.Fprintf(&b, "\ndistance      %d of 64 bits\nonly in A     %s\nonly in B     %s\n\n%s\n\n%s\nrecipe %s\n",
		c.Distance, inquiry.ShortList(c.OnlyA), inquiry.ShortList(c.OnlyB), c.wordTable(), c.Report(), c.Recipe)
	return command.Fit(b.String()) + c.SideBySide(terminal)
}

// inBlocks returns the binary digits of a fingerprint with a space between its blocks. If a look-up uses only
// the first bits of a block, a dot follows these bits: "11111111111111.11" is a block of which 14 bits are
// looked up. Blocks that overlap are shown without the overlap.
func (c *comparison) inBlocks(bits string) string {
	parts := make([]string, 0, c.Blocks)
	for i := range c.Blocks {
		part := bits[:simhash.Layout{Count: c.Blocks}.Width(i)]
		bits = bits[len(part):]
		if c.BlockBits < len(part) {
			part = part[:c.BlockBits] + "." + part[c.BlockBits:]
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

func (c *comparison) wordTable() string {
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
