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

var bracket = regexp.MustCompile(`^([^(（【［\[/]*)(?:[(（【［\[]([^)）】］\]]+)[)）】］\]]|/([^/]+)/)` +
	`[ .]*([-–—:]?)`)

// bracketed reads what stands between brackets: an agency, perhaps with a place, a day or another agency.
func bracketed(inside string) string {
	if len(inside) > longestName {
		return ""
	}
	for part := range strings.FieldsFuncSeq(inside, func(r rune) bool { return strings.ContainsRune("=/,、，", r) }) {
		for _, form := range []string{"共同", "時事", "ロイター"} {
			if strings.HasSuffix(part, form) {
				part = form
			}
		}
		if name := agency(part); name != "" {
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
		case strings.ContainsRune("據引述援转自对和与、《“", last):
		case told && (last == '据' || strings.HasSuffix(form, "社")):
		case last == '据' && before != "据", m[1] == "" && before != "" && before != "据": // within a sentence
		default:
			return agency(form)
		}
	}
	return ""
}

// wired is what follows the name in a Chinese dateline: a place, a day, and how the report came.
var wired = regexp.MustCompile(`^(?:客户端|记者)?\p{Han}{0,8} ?(?:(\d{1,2}月\d{1,2}日) ?)?` +
	`(?:([电電讯訊]|消息|报道)(?:[\s\x{3000}（(，,：:|]|$|据))`)

// source reads "来源：", and in a line of its own the word for it in other languages, and the name behind it.
func source(line string) string {
	if before, name, found := strings.Cut(line, ":"); found && len(line) <= longestLine &&
		known[strings.ToLower(strings.TrimSpace(before))] == isLabel {
		return named(strings.TrimSuffix(strings.TrimSpace(name), "."))
	}
	if !strings.Contains(line, "源") {
		return ""
	}
	for _, m := range sourced.FindAllStringSubmatch(line, 2) {
		name := trimmed(m[1])
		if of, found := lookUp(name); found {
			return of
		}
		whole := strings.Contains("）)】]", m[2])
		if whole && utf8.RuneCountInString(name) <= 16 && !prose.MatchString(name) {
			return strings.Clone(name)
		}
	}
	return ""
}

var (
	sourced = regexp.MustCompile(`(?:^|[\s\x{3000}（(【\[。！？”）】]|文章|稿件|本文|内容)` +
		`(?:来源|來源|稿源)\s?(?:[：:]\s?| )@?(?:微信公众号|公众号)?[：:《“"]?` +
		`([^\s\x00\x{3000}，。；;、|）)】\]《》“”"：:]{2,40}(?: [A-Za-z]+)*)[》”"]?\s*([^\s]|$)`)
	prose = regexp.MustCompile(`^\d+$|[据讯]|报道|记者|原标题|作者|编辑|声明|本报|日电|^https?$`)
)

// named returns a name that a text tells: that of the table, or one of few words.
func named(name string) string {
	if of, found := lookUp(name); found {
		return of
	}
	r, _ := utf8.DecodeRuneInString(name)
	if len(name) > longestName || strings.ContainsAny(name, "/:.;,0123456789") || !unicode.IsLetter(r) {
		return ""
	}
	return article.PublisherOf(name, "")
}

// closing reads the agency behind the last sentence: "... the minister said. (AFP)", "/ AFP e REUTERS", "(Theo AFP)".
func closing(line string) string {
	line = strings.TrimRight(line, " .。")
	if inside := strings.TrimRight(line, ")）"); inside != line {
		open := strings.LastIndexFunc(inside, func(r rune) bool { return r == '(' || r == '（' })
		before, inside := inside[:max(open, 0)], strings.TrimLeft(inside[max(open, 0):], "(（")
		if name, found := strings.CutPrefix(inside, "Theo "); found {
			return named(name)
		}
		end, _ := utf8.DecodeLastRuneInString(strings.TrimSpace(before))
		if !strings.ContainsRune(".!?。！？\"”»…", end) {
			return ""
		}
		return bracketed(inside)
	}
	name, _, _ := strings.Cut(strings.Replace(line[strings.LastIndexByte(line, '/')+1:], " e ", ",", 1), ",")
	return agency(name)
}

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
