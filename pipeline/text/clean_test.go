package text

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

func TestClean(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":              {"", ""},
		"plain":                {"abc 中文。", "abc 中文。"},
		"case":                 {"Reuters ÄÖ Ωμέγα", "reuters äö ωμέγα"},
		"full width":           {"ＧＤＰ　增长３．５％，", "gdp 增长3.5%,"},
		"half width":           {"ｶﾞ", "ガ"},
		"compatibility":        {"5℃ ﬁne ① …", "5°c fine 1 ..."},
		"ellipsis after space": {" …a …", "...a ..."},
		"composition":          {"e\u0301 e\u200b\u0301", "é é"},
		"traditional":          {"臺灣總統發表講話", "台湾总统发表讲话"},
		"traditional, rare":    {"\U0002005e", "\U0002003e"},
		"compatible ideograph": {"\uf907", "龟"}, // U+F907 is U+9F9C in form NFKC, which is Traditional
		"invisible":            {"a\u200bb\ufeffc\u00add\u2060e\ufe0ff\u202eg", "abcdefg"},
		"invalid":              {"a\xffb\xc3", "a\ufffdb\ufffd"},
		"nul and control":      {"a\x00b\x01c\x7fd\u0080e", "abcde"},
		"white space":          {" \t a \t b\r\n\r\n c\u00a0\u3000d \n", "a b\nc d"},
		"escapes": {`\u4e2d\u6587\u003Cp\u003e\ud83d\ude00 \ud83d\ud83d\ude00 \u00e9`,
			"中文\n😀 \ufffd😀 é"},
		"bytes of Python": {`b'\xe4\xb8\xad \xc3\xbc'`, "b'中 ü'"},
		"no escapes":      {`\xampp \x4 \u12 \users \u+123 \`, `\xampp \x4 \u12 \users \u+123 \`},
		"line ends":       {"a\u2028b\u0085c\vd", "a\nb\nc\nd"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Clean(c.text)) })
	}
}

func TestMarkup(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"blocks":     {"<p>one</p><p>two<br>three</p>", "one\ntwo\nthree"},
		"inline":     {"H<sub>2</sub>O <b>b</b>old", "h2o bold"},
		"attributes": {`<a href="x>y" class=z>link</a> text`, "link text"},
		"upper case": {"<P>a</P><DIV>b</DIV>", "a\nb"},
		"script and style": {
			"a<script>if (1<2) x();</script>b<style>p{}</style>c<noscript><img src=x></noscript>", "abc"},
		"iframe":                {"a<iframe src=x><p>no</p></iframe>b", "ab"},
		"comments":              {"a<!-- <p>b</p> -->c<!doctype html>d<?php x ?>e", "acde"},
		"entities":              {"AT&amp;T &ldquo;q&rdquo; 5&nbsp;%&#8203; &#x4e2d;", "at&t “q” 5 % 中"},
		"no entities":           {"R&D, a & b &unknown; &", "r&d, a & b &unknown; &"},
		"escaped":               {"&lt;p&gt;a&lt;/p&gt;&lt;p&gt;b&amp;nbsp;c&lt;/p&gt;", "a\nb c"},
		"escaped twice":         {"&amp;lt;p&amp;gt;a&amp;lt;/p&amp;gt;", "a"},
		"tickers":               {"shares of <EED> and <Open> rose", "shares of <eed> and <open> rose"},
		"unknown with entity":   {"<EED &lt;>&lt;p&gt;a", "<eed &lt;>\na"},
		"elements of one's own": {"a<amp-ad width=3></amp-ad>b<my-menu>c</my-menu>d", "a\nb\nc\nd"},
		"namespaces":            {"a<o:p></o:p>b <w:t xml:space='x'>c</w:t><body.content>d</body.content>", "ab cd"},
		"pictures":              {`a<svg><path d="M5 1l2"/><style>p{}</style><text>b</text></svg>c<svg>d`, "acd"},
		"formulas":              {"<math><mi>x</mi><mo>=</mo><mn>1</mn></math>", "x=1"},
		"less than":             {"3 < 4 and 5 > 2, i <3 u", "3 < 4 and 5 > 2, i <3 u"},
		"tag never closed":      {"before <a href=\"x after <p>text</p>", "before a href=\"x after\ntext"},
		"comment from a script": {"<!--a()</script><p>the ferry sails at noon</p>-->",
			"a()\nthe ferry sails at noon\n-->"},
		"comment never closed":    {"before <!-- after <p>text</p>", "before after\ntext"},
		"script never closed":     {"before <script> after <p>text</p>", "before after\ntext"},
		"end tags alone":          {"a</p>b</script>c</ d>", "a\nbc</ d>"},
		"textarea is text":        {"<textarea>a &amp; b</textarea>", "a & b"},
		"lone bracket at the end": {"a <", "a <"},
		"half a tag at the end":   {"a <p", "a p"},
		"feed":                    {"<![CDATA[a &amp; b]]><b>c</b><![CDATA[<p>d</p>]]> <![CDATA[e", "a & bc\nd\ne"},
		"word processor":          {"<table><tr><td>1</td><td>2</td></tr></table>", "1\n2"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, Clean(c.text)) })
	}
}

// misread returns a text as a browser shows it that takes its UTF-8 for another encoding.
func misread(text string, as *charmap.Charmap) string {
	var b strings.Builder
	for _, octet := range []byte(text) {
		r := as.DecodeByte(octet)
		if r == utf8.RuneError {
			r = rune(octet)
		}
		b.WriteRune(r)
	}
	return b.String()
}

func TestMojibakeIsRead(t *testing.T) {
	for name, text := range map[string]string{
		"accents": "Übung macht den Meister, außer im Café", "Chinese": "新华社北京7月24日电，国务院",
		"Arabic": "قال الوزير", "emoji": "ok 😀",
		"punctuation": "“It’s late” – she said", "one letter": "the Café of Lima", "replaced": "a\ufffdb",
		"Hebrew": "אמר השר", "Vietnamese": "Thủ tướng Chính phủ",
		"Thai": "นายกรัฐมนตรี", "Russian": "Правительство",
	} {
		t.Run(name, func(t *testing.T) {
			for _, as := range []*charmap.Charmap{charmap.Windows1252, charmap.ISO8859_1} {
				once := misread(text, as)
				require.NotEqual(t, text, once)
				require.Equal(t, Clean(text), Clean(once))
				require.Equal(t, Clean(text), Clean(misread(once, as)), "misread twice")
			}
			require.Equal(t, text, undoMojibake(text))
		})
	}
	require.Equal(t, "übung – 5 €", Clean("Ã&#156;bung &ndash; 5 â‚¬"), "with entities of the page")
	require.Equal(t, "“it’s late\ufffd", Clean("â€œItâ€™s lateâ€\ufffd"), "with a byte that was lost")
	for _, text := range []string{"“数据要素×”行动", "« Il a été là »", "ÉTÉ « À »",
		"Es macht Spaß“, säuselt er", "Ã", "a Â", "×©, ä\u00adó"} {
		require.Equal(t, text, undoMojibake(text))
	}
}

func normalise(clean string) string { return string(AppendNormalised(nil, clean)) }

func TestNormalise(t *testing.T) {
	for name, c := range map[string]struct{ clean, want string }{
		"nothing":           {"", ""},
		"only marks":        {"... — !", ""},
		"letters":           {"a, b。中 文", "ab中文"},
		"number":            {"up 3.5 percent", "up3.5percent"},
		"sign and unit":     {"from -5 to 5%.", "from-5to5%"},
		"digits apart":      {"1 2\n3", "1 2 3"},
		"digits, letter":    {"1 a 2 中", "1a2中"},
		"marks between":     {"a.b 1 . 2", "ab12"},
		"combining marks":   {"का", "का"},
		"replacement":       {"a\ufffdb", "ab"},
		"hexagram":          {"a䷀b", "ab"},
		"not only ASCII":    {"٣.٥", "٣.٥"},
		"letter-like digit": {"x² ", "x²"},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, normalise(c.clean)) })
	}
}

// The shortcuts for frequent characters give the classes that Unicode's tables give.
func TestClassesAreUnicodes(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		want := classPunctuation
		switch {
		case r == utf8.RuneError:
		case unicode.IsDigit(r):
			want = classDigit
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
			want = classWord
		case unicode.IsSpace(r):
			want = classSpace
		}
		if r < utf8.RuneSelf && r != ' ' && r != '\n' && (want == classSpace || r >= 'A' && r <= 'Z') {
			continue // clean texts have none
		}
		if got := classOf(r); got != want {
			t.Fatalf("%U: class %d, by Unicode %d", r, got, want)
		}
		if s := string(r); utf8.ValidRune(r) && (isWord(s) != (want == classWord || want == classDigit) ||
			!isSingle(s) || isSingle(s+"a")) {
			t.Fatalf("%U: word %t, single %t", r, isWord(s), isSingle(s))
		}
	}
}

func checkClean(t *testing.T, text string) {
	appended, costly := AppendClean(nil, text)
	clean := string(appended)
	if !utf8.ValidString(clean) || strings.ContainsAny(clean, "\x00\r\tABCXYZ\u3000\u200b") ||
		strings.Contains(clean, "  ") || strings.TrimSpace(clean) != clean {
		t.Fatalf("%q is cleaned to %q", text, clean)
	}
	again := undoMojibake(stripShortcodes(Readable(stripWiki(unquote(unescape(clean))))))
	if !costly && again == clean && Clean(clean) != clean {
		t.Fatalf("%q is cleaned to %q, and again to %q", text, clean, Clean(clean))
	}
}

func FuzzClean(f *testing.F) {
	for _, text := range []string{
		"", zhArticle, enArticle, "<p>a&lt;b&gt;<EED></p><!--", "&amp;amp;lt;p&gt;", "\xff\x00e\u0301…",
		"ＧＤＰ３．５％", "臺灣", "<script>x", "Ã¼ä¸\u00ad", "İﬁ①℃\uf907\U0002f800", "c++ 9.. a1 #", " %00",
	} {
		f.Add(text)
	}
	f.Fuzz(checkClean)
}

// TestFoldsInAnyOrder requires that cleaning twice changes nothing, for texts in which one fold makes letters
// for another: digits, symbols and accents between letters of up to four alphabets.
func TestFoldsInAnyOrder(t *testing.T) {
	letters := []rune("aabcdeghijklmnopqrstuvwxyz" +
		"аеорсухвнкмтіѕԁӏґяжшαοεικνρτυχγζωψաоօսհգ0134579!*~ \u0301国\n")
	r := rand.New(rand.NewPCG(1, 9))
	for range 100_000 {
		first, width := r.IntN(len(letters)), 3+r.IntN(len(letters)-3)
		text := make([]rune, 1+r.IntN(40))
		for i := range text {
			text[i] = letters[(first+r.IntN(width))%len(letters)]
		}
		checkClean(t, string(text))
	}
}

// What editors, mails and addresses put around and between characters is no text.
func TestMarkupOfEditorsIsLeftOut(t *testing.T) {
	for raw, want := range map[string]string{
		`[vc_row css=".a{b}"][vc_column_text el_class='c']The quay[/vc_column_text][/vc_row]`: "the quay",
		`[et_pb_text custom_padding="|||"]The quay[/et_pb_text] opens`:                        "the quay\nopens",
		`[gallery] The [b]old[/b] quay [url=https://a.example]opens[/url]`:                    "the old quay opens",
		"he said [sic] that the quay [12] opens [see below]": "he said [sic] that the quay " +
			"[12] opens [see below]",
		"{{x|{{y}}}}The ''[[w:Q|quay]]'' [[opens]].<ref>{{b}}</ref>[[C:Quays]]": "the quay opens.",
		"a {{name}} and a [[list]], 1 ''quoted''":                               "a and a list, 1 quoted",
		"a [quay](b) opens [a=b]":                                               "a [quay](b) opens [a=b]",
		"<ruby>港<rp>(</rp><rt>みなと</rt><rp>)</rp></ruby>が":                       "港が",
		"<ruby>港<rt>みなと</ruby><script>a</script>が":                              "港みなとが",
		"Die gr=C3=B6=C3=9Fte Br=C3=BC=\ncke f=C3=BCr alle":                     "die größte brücke für alle",
		"%E7%A0%81%E5%A4%B4%E9%87%8D%E6%96%B0":                                  "码头重新",
		"a=C3=B6 is one letter":                                                 "a=c3=b6 is one letter",
		"see https://a.example/%E7%A0%81%E5%A4%B4 for the quay": "see " +
			"https://a.example/%e7%a0%81%e5%a4%b4 for the quay",
	} {
		require.Equal(t, want, Clean(raw), raw)
	}
}

func TestEverywhere(t *testing.T) {
	fold := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r < firstEverywhere || r > lastEverywhere {
				return r
			}
			if r = everywhere[r-firstEverywhere]; r == 0 {
				return -1
			}
			return r
		}, s)
	}
	for text, want := range map[string]string{
		"أحمد إلى آخر ٱلكتاب":      "احمد الي اخر الكتاب",
		"مُحَمَّدٌ رسولٌ":          "محمد رسول",
		"مدرسة على":                "مدرسه علي",
		"کتاب فارسی":               "كتاب فارسي",
		"مؤتمر رئيس":               "موتمر رييس",
		"العـــربية":               "العربيه",
		"نیۀ خانهٔ":                "نيه خانه",
		"שָׁלוֹם":                  "שלום",
		"דו־קיום, צה״ל":            "דו־קיום, צה״ל",
		"۱۲ ٪، چرا؟ گفت پ ژ ڈ ٹ ڑ": "۱۲ ٪، چرا؟ گفت پ ژ ڈ ٹ ڑ",
	} {
		require.Equal(t, want, fold(text))
		require.Equal(t, want, fold(norm.NFD.String(text)), "however the text is composed")
		require.Equal(t, want, fold(want), "folding again changes nothing")
	}
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"żółty łoś, đặng ấy, ılık çiğ":    "zolty los, dang ay, ilik cig",
		"straße, æon, œuvre, þing, ẹ́kọ́": "strasse, aeon, oeuvre, thing, eko",
		"η νέα γέφυρα, ὦ ἄνδρεσ":          "η νεα γεφυρα, ω ανδρεσ",
		"ещё ёлка, мой йод, їжак, ґанок":  "еще елка, мой йод, їжак, ганок",
		"за\u0301мок": "замок",
		"सड़क, ख़बर, हँसना": "सडक, खबर, हंसना",
		"বাড়ি":     "বাডি",
		"港の新しい橋が":   "港の新しい橋が",
		"สะพานใหม่": "สะพานใหม่",
		"":          "",
	} {
		text = norm.NFC.String(text)
		require.Equal(t, norm.NFC.String(want), string(AppendPlain(nil, text)))
		plain, _ := Plain(nil, text)
		require.Equal(t, norm.NFC.String(want), plain)
		again, _ := Plain(nil, plain)
		require.Equal(t, plain, again, "folding again changes nothing")
	}
}

