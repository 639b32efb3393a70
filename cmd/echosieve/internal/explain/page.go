package explain

import (
	"bytes"
	"cmp"
	"fmt"
	"html"

	"echosieve/app/sidebyside"
	"echosieve/app/told"
	"echosieve/app/visible"
)

// writePage writes the explanation as a page. Everything that comes from a record is made visible and escaped.
func (x *explanation) writePage(b *bytes.Buffer) {
	var body bytes.Buffer
	p := func(format string, args ...any) {
		for i, a := range args {
			if s, ok := a.(string); ok {
				args[i] = html.EscapeString(visible.Line(s))
			}
		}
		fmt.Fprintf(&body, format, args...)
	}
	p("<h1>%s</h1>\n", x.title())
	if len(x.Chain) > 0 {
		p("<p dir=\"auto\"><strong>%s</strong><br>%s <strong>%s</strong></p>\n", x.Article.name(),
			map[bool]string{true: "resembles", false: "repeats"}[x.Verdict == "possible"], x.Chain[0].name())
	} else {
		p("<p dir=\"auto\"><strong>%s</strong></p>\n", x.Article.name())
	}
	p("<p>%s</p>\n<ul>\n", x.headline())
	for _, line := range x.articleLines() {
		p("<li dir=\"auto\">%s</li>\n", line)
	}
	p("</ul>\n")
	for _, note := range x.Notes {
		p("<p><strong>Note:</strong> %s</p>\n", note)
	}
	if c := x.Comparison; c != nil && len(x.Candidates) == 0 {
		p("<p>%s</p>\n", c.Explanation)
		writeFigures(p, c.Figures)
		body.WriteString("<pre>" + html.EscapeString(x.lettersLine()+c.LookupLines()) + "</pre>\n")
	}
	for i, c := range x.Candidates {
		p("<h2>Candidate %d</h2>\n<p dir=\"auto\">%s</p>\n<p>%s</p>\n", i+1, c.line(), c.Why)
		writeFigures(p, c.Figures)
	}
	if c := x.Comparison; c != nil && c.Texts != nil {
		p("<p>%s</p>\n", c.NumberLine())
		p("<h2>%s (left, red) and %s (right, green)</h2>\n", c.A.Name, c.B.Name)
		body.WriteString(sidebyside.HTML(c.Texts, true))
	}
	b.WriteString(sidebyside.Page(x.title()+": "+x.Article.name(), body.String()))
}

func writeFigures(p func(string, ...any), figures []told.Figure) {
	p("<table>\n<tr><th>figure</th><th>value</th><th>limit</th><th></th></tr>\n")
	for _, f := range figures {
		p("<tr><td>%s</td><td>%s</td><td>%s <small>%s</small></td><td>%s</td></tr>\n", f.Name, f.Value, f.Limit,
			f.Setting, f.State)
	}
	p("</table>\n")
}

// title is the verdict alone.
func (x *explanation) title() string {
	switch x.Verdict {
	case "":
		return "No verdict yet"
	case "dead":
		return "Dead letter"
	case "unique":
		return "Unique"
	case "possible":
		return "Possible copy"
	case "exact":
		return "Exact copy"
	default:
		return "Near copy"
	}
}

// name is the title of an article, or else its id.
func (d *described) name() string { return cmp.Or(d.Title, d.ID) }
