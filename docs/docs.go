// Package docs serves the pages of this folder, so that the links of alerts lead somewhere on every
// installation: the service has them at Path.
package docs

import (
	"bytes"
	"embed"
	"fmt"
	"html"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Path is the path of the list of pages. Each page is below it, under the name of its file.
const Path = "/docs/"

//go:embed *.md *.png *.schema.json docs.css
var files embed.FS

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(unlink{}, 0))),
)

// Handler serves the pages as HTML.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, http.StripPrefix(Path, http.FileServerFS(files)))
	mux.HandleFunc("GET "+Path+"{$}",
		func(w http.ResponseWriter, _ *http.Request) { serve(w, "Documentation", contents()) })
	mux.HandleFunc("GET "+Path+"{page}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("page")
		source, err := files.ReadFile(name)
		if err != nil || path.Ext(name) != ".md" {
			http.StripPrefix(Path, http.FileServerFS(files)).ServeHTTP(w, r)
			return
		}
		var body bytes.Buffer
		if err := markdown.Convert(source, &body,
			parser.WithContext(parser.NewContext(parser.WithIDs(anchors{})))); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		serve(w, title(source), `<p><a href="./">All pages</a></p>`+body.String())
	})
	return mux
}

func serve(w http.ResponseWriter, title, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s - Echosieve</title>"+
		"<link rel=\"stylesheet\" href=\"docs.css\"></head>\n<body>\n%s</body></html>\n", html.EscapeString(title),
		body)
}

// order is the order in which to read the pages.
var order = []string{
	"install", "configuration", "output", "stories", "detection", "from-simhash", "reliability", "operations", "runbook",
	"security", "metrics", "tuning", "evaluation", "recipe-change", "platforms", "benchmarks", "scale",
}

// contents returns the list of pages.
func contents() string {
	var b strings.Builder
	b.WriteString("<h1>Documentation</h1>\n<ul>\n")
	for _, name := range order {
		source, err := files.ReadFile(name + ".md")
		if err != nil {
			panic(err) // the folder is embedded
		}
		fmt.Fprintf(&b, "<li><a href=\"%s.md\">%s</a></li>\n", name, html.EscapeString(title(source)))
	}
	b.WriteString("</ul>\n")
	return b.String()
}

// title returns the heading of a page, which is its first line.
func title(source []byte) string {
	first, _, _ := strings.Cut(string(source), "\n")
	return strings.TrimPrefix(first, "# ")
}

// anchors names headings as code hosts do: a link that leads to a heading there leads to it here, too.
type anchors struct{}

var noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// Generate implements parser.IDs.
func (anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	return []byte(strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(string(heading)), ""), " ", "-"))
}

// Put implements parser.IDs.
func (anchors) Put([]byte) {}

// unlink leaves of each link to a file outside this folder its text: the service does not have that file.
type unlink struct{}

// Transform implements parser.ASTTransformer.
func (unlink) Transform(page *ast.Document, _ text.Reader, _ parser.Context) {
	var outside []*ast.Link
	_ = ast.Walk(page, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if l, ok := n.(*ast.Link); ok && entering && strings.HasPrefix(string(l.Destination), "../") {
			outside = append(outside, l)
		}
		return ast.WalkContinue, nil
	})
	for _, l := range outside {
		for child := l.FirstChild(); child != nil; child = l.FirstChild() {
			l.Parent().InsertBefore(l.Parent(), l, child)
		}
		l.Parent().RemoveChild(l.Parent(), l)
	}
}
