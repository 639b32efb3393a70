package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/text"
)

// bodyOf returns the article of a text, with single spaces for line ends.
func bodyOf(raw string) string {
	body, _ := NewFinder(HTMLText, 0).Find(raw, text.Clean(raw), article.Origin{}, nil)
	return inOneLine(body)
}

// inOneLine returns a text without line ends: Chinese goes on in the next line, other scripts after a space.
func inOneLine(text string) string {
	var b []byte
	for i, line := range strings.Fields(text) {
		if i > 0 {
			b = appendJoint(b, line)
		}
		b = append(b, line...)
	}
	return string(b)
}

func TestFurnitureIsLeftOut(t *testing.T) {
	require.Equal(t, inOneLine(text.Clean(zhArticle)), bodyOf(zhMenu+zhArticle+zhFooter))
	require.Equal(t, inOneLine(text.Clean(enArticle)), bodyOf(enMenu+enArticle+enFooter))
	require.Equal(t, inOneLine(text.Clean(enOther)), bodyOf("<ul><li>"+strings.ReplaceAll(enMenu, "\n", "</li><li>")+
		"</li></ul><p>"+enOther+"</p>"))
}

// Texts of short lines are articles as well and stay whole.
func TestShortLinesOfAnArticleStay(t *testing.T) {
	for name, lines := range map[string]string{
		"poem": "雨落在旧屋檐上\n有人打伞走过\n桥下的水涨了\n船还没有回来\n" +
			"母亲收起衣裳\n灯在窗里亮着\n谁把门轻轻关上\n像合上一本书\n" +
			"夜色漫过石阶\n漫过我的鞋尖\n没有一句话要说\n雨替我说了",
		"results": "Second round, final scores\nKelmore 3 Ashby 1\nDunwick 0 Oxley 0\nPorth 2 Hale 4\nStonebridge " +
			"1 Farrow 2\nLynn 5 Coldwell 0\n",
		"prices": "今日农产品批发价\n白菜 0.8元/斤\n土豆 1.2元/斤\n" +
			"西红柿 3.5元/斤\n猪肉 14.6元/斤\n鸡蛋 4.9元/斤\n",
		"brief": "Shr loss one ct vs profit two cts\nNet loss 14,000 vs profit 31,000\nRevs 1.2 mln vs 1.4 " +
			"mln\nYear\nShr profit four cts vs profit six\n",
		"wrapped": "The harbour board has agreed to extend the northern\nbreakwater by eighty metres, after a " +
			"winter in which\nstorms " +
			"twice tore boats from their moorings. Work will\nbegin in the spring, when the fishing fleet is at " +
			"sea,\nand should be " +
			"finished before the first autumn gales.\nThe board will pay a third of the cost, and the rest\nwill " +
			"come from the county and a fund for small ports\n",
		"wrapped, ragged": "镇上的老茶馆上周重新开门，掌柜换成了原来\n" +
			"那位掌柜的孙女。她把墙重新刷白，留下了\n祖父写的木牌，" +
			"又在后院搭起凉棚\n请几位说书人轮流登台说书唱曲\n" +
			"街坊们都来捧场，头一晚就坐满了六十张椅子\n" +
			"有人带来自家做的点心分给邻桌的孩子吃\n" +
			"说书人讲的是一段渡船的旧事\n台下笑声掌声响成一片到深夜\n",
		"couplets": "ten wide a\nten wide b\nten wide c\nten wide d\neighteen columns a\neighteen columns " +
			"b\neighteen columns c\neighteen columns d\n",
		"refrain": "snow on the roof\nwind in the door\nhey ho the night\nfire in the stove\nsoup in the pot\n",
		"report, table": enArticle +
			"\nKelmore 3 Ashby 1\nDunwick 0 Oxley 0\nPorth 2 Hale 4 after extra time\nLynn 5 Coldwell 0\nNext round\n",
		"dialogue": "“你去哪儿？”\n“回家。”\n“这么大的雨？”\n“嗯。”\n" +
			"他把伞递过来，没有再问。\n",
		"few lines": "City marathon\nSunday\nStart at the town hall\n",
		"report, announced list": enArticle + "\nThe council closes these streets for the works:\nMill Lane from the bridge on\n" +
			"Harbour Road\nThe lower market\nSt Mary's Hill to the school\n" + enOther + "\n",
		"report, list": zhArticle + "\n停运线路\n北环线\n东湖线\n",
	} {
		require.Equal(t, inOneLine(text.Clean(lines)), bodyOf(lines), name)
	}
}

