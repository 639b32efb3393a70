package diff

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/command"
	"echosieve/app/sidebyside"
	"echosieve/app/visible"
)

func (c *comparison) text(terminal sidebyside.Terminal) string {
	var b strings.Builder
	share := func(n int) string { return fmt.Sprintf("%d (%.2f %%)", n, 100*float64(n)/float64(c.Both)) }
	fmt.Fprintf(&b, "A  %s\nB  %s\non both sides    %d; only A %d, only B %d\n", c.A.line(), c.B.line(), c.Both,
		c.OnlyA, c.OnlyB)
	fmt.Fprintf(&b, "agree            %s, in %d of them original and copy have changed places\n", share(c.Agree),
		c.Exchanged)
	fmt.Fprintf(&b, "copies only A    %s\ncopies only B    %s\n", share(c.CopiesOnlyA), share(c.CopiesOnlyB))
	fmt.Fprintf(&b, "copies of both   %s, %d with another original, %d with another root\n", share(c.CopiesBoth),
		c.OtherOriginal, c.OtherRoot)
	if len(c.Changes) > 0 {
		b.WriteString("\n" + c.changeTable() + "\n")
	}
	out := command.Fit(b.String())
	for _, change := range c.Changes {
		for _, s := range change.Samples {
			out += command.Fit("\n"+change.String()+": "+s.line()+"\n") + terminal.Render(s.Texts)
		}
	}
	for _, note := range c.Notes {
		out += command.Fit("\nNote: " + visible.Line(note) + "\n")
	}
	return out
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
	line := s.Record
	if s.Title != "" {
		line += `, "` + s.Title + `"`
	}
	if s.OriginalA != "" {
		line += ", original of A " + s.OriginalA
	}
	if s.OriginalB != "" {
		line += ", original of B " + s.OriginalB
	}
	if s.Gone != "" {
		line += ", no texts: " + s.Gone
	}
	return visible.Line(line)
}
