package explain

import (
	"cmp"
	_ "embed" // page.html
	"fmt"
	"html"
	"strings"

	"echosieve/app/command"
	"echosieve/app/inquiry"
	"echosieve/app/sidebyside"
	"echosieve/app/visible"
)

func (x *explanation) text(terminal sidebyside.Terminal) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", x.headline(), strings.Join(x.articleLines(), "\n"))
	if c := x.Comparison; c != nil && len(x.Candidates) == 0 {
		fmt.Fprintf(&b, "\n%s\n%s", x.lettersLine(), c.Report())
	}
	for i, c := range x.Candidates {
		fmt.Fprintf(&b, "\n%d. %s\n   %s\n", i+1, c.line(), c.Why)
		if i == 0 {
			fmt.Fprintf(&b, "\n%s\n", inquiry.FigureTable(c.Figures).Render())
		}
	}
	report := command.Fit(b.String())
	if x.Comparison != nil {
		report += x.Comparison.SideBySide(terminal)
	}
	for _, note := range x.Notes {
		report += command.Fit("\nNote: " + visible.Line(note) + "\n")
	}
	return report
}

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
		visible.Count(x.Distance, "bit"))
	if r := x.Relation; r != nil {
		line += ", relation " + r.String()
		if r.Similarity != 0 {
			line += fmt.Sprintf(", %.2f of it is in the original, %.2f of the original is in it", r.Contained, r.Contains)
		}
	}
	return visible.Line(line)
}

func (x *explanation) articleLines() []string {
	lines := append([]string{"article   " + x.Article.String()}, repeatedLines(&x.Article)...)
	for i, d := range x.Chain {
		role := "original  "
		switch {
		case i > 0 && i == len(x.Chain)-1:
			role = "root      "
		case i > 0:
			role = "  then    "
		}
		lines = append(lines, role+d.String())
		lines = append(lines, repeatedLines(&d)...)
	}
	return lines
}

// repeatedLines name the sentences that are left out of an article.
func repeatedLines(a *inquiry.Article) (lines []string) {
	for i := range a.Repeated {
		lines = append(lines, "          "+a.Repeated[i].String())
	}
	return lines
}

func (c *candidate) line() string {
	return fmt.Sprintf("%s away: %s", visible.Count(c.Distance, "bit"), c.Article.String())
}

// lettersLine says which articles the report calls A and B.
func (x *explanation) lettersLine() string {
	return fmt.Sprintf("A is %s, B is %s.\n", x.Comparison.A.Name, x.Comparison.B.Name)
}

// page is the explanation as a page that loads nothing. Everything that comes from a record is made visible and
// escaped. The content security policy forbids the browser what a mistake in that would let in.
func (x *explanation) page() string {
	var b strings.Builder
	add := func(element, text string) {
		fmt.Fprintf(&b, "<%s dir=\"auto\">%s</%[1]s>\n", element, html.EscapeString(visible.Line(text)))
	}
	title := cmp.Or(x.Verdict, "no verdict yet") + ": " + cmp.Or(x.Article.Title, x.Article.ID)
	add("h1", title)
	add("p", x.headline())
	for _, line := range x.articleLines() {
		add("p", line)
	}
	for _, note := range x.Notes {
		add("p", "Note: "+note)
	}
	if c := x.Comparison; c != nil && len(x.Candidates) == 0 {
		add("p", c.Explanation)
		b.WriteString(inquiry.FigureTable(c.Figures).RenderHTML())
		b.WriteString("<pre>" + html.EscapeString(x.lettersLine()+c.LookupLines()) + "</pre>\n")
	}
	for i, c := range x.Candidates {
		add("h2", fmt.Sprintf("Candidate %d", i+1))
		add("p", c.line())
		add("p", c.Why)
		b.WriteString(inquiry.FigureTable(c.Figures).RenderHTML())
	}
	if c := x.Comparison; c != nil && c.Texts != nil {
		add("p", "New: "+c.NewsLine())
		add("h2", c.A.Name+" (left, red) and "+c.B.Name+" (right, green)")
		b.WriteString(sidebyside.HTML(c.Texts, true))
	}
	return fmt.Sprintf(skeleton, html.EscapeString(visible.Line(title)), sidebyside.Style, b.String())
}

// skeleton is a page with places for its title, the style of sidebyside, and the body.
//
//go:embed page.html
var skeleton string
