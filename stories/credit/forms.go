package credit

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"echosieve/pipeline/article"
)

const (
	longestLine = 100 // bytes of a line that is a byline or a source, and of the words before an agency
	longestName = 48  // bytes of a name that the table does not have
)

// byline reads a line that names an agency alone, or behind an author: "By Laura Kim, Reuters".
func byline(line string) string {
	if len(line) > longestLine {
		return ""
	}
	return agency(trimmed(author.ReplaceAllString(line, "$1")))
}

var author = regexp.MustCompile(`^(?:(?i:by|von|por|par) (?:[^,|]*[,|])?|Theo )?([^,|]+?)` +
	`(?i: staff| staff writer| correspondent)?$`)

// dateline reads the agency in brackets at the beginning of a text: "BERLIN, March 3 (Reuters) -", "/PRNewswire/",
// "(서울=연합뉴스)", "【北京共同】"; without brackets "EFE.-".
func dateline(line string) string {
	if before, _, found := strings.Cut(line[:min(len(line), longestName)], ".-"); found && agency(before) != "" {
		return agency(before)
	}
	if !strings.ContainsAny(line[:min(len(line), longestLine)], "(/[（【［") {
		return ""
	}
	m := bracket.FindStringSubmatch(line[:min(len(line), longestLine+2*longestName)])
	if m == nil || !opens(m[1], m[2]+m[3], m[4]) {
		return ""
	}
	return bracketed(m[2] + m[3])
}

var bracket = regexp.MustCompile(`^((?:[^(（【［\[/]|\p{L}/\p{L})*)` +
	`(?:[(（【［\[]([^)）】］\]]+)[)）】］\]]|/([^/]+)/)` +
	`[ .]*([-–—:]?)`)

// bracketed reads what stands between brackets: an agency, perhaps with a place, a day or another agency.
func bracketed(inside string) string {
	if len(inside) > longestName || strings.ContainsAny(inside, ":：©") { // a picture's
		return ""
	}
	for part := range strings.FieldsFuncSeq(inside, func(r rune) bool { return strings.ContainsRune("=/,、，", r) }) {
		for _, form := range []string{"共同", "時事", "ロイター"} {
			if strings.HasSuffix(part, form) {
				part = form
			}
		}
		if name, found := lookUp(part); found {
			return name
		}
	}
	return ""
}

// opens says whether the words before an agency in brackets, and the dash behind it, are those of a dateline: short,
// with a day or a dash, and not the name that the brackets shorten, such as American Airlines (AA).
func opens(place, inside, dash string) bool {
	dated, initials := strings.ContainsAny(place, "0123456789"), ""
	for word := range strings.FieldsFuncSeq(place, func(r rune) bool { return !unicode.IsLetter(r) }) {
		letter, n := utf8.DecodeRuneInString(word)
		if initials += strings.ToLower(word[:n]); unicode.IsLower(letter) && len(word) > 3 && !dated {
			return false
		}
	}
	return place == "" || (dated || dash != "") && strings.HasSuffix(place, " ") &&
		utf8.RuneCountInString(initials) <= 10 && !strings.HasSuffix(initials, strings.ToLower(inside))
}

// chineseDateline reads "新华社北京11月28日电", "中新网讯" and, of papers and sites,
// "参考消息网11月3日报道".
// "据新华社电" opens an article of that agency; "据新华社报道" does not.
func chineseDateline(line string) string {
	for _, form := range chinese {
		before, after, found := strings.Cut(line, form)
		if !found {
			continue
		}
		m := wired.FindStringSubmatch(after)
		if m == nil {
			continue
		}
		before = strings.TrimSpace(before)
		last, _ := utf8.DecodeLastRuneInString(before)
		told := m[2] == "消息" || m[2] == "报道"
		switch {
		case last == '【', last == '[':
			return agency(form)
		case strings.ContainsRune("據引述援转自对和与、《“", last):
		case told && (last == '据' || strings.HasSuffix(form, "社")):
		case last == '据' && before != "据", m[1] == "" && before != "" && before != "据": // within a sentence
		default:
			return agency(form)
		}
	}
	if m := paper.FindStringSubmatch(line); m != nil && !prose.MatchString(m[1]) {
		return named(m[1])
	}
	return ""
}

// paper is the Chinese dateline of a paper or a site that the table lacks: "港口晚报讯（记者李明）".
var paper = regexp.MustCompile(`^据?(\p{Han}{1,6}(?:报|網|网|新闻|在线))(?:\p{Han}{0,8}\d{1,2}月\d{1,2}日)?` +
	`(?:[讯訊电電](?:[\s（(，,：:]|$)|(?:消息|报道)[（(])`)

// wired is what follows the name in a Chinese dateline: a place, a day, and how the report came.
var wired = regexp.MustCompile(`^(?:客户端|记者)?\p{Han}{0,8} ?(?:(\d{1,2}月\d{1,2}日) ?)?` +
	`(?:([电電讯訊]|消息|报道)(?:[\s\x{3000}（(，,：:|]|$|据|综合|记者))`)