// A line that is repeated between all paragraphs counts once, also where nothing else is left out.
func TestRepeatedLinesCountOnce(t *testing.T) {
	const note = "Read on in our app.\n"
	paragraphs := strings.Split(enArticle, "\n")
	require.Greater(t, len(paragraphs), 2)
	require.Equal(t, inOneLine(text.Clean(paragraphs[0]+"\n"+note+strings.Join(paragraphs[1:], "\n"))),
		bodyOf(strings.Join(append(paragraphs, ""), "\n"+note)))
	require.Equal(t, "a b. a b. c d. e f.", bodyOf("A b.\nA b.\nC d.\nE f.\n"), "twice is no more than a coincidence")
}

func TestAddressesAreLeftOut(t *testing.T) {
	for clean, want := range map[string]string{
		"a [quay](https://a.example/b?c=d&utm_source=e) opens":          "a [quay] opens",
		"see [here](/news/41 \"the (old) quay\"), he said":              "see [here], he said",
		"[a](b.html)[c](#d)[](e/f)":                                     "[a][c][]",
		"[the quay](\nhttps://a.example/a-\nb) opens":                   "[the quay] opens",
		"a ![old quay](https://a.example/1.jpg) b":                      "a  b",
		"[![quay](data:image/png;base64,ab+/cd==)](/x/) b":              "[] b",
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
		require.Equal(t, want, NewFinder(HTMLText, 0).withoutAddresses(clean), clean)
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
	unwrapped := func(text string) string { return NewFinder(HTMLText, 0).unwrapped(text) }
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

func TestHead(t *testing.T) {
	const prose = "the quay opens again on monday, and the ferry will sail at eight as before."
	for head, want := range map[string]bool{
		"":                               false,
		"old quay opens\n":               true,
		"by a. b.\n3 min read\n":         false, // a byline that ends as a sentence does
		"4 nov 2026 14:05\n3 min read\n": true,
		"a\nb\nc\n4 nov 2026\n":          true,
		"a\nb\nc\nd\n4 nov 2026\n":       false, // a list
	} {
		length := 0
		if want {
			length = len(head)
		}
		require.Equal(t, length, headOf(head+prose), head)
	}
	require.Zero(t, headOf("old quay\nno prose"))
}

func TestNoteOfWhatIsCutOff(t *testing.T) {
	for clean, want := range map[string]string{
		"the quay opens... [+2314 chars]":        "the quay opens...",
		"the quay [+2314 chars]\n":               "the quay",
		"the quay op... (12 more lines)":         "the quay op...",
		"码头重新开放……(剩余1240字)":                      "码头重新开放……(剩余1240字)",
		"码头重新开放......(剩余1240字)":                  "码头重新开放......",
		"the quay opens (in 2026)":               "the quay opens (in 2026)",
		"the quay opens... (more)":               "the quay opens... (more)",
		"... (" + strings.Repeat("2 ", 30) + ")": "... (" + strings.Repeat("2 ", 30) + ")",
		"(":                                      "(", ")": ")", "": "",
	} {
		require.Equal(t, want, withoutRest(clean), clean)
	}
}

func TestIsCode(t *testing.T) {
	for line, want := range map[string]bool{
		"var a = window.a || {};":                   true,
		"ga('send', 'pageview');":                   true,
		".menu > li.item a:hover,":                  true,
		`{"@type":"person","name":"a. b."}`:         true,
		"he said, the quay (see below) was closed;": false,
		"furthermore,":                              false,
		"the set {a, b} of two quays":               false,
		"码头{一}重新开放":                                 false,
		"":                                          false,
	} {
		require.Equal(t, want, isCode(line), line)
	}
}

// A line is measured eight bytes at a time, with the result of one character at a time.
func TestMeasure(t *testing.T) {
	for sign, width := range map[string]int{
		"": 0, "/": 1, "0": 1, "5": 1, "9": 1, ":": 1, "a": 1, "\u007f": 1, "é": 1, "߰": 1, "\u2fff": 1, "\u3000": 2,
		"中": 2, "鰹": 2, "\ud7ff": 2, "\ue000": 1, "\uffff": 1, "\U00020000": 1,
	} {
		for before := range 17 {
			line := textLine{}
			line.measure(strings.Repeat("x", before) + sign + strings.Repeat("-", 16-before))
			require.EqualValues(t, 16+width, line.width, "%q behind %d", sign, before)
			require.Equal(t, sign >= "0" && sign <= "9", line.digit, "%q behind %d", sign, before)
		}
	}
}
