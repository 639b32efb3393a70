// Package sidebyside shows runs of two texts side by side, so that people see what an article and its copy have in
// common. It knows nothing of articles. Wherever an earlier and a later text stand side by side, the earlier
// one is on the left. Terminal and HTML are two forms of the same runs; JSON is the runs themselves.
//
// Texts come from strangers: both forms make control and other invisible characters visible, and HTML is escaped.
package sidebyside

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"echosieve/app/visible"
	"echosieve/pipeline/changes"
)

// row is what stands side by side: usually a sentence of each text.
type row struct {
	left, right []piece
	differs     bool
	repeated    bool
	leftOut     int // number of rows without differences that this row stands for; 0: the row is itself
}

// piece is a stretch of one side of a row.
type piece struct {
	text     string // one line, and everything in it is visible
	differ   bool
	repeated bool // it stands in a sentence that its publisher repeats
}

// context is the number of rows without differences that are shown before and after a row with one.
const context = 1

// rowsOf cuts runs into rows. Rows end where both sides have a line end or the end of a sentence in common.
// Unless whole is set, rows without differences are left out, except for those next to a difference.
func rowsOf(runs []changes.Run, whole bool) []row {
	rows := []row{{}}
	for _, r := range runs {
		add := func(left, right string) {
			last := &rows[len(rows)-1]
			last.differs, last.repeated = last.differs || !r.Same, last.repeated || r.LeftRepeated || r.RightRepeated
			last.left = appendPiece(last.left, piece{left, !r.Same, r.LeftRepeated})
			last.right = appendPiece(last.right, piece{right, !r.Same, r.RightRepeated})
		}
		if !r.Same {
			add(r.Left, r.Right)
			continue
		}
		left, right := sentences(r.Left), sentences(r.Right)
		if len(left) != len(right) { // spelled so differently that it is unknown which sentences belong together
			left, right = []string{r.Left}, []string{r.Right}
		}
		for i := range left {
			if add(left[i], right[i]); i+1 < len(left) || ended(left[i]) && ended(right[i]) {
				rows = append(rows, row{})
			}
		}
	}
	if last := rows[len(rows)-1]; last.left == nil && last.right == nil {
		rows = rows[:len(rows)-1]
	}
	if whole {
		return rows
	}
	return shorten(rows)
}

// sentences cuts a text behind each sentence and line, and the spaces that follow it.
func sentences(text string) []string {
	var list []string
	start := 0
	for i, r := range text {
		if i > start && !unicode.IsSpace(r) && ended(text[start:i]) {
			list = append(list, text[start:i])
			start = i
		}
	}
	return append(list, text[start:])
}

// ended says whether a text ends with a sentence or a line.
func ended(text string) bool {
	body := strings.TrimRightFunc(text, unicode.IsSpace)
	r, _ := utf8.DecodeLastRuneInString(body)
	return strings.ContainsRune("\u3002\uff01\uff1f", r) ||
		len(body) < len(text) && (strings.ContainsRune(".!?", r) || strings.Contains(text[len(body):], "\n"))
}

func appendPiece(pieces []piece, p piece) []piece {
	if p.text == "" {
		return pieces
	}
	p.text = visible.Line(p.text)
	return append(pieces, p)
}

// shorten replaces rows without differences by one row that counts them, if they are not next to a row with a
// difference and no publisher repeats them.
func shorten(rows []row) []row {
	var kept []row
	for i, r := range rows {
		around := rows[max(0, i-context):min(len(rows), i+context+1)]
		switch n := len(kept); {
		case r.repeated, slices.ContainsFunc(around, func(r row) bool { return r.differs }):
			kept = append(kept, r)
		case n > 0 && kept[n-1].leftOut > 0:
			kept[n-1].leftOut++
		default:
			kept = append(kept, row{leftOut: 1})
		}
	}
	return kept
}

// note is shown in place of the rows that a row stands for.
func (r *row) note() string {
	return "... " + visible.Count(r.leftOut, "line") + " the same"
}
