package report

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

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

// wideText places text with Chinese characters, which the font used for measuring does not have: the browser will
// draw them, as wide as they are high. It is for single lines that are not turned.
type wideText struct{ text.Plain }

var _ text.Handler = wideText{}

// Box implements text.Handler.
func (h wideText) Box(s string, f font.Font) (w, height, depth vg.Length) {
	narrow := strings.Map(func(r rune) rune {
		if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
			w += f.Size
			return -1
		}
		return r
	}, s)
	known, height, depth := h.Plain.Box(narrow, f)
	return w + known, height, depth
}

// Draw implements text.Handler.
func (h wideText) Draw(c vg.Canvas, s string, style text.Style, at vg.Point) {
	w, _, _ := h.Box(s, style.Font)
	at.X += vg.Length(style.XAlign) * w
	style.XAlign = text.XLeft
	h.Plain.Draw(c, s, style, at)
}
