package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/internal/newstext"
	"echosieve/pipeline/text"
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

// Pages in which no article is found are treated as text.
func TestPagesAsText(t *testing.T) {
	for name, body := range map[string]string{
		"empty": "",
		"short": "<nav>Home Sports</nav><p>Two words of news.</p>",
		"long":  "<p>" + strings.Repeat(enArticle, maxPageBytes/len(enArticle)+1),
		"deep":  strings.Repeat("<div>", 1000) + enArticle,
	} {
		page := "<!doctype html><body>" + body
		if mainContent(page) != "" {
			t.Errorf("%s: an article was found", name)
		}
		asPage, leftOut := NewFinder(HTMLArticle, nil, 0).Find(page, text.Clean(page), article.Origin{})
		asText, furniture := NewFinder(HTMLText, nil, 0).Find(page, text.Clean(page), article.Origin{})
		require.Equal(t, asText, asPage, name)
		require.Equal(t, furniture, leftOut, name)
	}
}

// Of a page that is too much for the library, the part with the most prose is the article.
func TestPagesBeyondTheLibrary(t *testing.T) {
	for name, around := range map[string][2]string{
		"many elements": {strings.Repeat("<b>a</b><p>word</p>", maxPageElements), ""},
		"work": {strings.Repeat("<div>", 400) + "<section>",
			"</section>" + strings.Repeat("<a>"+strings.Repeat("x ", 3000)+"</a>", 10)},
		"scripts": {"<script>" + strings.Repeat("var a = '<p>b';\n", maxPageBytes/10) +
			"</script><style>p{}</style><!-- <p> -->", ""},
	} {
		found := mainContent("<!doctype html><body>" + around[0] + "<div><p>" + enArticle + "</p></div>" + around[1])
		require.Equal(t, inOneLine(text.Clean(enArticle)), inOneLine(text.Clean(found)), name)
	}
}

const (
	zhArticle, enArticle = newstext.Zh, newstext.En
	zhOther, enOther     = newstext.ZhOther, newstext.EnOther
	zhMenu, zhFooter     = newstext.ZhMenu, newstext.ZhFooter
	enMenu, enFooter     = newstext.EnMenu, newstext.EnFooter
)

func TestArticleOfAPageIsFound(t *testing.T) {
	for site, article := range []string{zhArticle, enArticle, zhOther, enOther} {
		found := mainContent(newstext.Page(article, site))
		require.Equal(t, inOneLine(text.Clean(article)), inOneLine(text.Clean(found)), site)
	}
}