// Only a text with two frequent words of such a language, and without a letter beyond ASCII, is written in seven bits.
func TestSevenBits(t *testing.T) {
	for text, want := range map[string]string{
		"die groesste bruecke fuer neue quader wuerde teuer": "die grosste brucke fur neue quader wurde teuer",
		"paa skibet, naar de goer":                           "pa skibet, nar de gor",
		"the value does wuerde not rise":                     "the value does wuerde not rise",
		"fuer die bruecke wuerde in córdoba":                 "fuer die bruecke wuerde in cordoba",
	} {
		plain, _ := Plain(nil, text)
		require.Equal(t, want, plain)
	}
}

// The text of most articles is not copied.
func TestPlainKeepsPlainText(t *testing.T) {
	text := "市气象台发布“橙色”预警，最大雨强80.5毫米。 " +
		"The council – “yes” – approved $4,000 in 2024."
	buf := make([]byte, 0, 2*len(text))
	copies := func(text string) float64 { return testing.AllocsPerRun(10, func() { Plain(buf, text) }) }
	require.Zero(t, copies(text))
	require.NotZero(t, copies(text+"é"))
}

// Blanks between Han and kana, as scans leave them, separate nothing. Those beside other characters stay.
func TestBlanksBetweenHan(t *testing.T) {
	for in, want := range map[string]string{
		"国 家  统 计　局 发布": "国家统计局发布", "カ タ か な": "カタかな", "iPhone 手机 5 部": "iphone 手机 5 部",
		"第一\n第二 段": "第一\n第二段", " 国 家 ": "国家", "한국 사람 오늘": "한국 사람 오늘",
	} {
		require.Equal(t, want, Clean(in), in)
		require.Equal(t, want, Clean(want), "cleaning again changes nothing")
	}
}
