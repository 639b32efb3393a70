package pipeline_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
)

// hostileTexts returns texts of about n bytes by their kind, whose fingerprinting takes as much time and memory as
// possible. Random parts are the same in every call.
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
	half := func(s string) string { return strings.Repeat(s, n/2/len(s)) }
	texts := map[string]string{
		"one word":  repeat("harvest "),
		"one token": repeat("x"),
		"one Han":   repeat("中"),
		"Han": fill("的一是不了人我在有他这中大来上国个到说们为子和你地"+
			"出道也时年得就那要下以生会自着去之过家学对可她里后", n),
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
		"ligatures":       repeat("\ufdfa"), // NFKC makes 18 characters of one
		"short ligatures": repeat("\ufdfb"), // and 8 of this one, with spaces
		"squared words":   repeat("\u3300"),
		"notes":           repeat("\U0001d160"),
		"vowels":          repeat("\u0eb3"), // the dearest known: NFKC makes it just twice as long
		"fractions":       repeat("\u00bd\u2153"),
		"kana": fill("あいうえおかきくけこさしすせそたちつてとなにぬねの"+
			"はひふへほまみむめもやゆよらりるれろわをん", n),
		"data addresses":   repeat("data:"),
		"addresses":        half("a") + half("://a "),
		"www":              half("a") + half("www. "),
		"links":            repeat("[a]("),
		"link targets":     repeat("]("),
		"open brackets":    repeat("["),
		"pictures":         repeat("!["),
		"labels":           repeat("[a]: "),
		"long labels":      "[" + half("a") + half("]:"),
		"base64":           repeat(";base64,"),
		"begun tags":       repeat("<a"),
		"begun entities":   repeat("&#x"),
		"CDATA":            repeat("<![CDATA["),
		"instructions":     repeat("<?"),
		"shortcodes":       repeat(`[vc_row a="b"]x`),
		"open shortcodes":  repeat(`[a b="`),
		"ended codes":      repeat("[a][/b]"),
		"quoted bytes":     repeat("=C3=A9=\n"),
		"percent codes":    repeat("%E4%B8%"),
		"templates":        "[[a]]" + repeat("{{a|"),
		"wiki links":       "{{a}}" + repeat("[[a|"),
		"wiki brackets":    "{{a}}" + repeat("["),
		"references":       repeat("<ref>"),
		"readings":         repeat("<ruby>中<rt>x"),
		"header lines":     "WARC/1.0\r\nA: b\r\n" + repeat(" b\r\n"),
		"JSON blocks":      `{"blocks":[` + repeat(`{"text":"a"},`),
		"deep JSON blocks": `{"blocks":` + repeat("["),
		"JSON in JSON":     repeat(`{"text":"`),
		"escapes of \"":    repeat(`\"`),
	}
	maps.Copy(texts, hostileDocuments(n))
	return texts
}

