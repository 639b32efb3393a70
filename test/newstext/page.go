package newstext

import (
	"fmt"
	"strings"
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
