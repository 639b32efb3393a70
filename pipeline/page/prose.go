package page

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"echosieve/pipeline/article"
	"echosieve/pipeline/limits"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The part of a page with the most prose: the element whose blocks of text add up to the most. A block of
// prose counts its bytes that are no link. Any other block counts against the element: as much as a short
// line, and half of its links.

// prose is what a walk over a document finds.
type prose struct {
	node      *html.Node // of the element with the most prose; nil if there is none
	best      worth      // of its text
	bytes     int        // of all text that is shown
	work      int        // see workShare
	title     int        // length of the longest, in bytes
	overlay   *html.Node // the part that is not shown, or in an overlay of its own, with the most prose
	inOverlay int        // bytes of it
	shown     int        // and how many of them count with the elements around it
	main      *html.Node // the element that the page calls its main content; nil if there is none or it has no prose
	mainHas   worth
	open      block
}

// worth is what text is worth as an article.
type worth struct {
	prose int // bytes of prose
	net   int // less what stands against the text
}

func (w *worth) add(v worth) { w.prose, w.net = w.prose+v.prose, w.net+v.net }

// block is text between two tags of block elements.
type block struct {
	bytes, links int
	last         rune // its last character that is no white space
}

// findProse walks over a document. Where a part that is not shown has most of its prose, the article is there, until a
// script shows it: the part loses its attributes, by which it would be left out.
func findProse(document *html.Node) (p *prose) {
	for range maxWindows {
		p = &prose{}
		all := p.walk(document, 0, false)
		if p.inOverlay <= 2*(all.prose-p.shown) {
			break
		}
		p.overlay.Attr = nil
	}
	return p
}

// maxWindows is how many parts that are not shown may be around an article, and one more.
const maxWindows = 4

// walk adds the value of the blocks within an element. depth counts the elements around it, link tells that
// one of them is a link.
func (p *prose) walk(n *html.Node, depth int, link bool) (value worth) {
	switch n.Type {
	case html.TextNode:
		p.work += len(n.Data) * depth
		p.addText(n.Data, link)
		return worth{}
	case html.ElementNode:
		p.work += elementWork * (depth + 10)
		p.cutAttributes(n)
	}
	hidden, isBlock, notice := isHidden(n), isBlock[n.DataAtom], noNotice
	if n.Type == html.ElementNode {
		notice = noticeOf(n)
	}
	hidden = hidden || notice >= overlayNotice
	before := p.open
	if hidden {
		p.open = block{}
	} else if isBlock {
		value.add(p.close())
		before = block{}
	}
	own, bytes := worth{}, p.bytes
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		own.add(p.walk(child, depth+1, link || n.DataAtom == atom.A))
	}
	if hidden || isBlock {
		own.add(p.close())
	}
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.work += headingWork * (p.title + p.bytes - bytes)
	}
	if (notice == overlayNotice || notice == unseenPart) && own.prose >= max(1, p.inOverlay) {
		if p.overlay, p.inOverlay, p.shown = n, own.prose, own.prose; hidden {
			p.shown = 0
		}
	}
	switch {
	case hidden:
		p.open = before
		return value
	case isBlock:
		if own.net > p.best.net {
			p.best, p.node = own, n
		}
		if own.net > p.mainHas.net && isMain(n) {
			p.mainHas, p.main = own, n
		}
	}
	value.add(own)
	return value
}

// cutAttributes leaves out what costs the library too much of attributes and titles.
func (p *prose) cutAttributes(n *html.Node) {
	n.Attr = n.Attr[:min(len(n.Attr), maxAttributes)]
	isTitle, longest := false, 0
	for i := range n.Attr {
		if len(n.Attr[i].Val) > maxAttributeBytes {
			n.Attr[i].Val = article.Cut(n.Attr[i].Val, maxAttributeBytes)
		}
		isTitle = isTitle || strings.Contains(n.Attr[i].Val, "title") // or og:title, and so on
		longest = max(longest, len(n.Attr[i].Val))
	}
	switch text := n.FirstChild; n.DataAtom {
	case atom.Meta:
		if isTitle {
			p.title = max(p.title, longest)
		}
	case atom.Title:
		if text != nil {
			text.Data = article.Cut(text.Data, maxAttributeBytes)
			p.title = max(p.title, len(text.Data))
		}
	}
}

