package page

import (
	"log/slog"
	"strings"

	"echosieve/pipeline/limits"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// mainContent returns the text of the article in an HTML document, without the page around it. It is empty if
// none is found.
//
// Of a page that has loaded other articles below its own, only the first one is seen: see withoutNext.
//
// The article that the page gives to search engines is believed if it is plausible. Otherwise it is the library's,
// unless the part of the page with the most prose is more plausible, or the main content, as the page calls it, is
// prose and a small part of it. Where a page is too much for the library, the part with the most prose counts, and
// where it is too much for html.Parse, none is found. costly says that either happened.
//
// What is too much is counted in bytes and elements, never in seconds: a record that is delivered again must get the
// same fingerprint, on every machine. No parser of HTML5 takes time linear in the length of every page, because the
// standard asks for more.
func mainContent(page string) (content string, costly bool) {
	if page == "" {
		return "", false
	}
	given, size := articleBody(page), len(page)
	page, tags, around := reduced(page)
	if tags > maxTags || around > tagShare*size {
		return "", true
	}
	parsed, err := html.Parse(strings.NewReader(page)) // fails for tags that are nested too deeply
	if err != nil {
		return "", true
	}
	others := withoutNext(parsed)
	p := findProse(parsed)
	if 2*proseOf(given) > p.best.prose && !others { // what search engines get may be that of the next article
		return given, false
	}
	prose, own := textOf(p.node), textOf(p.main) // before the library changes the document
	if p.work > max(minWork, workShare*size) {
		return prose, true
	}
	found := readable(parsed)
	switch {
	case p.outdoes(found):
		found = prose
	case p.mainHas.prose > 2*limits.LongLine && limits.Outdoes*len(own) < len(found):
		found = own
	case len(found) < limits.LongLine:
		found = ""
	}
	return found, false
}

// outdoes tells whether the part of the page with the most prose is rather the article than what the library
// has found: it has many times the prose, and the other is a small part of the page, such as a caption or a
// notice.
func (p *prose) outdoes(found string) bool {
	return p.best.prose > limits.Outdoes*proseOf(found) && float64(len(found)) < limits.MainShare*float64(p.bytes)
}

// readable returns the text of the article that the library finds, without white space around it.
func readable(document *html.Node) (text string) {
	// The library is made for pages that people read. A page that it cannot stand must not end the process.
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	parser := readability.NewParser()
	parser.DisableJSONLD = true // only for metadata
	parser.Logger = slog.New(slog.DiscardHandler)
	found, err := parser.ParseAndMutate(document, nil)
	if err != nil || found.Node == nil {
		return ""
	}
	var b strings.Builder
	if found.RenderText(&b) != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// story is what a walk knows of an element: whether it could be an article of its own.
type story struct {
	headline bool // it has a heading of the first rank
	text     int  // bytes of its text that is no link
}

// withoutNext removes from a document the articles that the page has loaded below its own, and says whether there were
// any: elements of one name and class within one element, each with a headline (h1) and text of its own. The first one
// is the page's. Parts of an article, which stands in an article element, are none.
func withoutNext(document *html.Node) (removed bool) {
	_, removed = storyOf(document, false)
	return removed
}

func storyOf(n *html.Node, link bool) (s story, removed bool) {
	if n.Type == html.TextNode && !link {
		return story{text: len(strings.TrimSpace(n.Data))}, false
	}
	if isHidden(n) {
		return s, false
	}
	link = link || n.DataAtom == atom.A
	s.headline = n.DataAtom == atom.H1
	var first *html.Node // of the articles within n
	var next *html.Node  // a child that is removed has none
	for child := n.FirstChild; child != nil; child = next {
		next = child.NextSibling
		its, within := storyOf(child, link)
		removed = removed || within
		isArticle := its.headline && its.text >= limits.LongLine && holdsArticle(child) && n.DataAtom != atom.Article
		switch {
		case isArticle && first == nil:
			first = child
		case isArticle && sameKind(first, child):
			n.RemoveChild(child)
			removed = true
			continue
		}
		s.headline, s.text = s.headline || its.headline, s.text+its.text
	}
	return s, removed
}

func holdsArticle(n *html.Node) bool {
	return n.DataAtom == atom.Article || n.DataAtom == atom.Section || n.DataAtom == atom.Div
}

// sameKind says whether two elements have one name and one class.
func sameKind(a, b *html.Node) bool { return a.DataAtom == b.DataAtom && classOf(a) == classOf(b) }

func classOf(n *html.Node) string {
	for _, a := range n.Attr {
		if a.Key == "class" {
			return a.Val
		}
	}
	return ""
}
