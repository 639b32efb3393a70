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

//go:embed *.md console-pair.png drops.png stories.png *.schema.json docs.css zh
var files embed.FS

// markdown makes a page of this folder, whose links with the prefix outside lead out of it.
func markdown(outside string) goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(
		parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(unlink{outside}, 0))))
}

// Handler serves the pages as HTML.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path+"{$}",
		func(w http.ResponseWriter, _ *http.Request) {
			serve(w, "", "Documentation", contents("", "Documentation"))
		})
	mux.HandleFunc("GET "+Path+"zh/{$}",
		func(w http.ResponseWriter, _ *http.Request) { serve(w, "../", "文档", contents("zh/", "文档")) })
	mux.HandleFunc("GET "+Path+"{page...}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("page")
		source, err := files.ReadFile(name)
		if err != nil || path.Ext(name) != ".md" {
			http.StripPrefix(Path, http.FileServerFS(files)).ServeHTTP(w, r)
			return
		}
		top, all := "", "All pages"
		if strings.HasPrefix(name, "zh/") {
			top, all = "../", "所有页面"
		}
		var body bytes.Buffer
		if err := markdown(top+"../").Convert(source, &body,
			parser.WithContext(parser.NewContext(parser.WithIDs(anchors{})))); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		serve(w, top, title(source), `<p><a href="./">`+all+`</a></p>`+body.String())
	})
	return mux
}

// serve writes a page. top is the path from its folder to Path.
func serve(w http.ResponseWriter, top, title, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s - Echosieve</title>"+
		"<link rel=\"stylesheet\" href=\"%sdocs.css\"></head>\n<body>\n%s</body></html>\n", html.EscapeString(title),
		top, body)
}

// order is the order in which to read the pages.
var order = []string{
	"install", "configuration", "output", "stories", "detection", "from-simhash", "reliability", "operations", "runbook",
	"security", "metrics", "tuning", "evaluation", "recipe-change", "platforms", "benchmarks",
}

// contents returns the list of the pages of a folder, "" or "zh/".
func contents(folder, heading string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<h1>%s</h1>\n<ul>\n", heading)
	for _, name := range order {
		source, err := files.ReadFile(folder + name + ".md")
		if err != nil { // it is not translated
			continue
		}
		fmt.Fprintf(&b, "<li><a href=\"%s.md\">%s</a></li>\n", name, html.EscapeString(title(source)))
	}
	b.WriteString("</ul>\n")
	if folder == "" {
		b.WriteString("<p><a href=\"zh/\">中文</a></p>\n")
	}
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
type unlink struct{ outside string }

// Transform implements parser.ASTTransformer.
func (u unlink) Transform(page *ast.Document, _ text.Reader, _ parser.Context) {
	var outside []*ast.Link
	_ = ast.Walk(page, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if l, ok := n.(*ast.Link); ok && entering && strings.HasPrefix(string(l.Destination), u.outside) {
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
