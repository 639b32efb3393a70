// Package report writes the results of package figures as HTML pages for people. A page is one file that
// loads nothing from anywhere: styles and charts (bars of HTML, lines as SVG) are in it.
// There is no script. If a mistake of ours lets a page refer to something outside, the content security
// policy of the page forbids the browser to load it. Titles and texts of articles are hostile input: they
// reach a page only through html/template and sidebyside.HTML.
package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"strings"
	"unicode"

	"echosieve/app/sidebyside"
)

// About says which files were measured with which recipe and program. It is shown at the foot of a page.
type About struct {
	Recipe  string   // id
	Version string   // of the program
	Files   []string // files that were read; empty names are ignored
}

//go:embed *.html *.css
var files embed.FS

// The templates of the pages. Each includes the common layout and parts.
var (
	pairsPage  = parse("pairs.html")
	streamPage = parse("stream.html")
	versusPage = parse("versus.html")
)

func parse(page string) *template.Template {
	functions := template.FuncMap{
		"share": func(x float64) string { return fmt.Sprintf("%.4f", x) },
		"base":  filepath.Base,
		"texts": func(runs []sidebyside.Run) template.HTML { return template.HTML(sidebyside.HTML(runs, false)) },
	}
	return template.Must(template.New(page).Funcs(functions).ParseFS(files, "layout.html", "parts.html", page))
}

// page is the data of every template.
type page struct {
	Title  string
	Style  template.CSS
	About  About
	Result any
}

func write(w io.Writer, t *template.Template, title string, about About, result any) error {
	style, err := files.ReadFile("style.css")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	err = t.ExecuteTemplate(w, "layout", page{
		Title: title, Style: template.CSS(string(style) + sidebyside.Style), About: about, Result: result,
	})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// label returns a text from the input as it is shown in a chart: visible, and cut to 28 characters.
func label(s string) string {
	const most = 28
	s = visible(s)
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most-1]) + "~"
	}
	return s
}

// visible returns a text as one line, without invisible characters and without characters that XML does not allow.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.C, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
