package load

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf8"
)

// grammar makes texts of forms. Its source is a file of folder forms: a line "[name]" begins a symbol, and
// the lines below hold the symbol's forms, with " | " between two of them. A form is text with slots in
// braces:
//
//   - {name} stands for a form of that symbol, drawn at random. Within one story a symbol of up to 64 forms
//     repeats a form only after it has used all of them.
//   - {name:1} is drawn once a story: it stands for the same text wherever the story uses it.
//   - {.name} and {.name:1} stand for the symbol of the story's desk, such as transport.name.
//   - {.lead} is the form of desk.lead that has the number of the form of desk.title which the story began with.
//   - {12-90} is a number from 12 to 90; {#1950-2020} is one without a separator of thousands, such as a year.
//
// A symbol "first => later" is a first mention, and how the story names the same thing from then on.
type grammar struct {
	symbols   map[string][]string // the forms
	later     map[string]string   // the form of a symbol from the second use in a story on
	thousands string              // separator of thousands
}

// The symbols of a desk for the title and for the lead, the sentence that tells the news.
const (
	title = ".title"
	lead  = ".lead"
)

// newGrammar reads the source of a grammar.
func newGrammar(source, thousands string) *grammar {
	g := &grammar{symbols: map[string][]string{}, later: map[string]string{}, thousands: thousands}
	name := ""
	for line := range strings.Lines(source) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "["):
			name = strings.Trim(line, "[]")
		case line != "":
			line, later, mention := strings.Cut(line, " => ")
			g.symbols[name] = append(g.symbols[name], strings.Split(line, " | ")...)
			if mention {
				g.later[name] = later
			}
		}
	}
	return g
}

// story is what one article is about: its desk, and the names and things that it uses more than once. Not for
// concurrent use.
type story struct {
	*grammar
	rng   *rand.Rand
	desk  string
	bound map[string]string
	used  map[string]uint64 // forms drawn; of symbols with up to 64
	event int               // number of the form of the title, and of the lead
}

func (g *grammar) newStory(rng *rand.Rand) *story {
	return &story{
		grammar: g, rng: rng, desk: g.symbols["desks"][rng.IntN(len(g.symbols["desks"]))],
		bound: map[string]string{}, used: map[string]uint64{},
	}
}

// tell returns a text of the symbol, with capitals at the beginning of sentences and, in English, the right articles.
func (s *story) tell(name string) string { return polish(s.text(name)) }

// paragraphs returns the paragraphs of an article.
func (s *story) paragraphs() []string {
	paragraphs := strings.Split(s.text("article"), "¶")
	for i := range paragraphs {
		paragraphs[i] = polish(paragraphs[i])
	}
	return paragraphs
}

// text returns a text of the symbol as the forms have it.
func (s *story) text(name string) string {
	if name[0] == '.' {
		name = s.desk + name
	}
	if later := s.later[name]; later != "" && s.used[name] != 0 {
		return s.fill(later)
	}
	forms := s.symbols[name]
	if name == s.desk+lead {
		return s.fill(forms[s.event])
	}
	i := s.draw(name, len(forms))
	if name == s.desk+title {
		s.event = i
	}
	return s.fill(forms[i])
}

// draw chooses one of n forms of the symbol.
func (s *story) draw(name string, n int) int {
	i := s.rng.IntN(n)
	if n > 64 {
		return i
	}
	used := s.used[name]
	if used == 1<<n-1 {
		used = 0
	}
	for used>>i&1 == 1 {
		i = (i + 1) % n
	}
	s.used[name] = used | 1<<i
	return i
}

// fill returns a form with its slots filled.
func (s *story) fill(form string) string {
	var out strings.Builder
	for {
		text, rest, found := strings.Cut(form, "{")
		out.WriteString(text)
		if !found {
			return out.String()
		}
		slot, after, _ := strings.Cut(rest, "}")
		out.WriteString(s.slot(slot))
		form = after
	}
}

func (s *story) slot(slot string) string {
	if from, to, isRange := strings.Cut(strings.TrimPrefix(slot, "#"), "-"); isRange {
		return s.number(from, to, slot[0] == '#')
	}
	name, _, bound := strings.Cut(slot, ":")
	if !bound {
		return s.text(name)
	}
	if s.bound[slot] == "" {
		s.bound[slot] = s.text(name)
	}
	return s.bound[slot]
}

func (s *story) number(from, to string, plain bool) string {
	least, _ := strconv.Atoi(from)
	most, _ := strconv.Atoi(to)
	text := strconv.Itoa(least + s.rng.IntN(most-least+1))
	if at := len(text) - 3; at > 0 && !plain && s.thousands != "" {
		text = text[:at] + s.thousands + text[at:]
	}
	return text
}

// polish sets capitals at the beginning of sentences and quotations, and the article "an" before vowels. It
// leaves Chinese as it is.
func polish(text string) string {
	words := strings.SplitAfter(strings.ReplaceAll(text, ",,", ","), " ")
	for i, word := range words {
		bare := strings.TrimLeft(word, `"`)
		begins := i == 0 || bare != word || strings.ContainsAny(last(strings.TrimRight(words[i-1], `" `)), ".?!")
		if begins && bare != "" && bare[0] < utf8.RuneSelf {
			words[i] = word[:len(word)-len(bare)] + strings.ToUpper(bare[:1]) + bare[1:]
		}
		if i+1 < len(words) && (bare == "a " || bare == "A ") && wantsAn(words[i+1]) {
			words[i] = words[i][:len(word)-1] + "n "
		}
	}
	return strings.Join(words, "")
}

// last returns the last byte of a word.
func last(word string) string { return word[max(0, len(word)-1):] }

// wantsAn says whether a word begins with a vowel as it is spoken.
func wantsAn(word string) bool {
	for _, spoken := range []string{"uni", "use", "eu", "one"} {
		if strings.HasPrefix(word, spoken) {
			return false
		}
	}
	number := strings.TrimRight(word, "., ")
	return strings.ContainsAny(word[:min(1, len(word))], "aeiou8") || number == "11" || number == "18"
}
