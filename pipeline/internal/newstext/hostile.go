package newstext

import (
	"math/rand/v2"
	"strings"
)

// Hostile returns texts of about n bytes by their kind, whose fingerprinting takes as much time and memory as possible.
// Random parts are the same in every call.
func Hostile(n int) map[string]string {
	random := rand.New(rand.NewPCG(1, 2))
	fill := func(alphabet string, longestWord int) string {
		letters := []rune(alphabet)
		var b strings.Builder
		for b.Len() < n {
			for letter := random.IntN(longestWord); letter >= 0 && b.Len() < n; letter-- {
				b.WriteRune(letters[random.IntN(len(letters))])
			}
			b.WriteByte(' ')
		}
		return b.String()
	}
	repeat := func(s string) string { return strings.Repeat(s, n/len(s)) }
	return map[string]string{
		"one word":        repeat("harvest "),
		"one token":       repeat("x"),
		"one Han":         repeat("中"),
		"Han":             fill("的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后", n),
		"words":           fill("abcdefghijklmnopqrstuvwxyz", 8),
		"Cyrillic":        fill("абвгдежзийклмнопрстуфхцчшщъыьэюя", 8),
		"digits":          fill("0123456789", n),
		"numbers":         fill("0123456789.,%-", 5),
		"marks":           "e" + repeat("\u0301\u0323"),
		"compatibility":   repeat("\u2103\ufdfa\u33d0"),
		"punctuation":     repeat("!?,;. "),
		"full stops":      repeat(".") + "x",
		"teasers":         repeat("Elsewhere on this site we report, and more.\n"),
		"tags":            repeat("<b><i></i></b>"),
		"tags and text":   repeat("<b>x</b> y<br>"),
		"open tags":       repeat("<div "),
		"attributes":      "<div " + repeat(`a="b" `) + ">x</div>",
		"open comments":   repeat("<!--"),
		"open scripts":    repeat("<script>"),
		"entities":        repeat("&amp;amp;"),
		"entity prefixes": "&" + repeat("a"),
		"brackets":        repeat("[{"),
		"invalid UTF-8":   repeat("\xff\xc3\xe4\xb8"),
		"Latin, no space": fill("abcdefghijklmnopqrstuvwxyz", n),
		"Han numerals":    fill("一二三四五六七八九十百千万亿零", n),
		"nested tags":     repeat("<div><p>") + "x",
		"end tags":        repeat("</p></"),
		"look-alikes":     repeat("аa"), // one Cyrillic, one Latin
		"leet":            repeat("a3e"),
		"spaced Han":      repeat("中 "),
		"symbols":         repeat("中~^·"),
		"short lines":     repeat("line\n"),
	}
}