// hostileDocuments returns bodies of HTML documents, whose parsing takes as long as possible.
func hostileDocuments(n int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, n/len(s)) }
	half := func(s string) string { return strings.Repeat(s, n/2/len(s)) }
	different := func(format string, times int) string {
		var b strings.Builder
		for i := range times {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	texts := map[string]string{
		"title and headings":  "<title>" + half("a b ") + "</title>" + half("<h2>a</h2>"),
		"og:title, headings":  `<meta property="og:title" content="` + half("a b ") + `">` + half("<h2>a</h2>"),
		"titles":              repeat("<title>a</title>"),
		"fractions, headings": repeat("<h2>½ ½ ½ ½ ½ ½ ½ ½ "),
		"names that begin so": strings.Repeat("<"+strings.Repeat("a", 32)+"b></"+strings.Repeat("a", 32)+"c>", 450) +
			repeat("</z>"),
		"html again":           "<html " + different("a%d ", n/16) + ">" + half("<html a>"),
		"body again":           "<body " + different("a%d ", n/16) + ">" + half("<body a>"),
		"attributes, children": "<div " + different("a%d ", n/16) + ">" + half("<p>some words, and some more.</p>"),
		"a reading of ids":     repeat(`<p id="a b c" class="d e f">x`),
		"options":              "<select>" + repeat("<option>x"),
		"selects":              repeat("<select>x"),
		"foster parents":       "<table>" + repeat("x<tr>"),
		"cells":                "<table><tr>" + repeat("<td>x"),
		"ignored tags":         repeat("x<tr>"),
		"ignored end tags":     repeat("x</z>"),
		"end of nothing":       strings.Repeat("<span>", 450) + repeat("</z>"),
		"pictures in drawings": "<svg>" + strings.Repeat("<g>", 450) + repeat("</z>"),
		"formulas":             "<math>" + strings.Repeat("<mi>", 450) + repeat("</z>"),
		"drawings":             repeat("<svg><g></g></svg>"),
		"metas":                repeat(`<meta name="title" content="a">`),
		"articleBody":          `<script type="application/ld+json">{"articleBody":"` + repeat(`a\n`) + `"}</script>`,
		"articleBodies":        repeat(`<script type="application/ld+json">{"articleBody":"x"}</script>`),
		"begun articleBody":    `"articleBody"` + repeat("application/ld+json"),
		"deep articleBody":     `<script type="application/ld+json">{"articleBody":"x","a":` + repeat(`[{"a":`) + `</script>`,
		"line breaks":          repeat("x<br>"),
		"two line breaks":      repeat("x<br><br>"),
		"frames":               repeat("<frameset><frame>"),
		"inner documents":      repeat("<template><p>x"),
		"buttons":              repeat("<button>x"),
		"forms":                repeat("<form><p>x</form>"),
		"images":               repeat("<img src=a.jpg>"),
		"noscript":             repeat("<noscript><img src=a.jpg></noscript>"),
		"paragraphs":           repeat("<p>a, b"),
		"paragraphs of text":   repeat("<p>a sentence that is long enough, and counts.</p>"),
		"boxes of text":        repeat("<div>a sentence that is long enough, and counts.</div>"),
		"boxes of boxes":       repeat("<div><div><p>a sentence, long enough to count.</p></div></div>"),
		"list items":           "<ul>" + repeat("<li>a"),
		"definitions":          repeat("<dl><dt>a<dd>b</dl>"),
		"links with text":      repeat("<a href=b>some text</a> "),
		"links in links":       repeat("<a href=b>x"),
		"bylines":              repeat("<p class=byline>"),
		"bylines, closed":      repeat("<p class=byline></p>"),
		"tables":               repeat("<table><tr><td>x</td></tr></table>"),
		"custom elements":      repeat("<x-a>x</x-a>"),
		"notices":              repeat(`<div class="a cookie modal">x</div>`),
		"spaces in boxes":      "<div>" + repeat("<span> </span>"),
		"phrases in a box":     "<div>" + repeat("x<span>y</span>"),
		"closing tags":         repeat("</p>"),
		"closing tags, text":   repeat("</p>x"),
		"broken lines, ended":  repeat("</br>x"),
		"groups in lists":      repeat(strings.Repeat("<ul><li>", 240) + "a sentence." + strings.Repeat("</ul>", 240)),
	}
	for _, tag := range []string{"a", "b", "code", "font", "nobr"} {
		texts["open "+tag] = different("<"+tag+" a%d>", 400) + repeat("<p>x")
		texts["open "+tag+", boxes"] = different("<"+tag+" a%d>", 400) + repeat("<div>x</div>")
		texts["open "+tag+", cells"] = "<table>" + different("<td><"+tag+" a%d>", 100) + repeat("<p>x")
	}
	// Below the depth that html.Parse refuses.
	for _, tag := range []string{"p class=byline", "div class=byline", "ul", "div", "ul><li", "blockquote", "span", "a",
		"table><tr><td", "section", "x-a", "object", "fieldset", "form", "del", "article class=modal", "div hidden"} {
		deep := strings.Repeat("<"+tag+">", 480/(1+strings.Count(tag, "<")))
		for name, leaf := range map[string]string{"text": "x ", "paragraphs": "<p>x",
			"sentences": "<p>a sentence, long enough.</p>",
			"end tags":  "</z>"} {
			texts["in "+tag+": "+name] = deep + repeat(leaf)
		}
		texts["groups of "+tag] = repeat(strings.Repeat("<"+tag+">", 30) + "a sentence, long enough to count." +
			strings.Repeat("</"+strings.Fields(tag)[0]+">", 30))
	}
	return texts
}
