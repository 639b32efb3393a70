package sidebyside

import (
	_ "embed" // style.css
	"html"
	"strings"

	"echosieve/pipeline/changes"
)

// HTML returns two texts as an element of a page: rows of two paragraphs, with del and ins around what
// differs, and s around sentences that a publisher repeats. Unless whole is set, sentences that are the same and that
// no publisher repeats are left out. The page needs Style. The element holds no attribute that comes from a text.
func HTML(runs []changes.Run, whole bool) string {
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
		inner := html.EscapeString(p.text)
		if p.differ {
			inner = "<" + element + ">" + inner + "</" + element + ">"
		}
		if p.repeated {
			inner = "<s>" + inner + "</s>"
		}
		b.WriteString(inner)
	}
	b.WriteString("</p>\n")
}

// Style is the style sheet of HTML: two columns, or one below the other on a narrow screen, where a line on
// the left marks the right text. It follows the light or dark scheme of the page, which must set
// color-scheme.
//
//go:embed style.css
var Style string
