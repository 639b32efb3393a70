package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddressesAreLeftOut(t *testing.T) {
	for clean, want := range map[string]string{
		"a [quay](https://a.example/b?c=d&utm_source=e) opens":          "a [quay] opens",
		"see [here](/news/41 \"the (old) quay\"), he said":              "see [here], he said",
		"[a](b.html)[c](#d)[](e/f)":                                     "[a][c][]",
		"[the quay](\nhttps://a.example/a-\nb) opens":                   "[the quay] opens",
		"a ![old quay](https://a.example/1.jpg) b":                      "a  b",
		"[![quay](data:image/png;base64,ab+/cd==)](/x/) b":              "[] b",
		"data:image/png;base64,ab+/cd== b":                              " b",
		"the [quay][12] opens [again][].\n[12]: https://a.example\nend": "the [quay] opens [again].\n\nend",
		"the [quay]\n[12]: /news/41\n[quay]: b.html\nend":               "the [quay]\n\n\nend",
		"[12]: see there\n[a]: b":                                       "[12]: see there\n[a]: b",
		"at https://a.example/b(c)?d=e, or www.b.example/f.":            "at , or .",
		"点击https://a.example/b，查看":                                      "点击，查看",
		// none of these is an address
		"results [home](3) and [away](two goals)": "results [home](3) and [away](two goals)",
		"new data: up 3 %, see [1]":               "new data: up 3 %, see [1]",
		"a [b] (c.d) e][f":                        "a [b] (c.d) e][f",
	} {
		require.Equal(t, want, NewFinder(HTMLText, nil).withoutAddresses(clean), clean)
	}
	for _, part := range []string{"](", "[]:x ", "[]:/"} {
		hostile := "x" + strings.Repeat(part, 1<<20)
		require.Equal(t, hostile, string(appendWithoutAddresses(nil, hostile)))
	}
}

func TestWrappedParagraphsAreJoined(t *testing.T) {
	wrap := func(text string, width int) string {
		var b strings.Builder
		column := 0
		for _, word := range strings.Fields(text) {
			if column > 0 && column+1+len(word) > width {
				b.WriteByte('\n')
				column = 0
			} else if column > 0 {
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += len(word)
		}
		return b.String()
	}
	unwrapped := func(text string) string { return NewFinder(HTMLText, nil).unwrapped(text) }
	one := strings.ToLower(strings.ReplaceAll(enArticle, "\n", " "))
	two := strings.ToLower(strings.ReplaceAll(enOther, "\n", " "))
	for _, width := range []int{60, 72, 80} {
		text := "a headline\n" + wrap(one, width) + "\n" + wrap(two, width)
		long := "\nto end these mails write to " + strings.Repeat("a", 150) + "\n"
		for _, line := range strings.Split(unwrapped(text+long), "\n") {
			require.True(t, len(line) > 120 || len(line) < width*17/20, line)
		}
	}
	prose := strings.ReplaceAll(one, ". ", ".\n")
	require.Equal(t, prose, unwrapped(prose), "a line for each sentence")
}