// source reads "来源：", and in a line of its own the word for it in other languages, and the name behind it.
func source(line string) string {
	if before, name, found := strings.Cut(line, ":"); found && len(line) <= longestLine &&
		known[strings.ToLower(trimmed(before))] == isLabel {
		return named(strings.TrimSuffix(trimmed(name), "."))
	}
	if !strings.ContainsAny(line, "源转") {
		return ""
	}
	for _, m := range sourced.FindAllStringSubmatch(line, 2) {
		name := trimmed(until.ReplaceAllString(m[1], ""))
		whole := name != m[1] || m[2] != "" || strings.Contains("）)】]", m[3])
		name = channel.ReplaceAllString(name, "")
		if of, found := lookUp(name); found {
			return of
		}
		if whole && utf8.RuneCountInString(name) <= 16 && !prose.MatchString(name) {
			return strings.Clone(name)
		}
		for _, form := range chinese {
			if strings.HasPrefix(name, form) {
				return agency(form)
			}
		}
	}
	return ""
}

var (
	sourced = regexp.MustCompile(`(?:^|[\s\x{3000}（(【\[。！？”）】]|文章|` +
		`稿件|本文|内容|消息系|文[/／|｜].{1,24}?)` +
		`(?:(?:来源|來源|稿源)\s?(?:于|[：:]\s?| )|转载?自[：:]?)` +
		`@?(?:微信公众号|微信号|公众号)?[：:《“"]?` +
		`([^\s\x00\x{3000}，。；;、|）)】\]《》“”"：:]{2,40}(?: [A-Za-z]+)*)([》”"]?)\s*([^\s]|$)`)
	until = regexp.MustCompile(`(?:(?:见习|实习)?记者|作者|(?:责任|实习)?编辑|原标题|` +
		`文[|｜]|[【\[]).*|[（(][\w-]+$`)
	channel = regexp.MustCompile(`(?:(?:官方)?(?:微信公众号|微信公众账号|公众号|客户端|` +
		`微信|官微|微博)|综合)+$`)
	prose = regexp.MustCompile(`^\d+$|[据讯]|报道|记者|原标题|作者|编辑|` +
		`声明|本报|日电|告诉|供图|^https?$`)
)

// named returns a name that a text tells: that of the table, or one of few words.
func named(name string) string {
	if of, found := lookUp(name); found {
		return of
	}
	r, _ := utf8.DecodeRuneInString(name)
	if len(name) > longestName || noName.MatchString(name) || !unicode.IsLetter(r) {
		return ""
	}
	return article.PublisherOf(strings.Clone(name), "")
}

// closing reads the agency behind the last sentence: "... the minister said. (AFP)", "/ AFP e REUTERS", "(Theo AFP)",
// "Oslo (AFP, 3.4.2026)", "Ali KAYA / ANKARA (DHA)", "said. Source: AFP".
func closing(line string) string {
	if m := theo.FindStringSubmatch(line); m != nil {
		return named(strings.TrimSpace(m[1] + m[2]))
	}
	names := strings.TrimRight(dated.ReplaceAllString(line, ". ($1"), " .。)）")
	names = strings.TrimLeft(names[max(strings.LastIndexAny(names, stops), 0):], stops)
	if strings.Contains(names, ":") {
		return source(names)
	}
	m := signed.FindStringSubmatch(names)
	if place := m[1] + m[3]; place != "" && !opens(place+" ", m[4], "-") {
		return ""
	}
	return bracketed(strings.Replace(m[4], " e ", ",", 1))
}

const stops = `.!?…"”»。！？0123456789` // of sentences, and what no name has

var (
	theo   = regexp.MustCompile(`(?:^Theo ([^(),/]{2,40}[^(),/.])|\([Tt]heo ([^(),/]{2,40})(?:[,/][^()]*)?\))$`)
	dated  = regexp.MustCompile(`[(（]([^()（）]+), ?\d[\d./ ]+[)）]$`)
	signed = regexp.MustCompile(`^(?s:(.*)[(（]|(.*/)|(.*)[,–-])?['\s]*(?s:(.*))$`)
	noName = regexp.MustCompile(`[/:;,0-9]|\..* | .*\.`)
)

// published reads "This article was originally published by X" and its kin.
func published(line string) string {
	if strings.Contains(line, "ublished ") || strings.Contains(line, "ppeared ") || strings.Contains(line, "posted ") {
		if m := appeared.FindStringSubmatch(line); m != nil {
			return named(strings.TrimSpace(m[1]))
		}
	}
	return ""
}

var appeared = regexp.MustCompile(`(?:^|[Tt]his |[Tt]he )` +
	`(?:(?:article|story|op-ed|piece|post|column|report|release|content) )?(?:was |has been |is )?` +
	`(?:(?:[Oo]riginally|[Ff]irst) (?:published|appeared|posted) (?:by|on|in|at)|[Rr]epublished from) ` +
	`(?:[Tt]he |THE )?(\p{Lu}[\p{L}\p{N}&'’ -]*?)(?: on | under | and | as | in |[.,;:(]|$)`)
