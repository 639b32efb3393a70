package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/text"
)

// Of a page that has loaded the next article below its own, the first one is the page's, also if it is shorter.
func TestNextArticlesAreLeftOut(t *testing.T) {
	part := func(tag, text string) string {
		return "<" + tag + "><h1>Headline</h1><p>" + text + "</p></" + strings.Fields(tag)[0] + ">"
	}
	for _, own := range []string{enArticle, zhArticle} {
		next := "<p>" + strings.Repeat(enOther+"</p><p>", 3)
		for _, tag := range []string{"article", "article class=story", "section", "div class=s"} {
			page := "<!doctype html><body><nav>Home</nav><main>" + part(tag, own) + part(tag, next) + part(tag, next) + "</main>"
			found, _ := mainContent(page)
			require.Contains(t, inOneLine(text.Clean(found)), inOneLine(text.Clean(own)), tag)
			require.NotContains(t, inOneLine(text.Clean(found)), inOneLine(text.Clean(enOther)), tag)
		}
	}
	for name, page := range map[string]string{
		"parts of an article": "<article>" + part("section", enArticle) + part("section", enOther) + "</article>",
		"no headlines":        "<section><h2>a</h2>" + enArticle + "</section><section><h2>b</h2>" + enOther + "</section>",
		"other ranks":         "<div class=a><h1>a</h1>" + enArticle + "</div><div class=b><h1>b</h1>" + enOther + "</div>",
		"a banner":            part("article", "Sale") + "<article><h1>a</h1><p>" + enOther + "</p></article>",
	} {
		found, _ := mainContent("<!doctype html><body>" + page)
		require.Contains(t, inOneLine(text.Clean(found)), inOneLine(text.Clean(enOther)), name)
	}
}
