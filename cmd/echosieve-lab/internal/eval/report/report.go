// Package report shows the results of package figures to people: as tables on a terminal, and as HTML pages. A page is
// one file that loads nothing from anywhere: styles and charts (bars of HTML, lines as SVG) are in it. There is no
// script. If a mistake of ours lets a page refer to something outside, the content security policy of the page forbids
// the browser to load it. Titles and texts of articles are hostile input: they reach a page only through html/template,
// through tables, which escape them, and through sidebyside.HTML.
package report

import (
	"cmp"
	_ "embed" // for the directives below
	"fmt"
	"html/template"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"echosieve/app/command"
	"echosieve/app/sidebyside"
	"echosieve/app/visible"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/pipeline/changes"
)

// Report is a result for people.
type Report struct {
	Title    string   // of the page
	Lead     []string // what comes first
	Sections []section
	Pairs    []pair
}

// section is a table. The page has the text and a chart besides.
type section struct {
	Title, About string
	Bars         *bars
	Lines        *lineChart
	Table        table.Writer // nil: the terminal has nothing of the section
}

// pair is two articles side by side, and why they are shown.
type pair struct {
	Title string
	figures.Beside
}

// About says which files were measured with which recipe and program. It is shown at the foot of a page.
type About struct {
	Recipe  string   // id
	Version string   // of the program
	Files   []string // files that were read; empty names are ignored
}

var (
	//go:embed page.html
	pageHTML string
	//go:embed style.css
	style string

	page = template.Must(template.New("page").Funcs(template.FuncMap{
		"base":  filepath.Base,
		"table": func(t table.Writer) template.HTML { return template.HTML(t.RenderHTML()) },
		"texts": func(runs []changes.Run) template.HTML { return template.HTML(sidebyside.HTML(runs, false)) },
	}).Parse(pageHTML))
)

// Page writes the report as a page.
func (r Report) Page(w io.Writer, about About) error {
	return page.Execute(w, struct {
		Report
		Style template.CSS
		About About
	}{r, template.CSS(style + sidebyside.Style), about})
}

// Print writes the report for a terminal.
func (r Report) Print(w io.Writer) error {
	var b strings.Builder
	for _, line := range r.Lead {
		b.WriteString(command.Fit(line + "\n"))
	}
	for _, s := range r.Sections {
		if s.Table == nil {
			continue
		}
		if s.Title != "" {
			b.WriteString("\n" + s.Title + ":\n")
		}
		b.WriteString(s.Table.Render() + "\n")
	}
	terminal := sidebyside.TerminalOf(w)
	for _, p := range r.Pairs {
		b.WriteString(command.Fit(fmt.Sprintf("\n%s\n%s\n%s\n", p.Title, named(p.Earlier.ID, p.Earlier.Title),
			named(p.Later.ID, p.Later.Title))) + terminal.Render(p.Texts))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// add adds a section unless it has neither rows nor bars. Bars of which none can be seen are left out.
func (r *Report) add(s section) {
	if s.Bars != nil && !slices.ContainsFunc(s.Bars.Bars, func(b bar) bool { return b.To > 0 || b.Width > 0 }) {
		s.Bars = nil
	}
	if s.Bars != nil || s.Table != nil && s.Table.Length() > 0 {
		r.Sections = append(r.Sections, s)
	}
}

const (
	nameWidth = 14 // of a kind, a publisher or a language, on a terminal
	pairWidth = 34 // of an article in a list of pairs, on a terminal
	// MostListed is the number of rows of a list of articles, pairs or publishers on a terminal, and mostOnPage on a page.
	// --json has all of them.
	MostListed = 20
	mostOnPage = 1000
)

// most is the number of rows of a list.
func most(onPage bool) int {
	if onPage {
		return mostOnPage
	}
	return MostListed
}

// newTable returns a table whose columns of names fit a terminal.
func newTable(columns ...any) table.Writer {
	t := command.NewTable(columns...)
	var configs []table.ColumnConfig
	for i, name := range columns {
		switch name {
		case "kind", "language", "publisher":
			configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: nameWidth, WidthMaxEnforcer: text.WrapHard})
		case "articles":
			configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: pairWidth, WidthMaxEnforcer: snipped})
		}
	}
	t.SetColumnConfigs(configs)
	return t
}

// snipped cuts each line.
func snipped(lines string, width int) string {
	all := strings.Split(lines, "\n")
	for i, line := range all {
		all[i] = text.Snip(line, width, "~")
	}
	return strings.Join(all, "\n")
}

// more says in a table how many rows are left out.
func more(t table.Writer, all int) {
	if left := all - t.Length(); left > 0 {
		t.AppendFooter(table.Row{fmt.Sprintf("and %d more", left)})
	}
}

func share(x float64) string { return fmt.Sprintf("%.4f", x) }

// named returns the id of an article and the beginning of its title.
func named(id, title string) string {
	return text.Snip(visible.Line(id), pairWidth/2, "~") + " " + visible.Line(cmp.Or(title, "-"))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
