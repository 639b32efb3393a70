// Package newstext holds texts for tests: invented articles, and the lines around
// the articles of two invented sites.
package newstext

import (
	_ "embed"
	"fmt"
	"strings"
)

// Two articles and two others, in Chinese and English.
var (
	//go:embed zh.txt
	Zh string
	//go:embed en.txt
	En string
	//go:embed zh_other.txt
	ZhOther string
	//go:embed en_other.txt
	EnOther string
)

// The lines above and below the articles of two sites.
var (
	//go:embed zh_menu.txt
	ZhMenu string
	//go:embed zh_footer.txt
	ZhFooter string
	//go:embed en_menu.txt
	EnMenu string
	//go:embed en_footer.txt
	EnFooter string
)

// Page returns a page of an invented newspaper, whose sentences around the article are as long as the article.
func Page(text string, site int) string {
	notices := []string{
		"We and our partners keep information on your device, and you can change your mind in the settings at any time.",
		"You have read three of five free articles this month, so please think about a subscription for one crown " +
			"a week.",
		"The column on the right is written by our readers, and the editors are not responsible for what it says " +
			"about anybody.",
	}
	var menu, side strings.Builder
	for i := range 12 {
		fmt.Fprintf(&menu, "<li><a href=/%d>Section %d</a></li>", i, i*site)
		fmt.Fprintf(&side, "<div class=card><a href=/s%d>Story %d of the valley</a><p>It was a quiet day for "+
			"number %d, and nobody expected what came next.</p></div>", i, i*site, i+31*site)
	}
	paragraphs := "<p>" + strings.ReplaceAll(text, "\n", "</p>\n<p>") + "</p>"
	return "<!DOCTYPE html>\n<html><head><title>x</title><style>p{}</style></head><body><div id=cookie-banner><p>" +
		notices[site%3] + "</p></div><nav><ul>" +
		menu.String() + "</ul></nav><div class=content><h1>Report</h1><div class=story>" + paragraphs +
		"</div></div><div class=sidebar>" +
		side.String() + "</div><footer><p>" + notices[(site+1)%3] + "</p></footer></body></html>"
}
