package explain

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/command"
	"echosieve/app/sidebyside"
	"echosieve/app/visible"
	"echosieve/cmd/echosieve/internal/compare"
	"echosieve/internal/plural"
)

// print writes the explanation for a terminal.
func (x *explanation) print(w io.Writer, terminal sidebyside.Terminal) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", x.headline())
	for _, line := range x.articleLines() {
		fmt.Fprintf(&b, "%s\n", line)
	}
	if c := x.Comparison; c != nil && len(x.Candidates) == 0 {
		fmt.Fprintf(&b, "\n%s\n%s", x.lettersLine(), c.Report())
	}
	for i, c := range x.Candidates {
		fmt.Fprintf(&b, "\n%d. %s\n   %s\n", i+1, c.line(), c.Why)
		if i == 0 {
			fmt.Fprintf(&b, "\n%s\n", compare.FigureTable(c.Figures))
		}
	}
	report := command.Fit(b.String())
	if x.Comparison != nil {
		report += x.Comparison.SideBySide(terminal)
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
		plural.Of(x.Distance, "bit"))
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
	return fmt.Sprintf("%s away: %s", plural.Of(c.Distance, "bit"), c.described.line())
}

// lettersLine says which articles the report calls A and B.
func (x *explanation) lettersLine() string {
	return fmt.Sprintf("A is %s, B is %s.\n", x.Comparison.A.Name, x.Comparison.B.Name)
}
