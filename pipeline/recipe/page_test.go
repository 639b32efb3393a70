package recipe

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"echosieve/pipeline/article"

	"github.com/stretchr/testify/require"
)

// documentOf returns a page of an invented newspaper, whose sentences around the article are as long as the article.
func documentOf(text string, site int) string {
	notices := []string{
		"We and our partners keep information on your device, and you can change your mind in the settings at any time.",
		"You have read three of five free articles this month, so please think about a subscription for one crown a week.",
		"The column on the right is written by our readers, and the editors are not responsible for what it says about anybody.",
	}
	var menu, side strings.Builder
	for i := range 12 {
		fmt.Fprintf(&menu, "<li><a href=/%d>Section %d</a></li>", i, i*site)
		fmt.Fprintf(&side, "<div class=card><a href=/s%d>Story %d of the valley</a><p>It was a quiet day for number %d, and nobody expected what came next.</p></div>", i, i*site, i+31*site)
	}
	paragraphs := "<p>" + strings.ReplaceAll(text, "\n", "</p>\n<p>") + "</p>"
	return "<!DOCTYPE html>\n<html><head><title>x</title><style>p{}</style></head><body><div id=cookie-banner><p>" + notices[site%3] + "</p></div><nav><ul>" +
		menu.String() + "</ul></nav><div class=content><h1>Report</h1><div class=story>" + paragraphs + "</div></div><div class=sidebar>" +
		side.String() + "</div><footer><p>" + notices[(site+1)%3] + "</p></footer></body></html>"
}

func TestArticleOfPage(t *testing.T) {
	r := testRecipe(t)
	cfg := DefaultConfig()
	cfg.HTML = HTMLText
	asText, err := Load(cfg)
	require.NoError(t, err)
	require.NotEqual(t, r.ID(), asText.ID())
	for name, text := range map[string]string{"zh": zhArticle, "en": enArticle, "other": enOther} {
		plain, _ := r.Fingerprint(text, article.Origin{})
		one, _ := r.Fingerprint(documentOf(text, 1), article.Origin{})
		two, _ := r.Fingerprint("\ufeff\n"+strings.Replace(documentOf(text, 2), "<!DOCTYPE html>\n", "", 1), article.Origin{})
		require.Equal(t, plain.SimHash, one.SimHash, name)
		require.Equal(t, plain.SimHash, two.SimHash, name)
		require.Equal(t, plain.Signature, two.Signature, name)
		require.NotEqual(t, one.Digest, two.Digest, "an exact copy is a copy of the whole page")
		require.Greater(t, one.LeftOut(), 0.3, name)

		whole, _ := asText.Fingerprint(documentOf(text, 1), article.Origin{})
		require.NotEqual(t, plain.SimHash, whole.SimHash, name)
		require.Equal(t, one.CleanBytes, whole.CleanBytes)
	}
}

func TestTextsThatAreNoPage(t *testing.T) {
	for text, want := range map[string]bool{
		"<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\"><p>x": true, " \n<HTML lang=zh>": true, "<html": true,
		"": false, "<p>" + enArticle + "</p>": false, "An article about <html>": false, "<!doctype": false,
	} {
		require.Equal(t, want, isPage(text), text)
	}
}

// Pages in which no article is found, or whose article would take too long to find, are treated as text.
func TestPagesAsText(t *testing.T) {
	cfg := DefaultConfig()
	cfg.HTML = HTMLText
	asText, err := Load(cfg)
	require.NoError(t, err)
	r := testRecipe(t)
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
		a, _ := r.Fingerprint(page, article.Origin{})
		b, _ := asText.Fingerprint(page, article.Origin{})
		require.Equal(t, b, a, name)
	}
}

// The library must find the same article in a page each time: a redelivered record gets the same fingerprint.
func TestArticleOfPageIsAlwaysTheSame(t *testing.T) {
	var pages, found []string
	for site := range 20 {
		pages = append(pages, documentOf([]string{zhArticle, enArticle, zhOther, enOther}[site%4], site))
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
