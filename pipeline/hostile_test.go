package pipeline

import (
	"math/rand/v2"
	"strings"
)

// hostileTexts returns texts of about n bytes, made to cost as much as possible.
func hostileTexts(n int) map[string]string {
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
	}
}

// hostileValues returns JSON values of about n bytes, made to cost decoding as much as possible.
func hostileValues(n int) map[string][]byte {
	repeat := func(s string) string { return strings.Repeat(s, n/len(s)) }
	object := func(fields string) []byte { return []byte(`{` + fields + `"text":"x"}`) }
	return map[string][]byte{
		"JSON: fields":         object(repeat(`"k":0,`)),
		"JSON: duplicate keys": object(repeat(`"text":"x","id":1,`)),
		"JSON: escapes":        object(`"a":"` + repeat(`\u0041\n`) + `",`),
		"JSON: text escaped":   []byte(`{"text":"` + repeat(`\u4e2d`) + `"}`),
		"JSON: surrogates":     []byte(`{"text":"` + repeat(`\ud800`) + `"}`),
		"JSON: backslashes":    object(`"a":"` + repeat(`\\`) + `",`),
		"JSON: open objects":   []byte(repeat(`{"text":`)),
		"JSON: deep, not over": object(`"a":` + repeat(strings.Repeat("[", 500)+strings.Repeat("]", 500)+`,"b":`) + `0,`),
		"JSON: open string":    []byte(`{"text":"` + repeat("a")),
		"JSON: spaces":         object(repeat(" ")),
		"JSON: number":         object(`"id":` + repeat("1") + `,`),
		"ejson: wrappers":      object(repeat(`"_id":{"$oid":"5"},"$oid":{"$numberLong":"1"},`)),
		"ejson: long id":       object(`"_id":{"$oid":"` + repeat("5") + `"},`),
		"ejson: many keys":     object(`"_id":{` + repeat(`"a":1,`) + `"$uuid":"x"},`),
	}
}

func decodeAndFingerprint(r *Recipe, value []byte) {
	cfg := DefaultDecodeConfig()
	if doc, reject := cfg.Decode(&Record{Value: value}); reject == nil {
		r.Fingerprint(doc.Text)
	}
}

func asJSON(text string) []byte {
	return []byte(`{"text":"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`).Replace(text) + `"}`)
}
