package explain

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/cmd/echosieve/internal/compare"
	"echosieve/internal/app/command"
	"echosieve/internal/app/sidebyside"
	"echosieve/internal/app/visible"
)

// print writes the explanation for a terminal.
func (x *explanation) print(w io.Writer, terminal sidebyside.Terminal) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", x.headline())
	for _, line := range x.articleLines() {
		fmt.Fprintf(&b, "%s\n", line)
	}
	if c := x.Comparison; c != nil && len(x.Candidates) == 0 {
		fmt.Fprintf(&b, "\n%s\n\n%s\n\n%s%s", c.Explanation, figureTable(c.Figures), x.lettersLine(), c.LookupLines())
	}
	for i, c := range x.Candidates {
		fmt.Fprintf(&b, "\n%d. %s\n   %s\n", i+1, c.line(), c.Why)
		if i == 0 {
			fmt.Fprintf(&b, "\n%s\n", figureTable(c.Figures))
		}
	}
	if n := x.numberLine(); n != "" {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	report := command.Fit(b.String())
	if x.Texts != nil {
		report += fmt.Sprintf("\n%s (left) and %s (right)\n%s", x.Comparison.A.Name, x.Comparison.B.Name,
			terminal.Render(x.Texts))
	}
	for _, note := range x.Notes {
		report += command.Fit("\nNote: " + visible.Line(note) + "\n")
	}
	_, err := io.WriteString(w, report)
	return err
}

// headline says the verdict in one line.
func (x *explanation) headline() string {
	switch x.Verdict {
	case "":
		return x.Article.Record + ": no verdict yet"
	case "dead":
		return fmt.Sprintf("%s: dead letter, %s: %s", x.Output, x.Reason, visible.Line(x.Detail))
	case "unique":
		return x.Output + ": unique"
	}
	line := fmt.Sprintf("%s: %s, decided by %s, %s from its original", x.Output, x.Verdict, x.Reason,
		command.Count(x.Distance, "bit"))
	if r := x.Relation; r != nil {
		line += ", relation " + r.Name
		if r.Similarity != "" {
			line += fmt.Sprintf(" (similarity %s, %s of it is in the original, %s of the original is in it)",
				r.Similarity, r.Contained, r.Contains)
		}
	}
	return visible.Line(line)
}

// articleLines lists the article and its chain.
func (x *explanation) articleLines() []string {
	lines := []string{"article   " + x.Article.line()}
	for i, d := range x.Chain {
		role := "original  "
		switch {
		case i > 0 && i == len(x.Chain)-1:
			role = "root      "
		case i > 0:
			role = "  then    "
		}
		lines = append(lines, role+d.line())
	}
	return lines
}

// mostTitle bounds the part of a title that is shown, in columns. JSON has all of it.
const mostTitle = 200

// line describes an article in one line in which nothing is hidden.
func (d *described) line() string {
	parts := []string{d.Record}
	if d.ID != d.Record {
		parts = append(parts, "id "+d.ID)
	}
	if !d.Time.IsZero() {
		parts = append(parts, d.Time.UTC().Format(time.DateTime))
	}
	if d.Verdict != "" {
		parts = append(parts, d.Verdict)
	}
	if d.Title != "" {
		parts = append(parts, `"`+text.Trim(visible.Line(d.Title), mostTitle)+`"`)
	}
	if d.Gone != "" {
		parts = append(parts, "no text: "+d.Gone)
		if d.Index == nil {
			parts = append(parts, "not found in the index")
		}
	}
	if i := d.Index; i != nil {
		known := fmt.Sprintf("in the index with fingerprint %s, ticket %d", i.Fingerprint, i.Ticket)
		switch {
		case i.Hidden:
			known = fmt.Sprintf("hidden in the index with fingerprint %s: no later article is a copy of it",
				i.Fingerprint)
		case i.Verdict == "":
			known += ", undecided"
		}
		parts = append(parts, known)
	}
	return visible.Line(strings.Join(parts, ", "))
}

func (c *candidate) line() string {
	return fmt.Sprintf("%s away: %s", command.Count(c.Distance, "bit"), c.described.line())
}

// lettersLine says which articles the lines of look-ups call A and B.
func (x *explanation) lettersLine() string {
	return fmt.Sprintf("A is %s, B is %s.\n", x.Comparison.A.Name, x.Comparison.B.Name)
}

func (x *explanation) numberLine() string {
	if x.Numbers == nil || len(x.Numbers.Original)+len(x.Numbers.Article) == 0 {
		return ""
	}
	line := fmt.Sprintf("numbers only left: %s; only right: %s", list(x.Numbers.Original), list(x.Numbers.Article))
	if s := x.Comparison.Signature; s != nil && s.Contradictions == 0 && len(x.Numbers.Original)*len(x.Numbers.Article) > 0 {
		line += " (a figure in place of another is seen only if it is among the up to 13 that are sampled; these are not)"
	}
	return line
}

// mostNumbers bounds the numbers of a line. JSON has all of them.
const mostNumbers = 20

func list(words []string) string {
	switch {
	case len(words) == 0:
		return "none"
	case len(words) > mostNumbers:
		return fmt.Sprintf("%s and %d more", strings.Join(words[:mostNumbers], " "), len(words)-mostNumbers)
	default:
		return strings.Join(words, " ")
	}
}

// figureTable lists figures in a table of less than 80 columns.
func figureTable(figures []compare.Figure) string {
	t := command.NewTable("figure", "value", "limit", "", "detection.")
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, WidthMax: 20, WidthMaxEnforcer: text.WrapSoft},
		{Number: 3, WidthMax: 26, WidthMaxEnforcer: text.WrapSoft},
		{Number: 5, WidthMax: 14, WidthMaxEnforcer: text.WrapSoft},
	})
	for _, f := range figures {
		t.AppendRow(table.Row{f.Name, f.Value, f.Limit, f.State, strings.ReplaceAll(f.Setting(), "detection.", "")})
	}
	return t.Render()
}
