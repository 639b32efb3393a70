package sidebyside

import (
	"html"
	"strings"

	"echosieve/app/visible"
)

// HTML returns two texts as an element of a page: rows of two paragraphs, with del and ins around what
// differs. Unless whole is set, sentences that are the same are left out. The page needs Style. The element
// holds no attribute that comes from a text.
func HTML(runs []Run, whole bool) string {
	var b strings.Builder
	b.WriteString(`<div class="sidebyside">` + "\n")
	for _, r := range rowsOf(runs, whole) {
		if r.leftOut > 0 {
			b.WriteString("<p class=\"same\">" + r.note() + "</p>\n")
			continue
		}
		writePieces(&b, "left", r.left, "del")
		writePieces(&b, "right", r.right, "ins")
	}
	b.WriteString("</div>\n")
	return b.String()
}

// writePieces writes one side of a row. With dir=auto the direction of the text ends with the paragraph.
func writePieces(b *strings.Builder, class string, pieces []piece, element string) {
	b.WriteString(`<p class="` + class + `" dir="auto">`)
	for _, p := range pieces {
		if p.differ {
			b.WriteString("<" + element + ">" + html.EscapeString(p.text) + "</" + element + ">")
		} else {
			b.WriteString(html.EscapeString(p.text))
		}
	}
	b.WriteString("</p>\n")
}

// Style is the style sheet of HTML: two columns, or one below the other on a narrow screen, where a line on
// the left marks the right text. It follows the light or dark scheme of the page, which must set
// color-scheme.
const Style = `.sidebyside { display: grid; grid-template-columns: 1fr 1fr; gap: .4rem 1.2rem; overflow-wrap: anywhere; }
.sidebyside p { margin: 0; min-width: 0; }
.sidebyside .same { grid-column: 1 / -1; opacity: .7; }
.sidebyside del { background: light-dark(#ffd7d5, #67060c); color: inherit; text-decoration: none; }
.sidebyside ins { background: light-dark(#ccffd8, #04602a); color: inherit; text-decoration: underline; }
@media (max-width: 40rem) {
  .sidebyside { grid-template-columns: 1fr; }
  .sidebyside .right { border-inline-start: .2rem solid currentColor; padding-inline-start: .5rem; margin-block-end: .6rem; }
}
`

// Page returns a page that loads nothing and runs no script, with a title and a body of HTML. The body's
// texts must be escaped. The content security policy forbids the browser what a mistake in the body would let
// in.
func Page(title, body string) string {
	return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>` + html.EscapeString(visible.Line(title)) + `</title>
<style>
` + pageStyle + Style + `</style>
</head>
<body>
` + body + `</body>
</html>
`
}

const pageStyle = `:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 72rem; margin: 1.5rem auto; padding: 0 1rem; overflow-wrap: break-word; }
h1 { font-size: 1.3rem; }
h2 { font-size: 1.1rem; margin-block-start: 2rem; }
table { border-collapse: collapse; }
th, td { text-align: start; vertical-align: top; padding: .2rem .6rem .2rem 0; border-block-end: 1px solid light-dark(#ccc, #555); }
td:nth-child(2) { white-space: nowrap; }
small { opacity: .8; }
pre { white-space: pre-wrap; }
`