func (p *prose) addText(text string, link bool) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	p.bytes += len(text)
	p.open.bytes += len(text)
	if link {
		p.open.links += len(text)
	}
	p.open.last, _ = utf8.DecodeLastRuneInString(text)
}

// close ends a block and returns its value.
func (p *prose) close() worth {
	b := p.open
	p.open = block{}
	plain := b.bytes - b.links
	switch {
	case b.bytes == 0:
		return worth{}
	case plain > 2*b.links && (plain >= limits.LongLine || plain >= shortLine && endsSentence(b.last)):
		return worth{plain, plain}
	}
	return worth{0, -shortLine - b.links/2}
}

func endsSentence(r rune) bool {
	return unicode.Is(unicode.STerm, r) || r == '"' || unicode.In(r, unicode.Pe, unicode.Pf)
}

// proseOf is the prose of a text whose blocks are its lines.
func proseOf(text string) int {
	p, sum := prose{}, worth{}
	for line := range strings.Lines(text) {
		p.addText(line, false)
		sum.add(p.close())
	}
	return sum.prose
}

// isMain tells whether an element is what the page calls its main content.
func isMain(n *html.Node) bool {
	if n.DataAtom == atom.Main {
		return true
	}
	for _, a := range n.Attr {
		if a.Key == "role" && a.Val == "main" || a.Key == "id" && a.Val == "main" || a.Key == "itemprop" &&
			strings.EqualFold(a.Val, "articleBody") {
			return true
		}
	}
	return false
}

// textOf returns the text of an element, a line for each block.
func textOf(n *html.Node) string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	writeText(&b, n)
	return b.String()
}

func writeText(b *strings.Builder, n *html.Node) {
	if n.Type == html.TextNode {
		b.WriteString(n.Data)
		return
	}
	if isHidden(n) || n.Type == html.ElementNode && noticeOf(n) >= overlayNotice {
		return
	}
	if isBlock[n.DataAtom] {
		b.WriteByte('\n')
		defer b.WriteByte('\n')
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		writeText(b, child)
	}
}

// isHidden tells whether an element shows no text of an article.
func isHidden(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Head, atom.Script, atom.Style, atom.Noscript, atom.Iframe, atom.Template, atom.Svg, atom.Select,
		atom.Button, atom.Nav, atom.Textarea:
		return n.Type == html.ElementNode
	}
	return false
}

// noticeKind says why a part of a page may not be part of its article.
type noticeKind uint8

const (
	noNotice      noticeKind = iota
	unseenPart               // not shown, at least before a script has run
	overlayNotice            // an overlay of its own
	consentNotice            // asks for consent
)

func noticeOf(n *html.Node) (kind noticeKind) {
	overlay := overlayNotice
	switch n.DataAtom {
	case atom.Html, atom.Body, atom.Main, atom.Article:
		overlay = noNotice
	case atom.Dialog:
		kind = overlay
	}
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			kind = max(kind, unseenPart)
		case "aria-hidden":
			if a.Val == "true" {
				kind = max(kind, unseenPart)
			}
		case "style":
			if style := strings.ReplaceAll(a.Val, " ", ""); strings.Contains(style, "display:none") ||
				strings.Contains(style, "visibility:hidden") {
				kind = max(kind, unseenPart)
			}
		case "role":
			if a.Val == "dialog" || a.Val == "alertdialog" {
				kind = max(kind, overlay)
			}
		case "aria-modal":
			kind = max(kind, overlay)
		case "id", "class":
			if overlay != noNotice && (strings.Contains(a.Val, "cookie") || strings.Contains(a.Val, "consent") ||
				strings.Contains(a.Val, "gdpr")) {
				return consentNotice
			}
			for name := range strings.FieldsSeq(a.Val) {
				if name == "modal" || name == "popup" || name == "overlay" {
					kind = max(kind, overlay)
				}
			}
		}
	}
	return kind
}

// isBlock holds the elements that begin and end a block of text.
var isBlock = func() map[atom.Atom]bool {
	table := map[atom.Atom]bool{}
	for name := range strings.FieldsSeq(
		"address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption " +
			"figure footer form h1 h2 h3 h4 h5 h6 header hr legend li main menu ol option p pre section summary " +
			"table tbody td tfoot th thead tr ul") {
		table[atom.Lookup([]byte(name))] = true
	}
	return table
}()
