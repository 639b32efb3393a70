package report

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"strings"
	"unicode"
)

// About says what was measured with what; it stands at the foot of a page.
type About struct {
	Recipe  string   // id
	Version string   // of the program
	Files   []string // that were read; empty names are left out
}

//go:embed *.html *.css
var files embed.FS

// The pages. Each has the layout and the lists of its own.
var (
	pairsPage     = parse("pairs.html")
	streamPage    = parse("stream.html")
	thresholdPage = parse("threshold.html")
)

func parse(page string) *template.Template {
	functions := template.FuncMap{
		"share": func(x float64) string { return fmt.Sprintf("%.4f", x) },
		"base":  filepath.Base,
	}
	return template.Must(template.New(page).Funcs(functions).ParseFS(files, "layout.html", "parts.html", page))
}

// page is what every template gets.
type page struct {
	Title  string
	Style  template.CSS
	About  About
	Charts map[string]template.HTML
	Result any
}

func write(w io.Writer, t *template.Template, title string, about About, charts map[string]template.HTML, result any) error {
	style, err := files.ReadFile("style.css")
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	err = t.ExecuteTemplate(w, "layout", page{
		Title: title, Style: template.CSS(style), About: about, Charts: charts, Result: result,
	})
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// label makes a text of the user's fit for a chart: not too long, and visible.
func label(s string) string {
	const most = 28
	s = visible(s)
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most-1]) + "~"
	}
	return s
}

// visible makes a text one line of what can be seen and stand in XML.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.C, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}
