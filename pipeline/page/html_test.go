package page

import (
	"strings"
	"sync"
	"testing"

	"echosieve/pipeline/article"
	"echosieve/pipeline/internal/newstext"
	"echosieve/pipeline/text"

	"github.com/stretchr/testify/require"
)

func TestTextsThatAreNoPage(t *testing.T) {
	for page, want := range map[string]bool{
		"<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\"><p>x": true, " \n<HTML lang=zh>": true, "<html": true,
		"": false, "<p>" + enArticle + "</p>": false, "An article about <html>": false, "<!doctype": false,
	} {
		require.Equal(t, want, isPage(page), page)
	}
}

// Pages in which no article is found, or whose article would take too long to find, are treated as text.
func TestPagesAsText(t *testing.T) {
	for name, body := range map[string]string{
		"empty":         "",
		"short":         "<nav>Home Sports</nav><p>Two words of news.</p>",
		"long":          "<p>" + strings.Repeat(enArticle, maxPageBytes/len(enArticle)+1),
		"many elements": strings.Repeat("<b>a</b><p>word</p>", maxPageElements),
		"deep":          strings.Repeat("<div>", 1000) + enArticle,
		"work":          strings.Repeat("<div>", 400) + strings.Repeat("<p>"+enArticle+"</p>", 100),
	} {
		page := "<!doctype html><body>" + body
		if mainContent(page) != "" {
			t.Errorf("%s: an article was found", name)
		}
		asPage, leftOut := NewFinder(HTMLArticle, nil).Find(page, text.Clean(page), article.Origin{})
		asText, furniture := NewFinder(HTMLText, nil).Find(page, text.Clean(page), article.Origin{})
		require.Equal(t, asText, asPage, name)
		require.Equal(t, furniture, leftOut, name)
	}
}

// The library must find the same article in a page each time: a redelivered record gets the same fingerprint.
func TestArticleOfPageIsAlwaysTheSame(t *testing.T) {
	var pages, found []string
	for site := range 20 {
		pages = append(pages, newstext.Page([]string{zhArticle, enArticle, zhOther, enOther}[site%4], site))
		found = append(found, mainContent(pages[site]))
		require.NotEmpty(t, found[site])
	}
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for i, page := range pages {
				if mainContent(page) != found[i] {
					t.Errorf("page %d: another article was found", i)
				}
			}
		})
	}
	workers.Wait()
}
