package diff

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/command"
	"echosieve/app/sidebyside"
	"echosieve/app/visible"
)

// print writes the result for a terminal.
func (c *comparison) print(w io.Writer, terminal sidebyside.Terminal) error {
	var b strings.Builder
	for _, line := range c.lines() {
		b.WriteString(command.Fit(line + "\n"))
	}
	if len(c.Changes) > 0 {
		b.WriteString("\n" + c.changeTable() + "\n")
	}
	for _, change := range c.Changes {
		for _, s := range change.Samples {
			b.WriteString(command.Fit("\n" + change.String() + ": " + s.line() + "\n"))
			if s.Texts != nil {
				b.WriteString(terminal.Render(s.Texts))
			}
		}
	}
	for _, note := range c.Notes {
		b.WriteString(command.Fit("\nNote: " + visible.Line(note) + "\n"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// lines are the result without the table of changes.
func (c *comparison) lines() []string {
	share := func(n int) string { return fmt.Sprintf("%d (%.2f %%)", n, 100*float64(n)/float64(c.Both)) }
	return []string{
		"A  " + c.A.line(),
		"B  " + c.B.line(),
		fmt.Sprintf("on both sides    %d; only A %d, only B %d", c.Both, c.OnlyA, c.OnlyB),
		fmt.Sprintf("agree            %s, in %d of them original and copy have changed places", share(c.Agree),
			c.Exchanged),
		"copies only A    " + share(c.CopiesOnlyA),
		"copies only B    " + share(c.CopiesOnlyB),
		fmt.Sprintf("copies of both   %s, %d with another original, %d with another root", share(c.CopiesBoth),
			c.OtherOriginal, c.OtherRoot),
	}
}

func (s *side) line() string {
	kinds := make([]string, 0, 5)
	for _, kind := range []string{"unique", "possible", "near", "exact", "dead"} {
		if n := s.Kinds[kind]; n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return visible.Line(fmt.Sprintf("%s: %s: %s; %d repeated", s.Name, visible.Count(s.Records, "record"),
		strings.Join(kinds, ", "), s.Repeated))
}

func (c *comparison) changeTable() string {
	t := command.NewTable("A", "B", "records")
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 3, Align: text.AlignRight, AlignHeader: text.AlignRight}})
	for _, change := range c.Changes {
		t.AppendRow(table.Row{change.A, change.B, change.Records})
	}
	return t.Render()
}

// String names the change.
func (c *change) String() string { return c.A.String() + " -> " + c.B.String() }

// String is the kind with its reason, such as "near (overlap)".
func (o outcome) String() string {
	if o.Reason == "" {
		return o.Verdict
	}
	return o.Verdict + " (" + o.Reason + ")"
}

// line describes a sample in one line in which nothing is hidden.
func (s *sample) line() string {
	parts := []string{s.Record}
	if s.Title != "" {
		parts = append(parts, `"`+s.Title+`"`)
	}
	switch {
	case s.OriginalA == s.OriginalB && s.OriginalA != "":
		parts = append(parts, "original "+s.OriginalA)
	default:
		if s.OriginalA != "" {
			parts = append(parts, "original of A "+s.OriginalA)
		}
		if s.OriginalB != "" {
			parts = append(parts, "original of B "+s.OriginalB)
		}
	}
	if s.Gone != "" {
		parts = append(parts, "no texts: "+s.Gone)
	}
	return visible.Line(strings.Join(parts, ", "))
}
