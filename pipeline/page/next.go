package page

import (
	"strings"

	"echosieve/pipeline/limits"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

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
