package sample

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
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
	symbols   map[string]*symbol
	desks     []string
	thousands string // separator of thousands
}

// The symbols of a desk for the title and for the lead, the sentence that tells the news.
const (
	title = ".title"
	lead  = ".lead"
)

type symbol struct {
	name  string
	forms []form
	later form // from the second use in a story on; nil: the symbol has no such form
}

// form is a sequence of texts and slots.
type form []piece

// piece is a text, a number or a symbol.
type piece struct {
	text        string
	least, most int // of a number; most is 0 for another piece
	plain       bool
	symbol      string // of a slot; begins with "." for one of the desk
	bound       bool
	key         string // of a bound slot: symbol and number
}

// newGrammar reads the source of a grammar. It panics if the source is wrong, because sources are part of the program.
func newGrammar(source, thousands string) *grammar {
	g := &grammar{symbols: map[string]*symbol{}, thousands: thousands}
	var current *symbol
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			current = &symbol{name: line[1 : len(line)-1]}
			if g.symbols[current.name] != nil {
				panic("sample: symbol " + current.name + " twice")
			}
			g.symbols[current.name] = current
		default:
			for text := range strings.SplitSeq(line, " | ") {
				first, later, mention := strings.Cut(text, " => ")
				current.forms = append(current.forms, newForm(first))
				if mention {
					current.later = newForm(later)
				}
			}
		}
	}
	for _, f := range g.symbols["desks"].forms {
		desk := f[0].text
		if len(g.symbols[desk+title].forms) != len(g.symbols[desk+lead].forms) {
			panic("sample: each title of desk " + desk + " needs its lead")
		}
		g.desks = append(g.desks, desk)
	}
	return g
}

func newForm(text string) form {
	var f form
	for text != "" {
		before, rest, found := strings.Cut(text, "{")
		if before != "" {
			f = append(f, piece{text: before})
		}
		if !found {
			break
		}
		slot, after, closed := strings.Cut(rest, "}")
		if !closed {
			panic("sample: a brace is missing in " + text)
		}
		f, text = append(f, newSlot(slot)), after
	}
	return f
}

func newSlot(slot string) piece {
	if from, to, isRange := strings.Cut(strings.TrimPrefix(slot, "#"), "-"); isRange {
		least, bad := strconv.Atoi(from)
		most, alsoBad := strconv.Atoi(to)
		if bad != nil || alsoBad != nil || least > most {
			panic("sample: no range of numbers: " + slot)
		}
		return piece{least: least, most: most, plain: slot[0] == '#'}
	}
	name, _, bound := strings.Cut(slot, ":")
	return piece{symbol: name, bound: bound, key: slot}
}

// story is what one article is about: its desk, and the names and things that it uses more than once. Not for
// concurrent use.
type story struct {
	*grammar
	rng   *rand.Rand
	desk  string
	bound map[string]string
	used  map[*symbol]uint64 // forms drawn; of symbols with up to 64
	met   map[*symbol]bool   // symbols with a first mention that were mentioned
	event int                // number of the form of the title, and of the lead
}

func (g *grammar) newStory(rng *rand.Rand) *story {
	return &story{
		grammar: g, rng: rng, desk: g.desks[rng.IntN(len(g.desks))],
		bound: map[string]string{}, used: map[*symbol]uint64{}, met: map[*symbol]bool{},
	}
}

// tell returns a text of the symbol, with capitals at the beginning of sentences and, in English, the right articles.
func (s *story) tell(name string) string {
	var text strings.Builder
	s.write(&text, name)
	return polish(text.String())
}

// paragraphs returns the paragraphs of an article.
func (s *story) paragraphs() []string {
	var text strings.Builder
	s.write(&text, "article")
	paragraphs := strings.Split(text.String(), "¶")
	for i := range paragraphs {
		paragraphs[i] = polish(paragraphs[i])
	}
	return paragraphs
}

func (s *story) write(out *strings.Builder, name string) {
	if name[0] == '.' {
		name = s.desk + name
	}
	sym := s.symbols[name]
	if sym == nil {
		panic(fmt.Sprintf("sample: there is no symbol %s", name))
	}
	if sym.later != nil && s.met[sym] {
		s.writeForm(out, sym.later)
		return
	}
	s.met[sym] = true
	switch name {
	case s.desk + title:
		s.event = s.draw(sym)
		s.writeForm(out, sym.forms[s.event])
	case s.desk + lead:
		s.writeForm(out, sym.forms[s.event])
	default:
		s.writeForm(out, sym.forms[s.draw(sym)])
	}
}

// draw chooses a form of the symbol.
func (s *story) draw(sym *symbol) int {
	n := len(sym.forms)
	if n > 64 {
		return s.rng.IntN(n)
	}
	used := s.used[sym]
	if used == 1<<n-1 {
		used = 0
	}
	i := s.rng.IntN(n)
	for used>>i&1 == 1 {
		i = (i + 1) % n
	}
	s.used[sym] = used | 1<<i
	return i
}

func (s *story) writeForm(out *strings.Builder, f form) {
	for _, p := range f {
		switch {
		case p.text != "":
			out.WriteString(p.text)
		case p.most > 0:
			out.WriteString(s.number(p))
		case p.bound:
			text, known := s.bound[p.key]
			if !known {
				var b strings.Builder
				s.write(&b, p.symbol)
				text = b.String()
				s.bound[p.key] = text
			}
			out.WriteString(text)
		default:
			s.write(out, p.symbol)
		}
	}
}

func (s *story) number(p piece) string {
	text := strconv.Itoa(p.least + s.rng.IntN(p.most-p.least+1))
	if at := len(text) - 3; at > 0 && !p.plain && s.thousands != "" {
		text = text[:at] + s.thousands + text[at:]
	}
	return text
}

// polish sets capitals at the beginning of sentences and quotations, and the article "an" before vowels. It
// leaves Chinese as it is.
func polish(text string) string {
	text = strings.ReplaceAll(text, ",,", ",")
	out := make([]byte, 0, len(text)+8)
	begins := true // a sentence or quotation
	for i := range len(text) {
		c := text[i]
		switch {
		case begins && c >= 'a' && c <= 'z':
			c -= 'a' - 'A'
		case c == ' ' && endsInA(out) && wantsAn(text[i+1:]):
			out = append(out, 'n')
		}
		switch c {
		case '"':
			begins = len(out) == 0 || out[len(out)-1] == ' ' || begins
		case ' ':
			begins = endsSentence(out)
		default:
			begins = false
		}
		out = append(out, c)
	}
	return string(out)
}

// endsSentence says whether the text ends in a full stop or the like, perhaps within a quotation.
func endsSentence(text []byte) bool {
	n := len(text)
	if n > 0 && text[n-1] == '"' {
		n--
	}
	return n > 0 && strings.IndexByte(".?!", text[n-1]) >= 0
}

// endsInA says whether the last word is the article "a".
func endsInA(text []byte) bool {
	n := len(text)
	return n > 0 && (text[n-1] == 'a' || text[n-1] == 'A') && (n == 1 || text[n-2] == ' ' || text[n-2] == '"')
}

// wantsAn says whether a text begins with a vowel as it is spoken.
func wantsAn(text string) bool {
	for _, spoken := range []string{"uni", "use", "eu", "one"} {
		if strings.HasPrefix(text, spoken) {
			return false
		}
	}
	if text == "" {
		return false
	}
	number, _, _ := strings.Cut(strings.TrimRight(text, ".,"), " ")
	return strings.IndexByte("aeiou8", text[0]) >= 0 || number == "11" || number == "18"
}
