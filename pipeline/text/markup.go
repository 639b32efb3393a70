package text

import (
	"bytes"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxMarkupPasses bounds how often a text is searched for markup. Markup that was escaped (&lt;p&gt;) comes
// to light only when entities are decoded: a text that was escaped once needs two passes, a text that was
// escaped twice needs three.
const maxMarkupPasses = 3

// Readable returns a text as people read it, and otherwise unchanged. It removes HTML tags, comments, scripts and
// other hidden elements, and decodes entities. The tags of block elements become line ends. A tag has the name of an
// element of HTML, attributes, or an end tag: in "<EED> shares rose" the angle brackets are text. A tag, a comment,
// a script or a picture without an end is text, too: otherwise a stray "<" would swallow the rest of an article. So
// is a comment that began in a script.
func Readable(text string) string {
	for range maxMarkupPasses {
		if strings.IndexByte(text, '<') < 0 && strings.IndexByte(text, '&') < 0 {
			break
		}
		stripped := stripMarkupOnce(text)
		if stripped == text {
			break
		}
		text = stripped
	}
	return text
}

func stripMarkupOnce(text string) string {
	out := make([]byte, 0, len(text))
	z := html.NewTokenizer(strings.NewReader(text))
	z.AllowCDATA(true) // in feeds, markup follows in it
	// where in out the content of an open hidden element begins; -1 for none. Of nested ones, the outermost counts
	hiddenFrom := -1
	var hidden atom.Atom
	var ended map[string]bool
	for {
		switch token := z.Next(); token {
		case html.ErrorToken: // the end of the text, perhaps within a tag: the next pass strips the tag's content
			return string(append(out, bytes.TrimPrefix(z.Raw(), []byte("<"))...))
		case html.TextToken:
			out = append(out, z.Text()...)
		case html.CommentToken, html.DoctypeToken:
			switch raw := z.Raw(); {
			case bytes.HasPrefix(raw, []byte("</")): // an end tag without a name
				out = append(out, raw...)
			case !isClosed(raw) || bytes.Contains(raw, []byte("</script>")):
				out = append(out, bytes.TrimLeft(raw, "<!-")...)
			}
		case html.StartTagToken, html.SelfClosingTagToken, html.EndTagToken:
			raw := z.Raw()
			name, attributes := z.TagName()
			kind := elements[atom.Lookup(name)]
			if kind == unknownElement {
				if ended == nil {
					ended = endTags(text, "</", '>')
				}
				// of one's own, whose tag is more than a name between angle brackets
				if attributes && bytes.IndexByte(raw, '=') > 0 || token != html.StartTagToken || ended[string(name)] {
					if kind = inlineElement; bytes.IndexByte(name, '-') > 0 {
						kind = blockElement // stands between paragraphs
					}
				}
			}
			switch kind {
			case unknownElement:
				out = append(out, raw...)
			case blockElement:
				out = append(out, '\n')
			case hiddenElement:
				switch {
				case token == html.StartTagToken && (hiddenFrom < 0 || hidden == atom.Rt || hidden == atom.Rp):
					hiddenFrom, hidden = len(out), atom.Lookup(name)
				case token == html.EndTagToken && hiddenFrom >= 0 && hidden == atom.Lookup(name):
					out, hiddenFrom = out[:hiddenFrom], -1
				}
			}
		}
	}
}

// stripShortcodes returns a text without the tags in square brackets that WordPress and forums use: [gallery], tags
// with attributes in quotation marks, end tags, and tags that are closed again. What stands between them stays.
func stripShortcodes(text string) string {
	closed := endTags(text, "[/", ']')
	closed["gallery"] = true
	plain, _ := Replace(text, '[', func(s string) (r rune, length int) {
		if len(s) == 1 || s[1] != '/' && !isLetter(s[1]|0x20) {
			return 0, 0 // most brackets, in a tenth of the time
		}
		parts := shortcode.FindStringSubmatch(s[:min(len(s), maxShortcode)])
		switch {
		case parts == nil,
			!closed[strings.ToLower(parts[1])] && !strings.Contains(parts[2], `="`) && !strings.Contains(parts[2], "='"):
			return 0, 0
		case strings.Contains(parts[1], "_") || parts[1] == "caption": // page builders' paragraphs
			return '\n', len(parts[0])
		}
		return 0x200b, len(parts[0]) // which is left out
	})
	return plain
}

// shortcode is such a tag: its name, and its attributes.
var shortcode = regexp.MustCompile(`^\[/?([A-Za-z][\w-]*)((?:=[^\s\]\[]*)?(?:\s+[\w-]+` +
	`(?:=(?:"[^"\[]*"|'[^'\[]*'|[^\s"'\]\[]*))?)*)\s*/?\]`)

// maxShortcode is the length of the longest tag in square brackets, in bytes.
const maxShortcode = 1 << 10

// stripWiki returns a text without the notation of MediaWiki, if it has links of it: templates, which stand around the
// article or in its references, marks of bold and italic letters, and categories. Of links, what they show stays.
func stripWiki(text string) string {
	if !strings.Contains(text, "[[") || !strings.Contains(text, "{{") {
		return text
	}
	for range maxMarkupPasses { // templates within templates
		text, _ = Replace(text, '{', func(s string) (string, int) { return "", enclosed(s, "{{", "}}") })
	}
	text, _ = Replace(wikiMarks.Replace(text), '[', func(s string) (shown string, length int) {
		if length = enclosed(s, "[[", "]]"); length == 0 {
			return "", 0
		}
		link := s[len("[[") : length-len("]]")]
		if strings.IndexByte(link, ':') > 0 && !strings.Contains(link, "|") { // a category
			return "", length
		}
		return link[strings.LastIndexByte(link, '|')+1:], length
	})
	return text
}

// wikiMarks leaves out the marks of bold and italic letters.
var wikiMarks = strings.NewReplacer("'''", "", "''", "")

// enclosed returns the length of what stands between two brackets, at the beginning of s, and two closing ones, these
// included; 0 if there is none, or it has such brackets.
func enclosed(s, begin, end string) int {
	if !strings.HasPrefix(s, begin) {
		return 0
	}
	inner := s[len(begin):]
	length := strings.IndexAny(inner, begin[:1]+end[:1])
	if length < 0 || !strings.HasPrefix(inner[length:], end) {
		return 0
	}
	return len(begin) + length + len(end)
}

// endTags returns the names, in lower case, of the end tags in a text, which begin and end so.
func endTags(text, begin string, last byte) map[string]bool {
	names := map[string]bool{}
	for {
		var found bool
		if _, text, found = strings.Cut(text, begin); !found {
			return names
		}
		end := 0
		for end < len(text) && end < maxTagName && (isLetter(text[end]|0x20) || isDigit(text[end]) ||
			strings.IndexByte("-:._", text[end]) >= 0) {
			end++
		}
		if end < len(text) && text[end] == last {
			names[strings.ToLower(text[:end])] = true
		}
	}
}

// maxTagName is the length of the longest name, in bytes, that counts among end tags.
const maxTagName = 32

// isClosed tells whether a comment or declaration ends before the text does.
func isClosed(raw []byte) bool {
	if bytes.HasPrefix(raw, []byte("<!--")) {
		return bytes.HasSuffix(raw, []byte("->")) || bytes.HasSuffix(raw, []byte("-!>"))
	}
	return bytes.HasSuffix(raw, []byte(">"))
}

type element uint8

const (
	unknownElement element = iota // not HTML
	inlineElement                 // its tags vanish
	blockElement                  // its tags end the line
	hiddenElement                 // its content is not shown
)

// elements holds every element of HTML, including the obsolete elements that browsers still accept.
// atom.Lookup also returns names of attributes; these are not in the table.
var elements = func() map[atom.Atom]element {
	table := map[atom.Atom]element{}
	for kind, names := range map[element]string{
		inlineElement: "a abbr acronym audio b bdi bdo big canvas cite code data del dfn em embed font i img input " +
			"ins kbd label link map mark meta meter nobr object output param picture progress q rb rtc ruby s " +
			"samp slot small source span strike strong sub sup textarea time track tt u var video wbr",
		blockElement: "address area article aside base basefont bgsound blockquote body br button caption center col " +
			"colgroup datalist dd details dialog dir div dl dt fieldset figcaption figure footer form frame frameset " +
			"h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li listing main marquee menu menuitem nav ol optgroup " +
			"option p plaintext pre search section select summary table tbody td template tfoot th thead title tr " +
			"ul xmp",
		hiddenElement: "script style iframe noembed noframes noscript rp rt svg",
	} {
		for name := range strings.FieldsSeq(names) {
			if a := atom.Lookup([]byte(name)); a != 0 {
				table[a] = kind
			}
		}
	}
	return table
}()
