package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/text"
	"echosieve/test/newstext"
)

func TestTextsThatAreNoPage(t *testing.T) {
	for page, want := range map[string]bool{
		"<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\"><p>x": true, " \n<HTML lang=zh>": true, "<html>": true,
		"\ufeff<html>": true,
		"<!-- cached --><?xml version='1.0'?>\n<html>":             true,
		"<b>Warning</b>: no file on line 5<br />\n<!DOCTYPE html>": true, "<script>a</script> <html>": true,
		"": false, "<p>" + enArticle + "</p>": false, "An article about <html>": false, "<!doctype": false,
		"<html": false,
	} {
		require.Equal(t, want, document(page) != "", page)
	}
}

// Pages in which no article is found, and costly ones, are treated as text.
func TestPagesAsText(t *testing.T) {
	for name, body := range map[string]string{
		"empty":             "",
		"short":             "<nav>Home Sports</nav><p>Two words of news.</p>",
		"costly: deep":      strings.Repeat("<div>", 1000) + enArticle,
		"costly: many tags": strings.Repeat("<q>a</q><p>word</p>", maxTags/4) + enArticle,
		"costly: open tags": strings.Repeat("<div><q>", 120) + strings.Repeat("</z>", 1<<14) + enArticle,
	} {
		page := "<!doctype html><body>" + body
		if found, _ := mainContent(page); found != "" {
			t.Errorf("%s: an article was found", name)
		}
		asPage, leftOut := NewFinder(HTMLArticle, 0).Find(page, text.Clean(page), article.Origin{}, nil)
		asText, furniture := NewFinder(HTMLText, 0).Find(page, text.Clean(page), article.Origin{}, nil)
		require.Equal(t, asText, asPage, name)
		furniture.Costly = strings.HasPrefix(name, "costly")
		require.Equal(t, furniture, leftOut, name)
	}
}

// Of a page that is too much for the library, the part with the most prose is the article.
func TestPagesBeyondTheLibrary(t *testing.T) {
	for name, around := range map[string][2]string{
		"work": {strings.Repeat("<div>", 400) + "<section>",
			"</section>" + strings.Repeat("<a>"+strings.Repeat("x ", 3000)+"</a>", 10)},
		"scripts": {"<script>" + strings.Repeat("var a = '<p>b';\n", 1<<19) +
			"</script><style>p{}</style><!-- <p> -->", ""},
	} {
		found, _ := mainContent("<!doctype html><body>" + around[0] + "<div><p>" + enArticle + "</p></div>" + around[1])
		require.Equal(t, inOneLine(text.Clean(enArticle)), inOneLine(text.Clean(found)), name)
	}
}

var (
	zhArticle, enArticle = newstext.Zh, newstext.En
	zhOther, enOther     = newstext.ZhOther, newstext.EnOther
	zhMenu, zhFooter     = newstext.ZhMenu, newstext.ZhFooter
	enMenu, enFooter     = newstext.EnMenu, newstext.EnFooter
)

func TestArticleOfAPageIsFound(t *testing.T) {
	for site, article := range []string{zhArticle, enArticle, zhOther, enOther} {
		found, _ := mainContent(newstext.Page(article, site))
		require.Equal(t, inOneLine(text.Clean(article)), inOneLine(text.Clean(found)), site)
	}
}

// The tags of formatting, and of a second html or body, are no part of what is parsed. Each tag counts the elements
// around it that may be open.
func TestReduced(t *testing.T) {
	for page, want := range map[string]struct {
		rest   string
		around int
	}{
		`<p>a <B class="x">b</b> c</p>`:                                   {"<p>a b c</p>", 1},
		"<html lang=en><body id=a><html b><body c><p>a</body>b</html>c":   {"<html lang=en><body id=a><p>abc", 0 + 1 + 2},
		"<ul><li>a<li>b</ul><br><i":                                       {"<ul><li>a<li>b</ul><br>", 0 + 1 + 2 + 2 + 0},
		"<div><span></z></z></z></div>":                                   {"<div><span></z></z></z></div>", 9},
		"<p>a<svg><g></svg><!-- b -->c<Script>d</script><style>e</style>": {"<p>ac", 0},
		"1 < 2, <a": {"1 < 2, <a", 0},
	} {
		rest, _, around := reduced(page)
		require.Equal(t, want.rest, rest, page)
		require.Equal(t, want.around, around, page)
	}
}

// The box of an article may be hidden until a script shows it, or look like a window of the site.
func TestHiddenArticlesAreFound(t *testing.T) {
	const frame = `<!doctype html><html><head><title>The Harbour Post</title></head><body><header><a href="/">Home</a> ` +
		`<a href="/sport">Sport</a></header><div class="lead"><p>We publish local news every morning, and our readers ` +
		`write to us.</p></div>BOX<div class="about"><p>The Harbour Post ` +
		`is an independent paper, paid for by its readers and by the town's shops.</p>` +
		`</div><footer><a href="/contact">Contact</a></footer></body></html>`
	for _, box := range []string{
		`<div aria-hidden="true">`, `<div style="display:none">`, `<div style="visibility: hidden">`, `<section hidden>`,
		`<div class="popup">`, `<div class="modal" role="dialog">`, `<div class="overlay" aria-modal="true">`,
		`<div class="story sidebar-extra" id="comment-body-popup">`, `<div id="page-modal" role="dialog" aria-modal="true">`,
	} {
		for _, article := range []string{enArticle, enOther, zhArticle, zhOther} {
			body := box + "<h1>Old quay</h1><p>" + strings.ReplaceAll(article, "\n", "</p><p>") + "</p>" +
				strings.Repeat("</div>", strings.Count(box, "<div")) + strings.Repeat("</section>", strings.Count(box, "<section"))
			found, _ := mainContent(strings.Replace(frame, "BOX", body, 1))
			for _, paragraph := range strings.Split(article, "\n") {
				require.Contains(t, inOneLine(text.Clean(found)), inOneLine(text.Clean(paragraph)), box)
			}
		}
	}
}

// Of a text that an editor has written as JSON, the paragraphs count.
func TestBlocksOfEditors(t *testing.T) {
	for raw, want := range map[string]string{
		`{"time":1,"blocks":[{"type":"paragraph","data":{"text":"The <b>quay</b>"}},` +
			`{"data":{"text":"opens."}}]}`: "the quay\nopens.",
		`{"blocks":[{"key":"a","text":"The quay","type":"unstyled"}],"entityMap":{}}`: "the quay",
		`{"blocks":[{"text":"The quay"}`:                                              `{"blocks":[{"text":"the quay"}`,
		`{"text":"The quay"}`:                                                         `{"text":"the quay"}`,
	} {
		body, _ := NewFinder(HTMLArticle, 0).Find(raw, text.Clean(raw), article.Origin{}, nil)
		require.Equal(t, want, body, raw)
	}
}
