package sample

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Made counts the articles that a Feed has made.
type Made struct{ Originals, Near, Exact int }

// All is the number of all articles.
func (m Made) All() int { return m.Originals + m.Near + m.Exact }

const (
	// lengthFactor is how many times as long as a text of the sample a text is made: about 2 KB, like news.
	lengthFactor = 3
	// remembered is the number of latest originals of which copies are made. At 100 records/s a copy follows its original by seconds.
	remembered = 1000
	// jumpHan and jumpWord are the shares of tokens that are drawn from all tokens, not from the successors of the token before.
	// Without them texts repeat whole sentences of the small sample, above all in English, where most words have one successor.
	jumpHan, jumpWord = .1, .35
)

// article is the JSON object that is published.
type article struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Text   string `json:"text"`
	Source string `json:"source,omitempty"`
	chain  *chain
}

// Feed makes articles without end from the words of News. An original is a random walk from each word (in Chinese: character) to a word
// that follows it somewhere in the sample. So it has the words and the punctuation of news, and no two originals are alike. A copy
// repeats one of the latest originals under another id. Not for concurrent use.
type Feed struct {
	rng    *rand.Rand
	copies float64
	shapes []article
	recent []article
	prefix string
	made   Made
}

// NewFeed returns a feed. The share copies (0 to 1) of its articles are copies, half of them exact, half near. The same seed makes the
// same articles; their ids begin with name and seed.
func NewFeed(name string, copies float64, seed uint64) *Feed {
	s := &Feed{rng: rand.New(rand.NewPCG(seed, 0)), copies: copies, prefix: fmt.Sprintf("%s-%x-", name, seed)}
	han := &chain{rng: s.rng, jump: jumpHan, next: map[string][]string{}}
	words := &chain{rng: s.rng, jump: jumpWord, next: map[string][]string{}, separator: " "}
	for line := range Lines() {
		var a struct {
			article
			Kind string `json:"kind"`
		}
		if json.Unmarshal(line, &a) != nil || a.Kind != "original" {
			continue
		}
		a.chain = words
		if strings.ContainsFunc(a.Text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			a.chain = han
		}
		a.chain.learn(a.Text)
		s.shapes = append(s.shapes, a.article)
	}
	return s
}

// Next returns the id and the JSON object of the next article.
func (s *Feed) Next() (id string, value []byte) {
	var a article
	switch {
	case len(s.recent) == 0 || s.rng.Float64() >= s.copies:
		a = s.original()
		s.made.Originals++
	case s.rng.IntN(2) == 0:
		a = s.recent[s.rng.IntN(len(s.recent))]
		s.made.Exact++
	default:
		a = s.near(s.recent[s.rng.IntN(len(s.recent))])
		s.made.Near++
	}
	a.ID = fmt.Sprintf("%s%d", s.prefix, s.made.All())
	value, _ = json.Marshal(a) // four strings: never fails
	return a.ID, value
}

// Made counts the articles that Next has returned.
func (s *Feed) Made() Made { return s.made }

func (s *Feed) original() article {
	a := s.shapes[s.rng.IntN(len(s.shapes))]
	a.Title = a.chain.walk(a.chain.count(a.Title))
	a.Text = a.chain.walk(lengthFactor * a.chain.count(a.Text))
	if len(s.recent) < remembered {
		s.recent = append(s.recent, a)
	} else {
		s.recent[s.rng.IntN(remembered)] = a
	}
	return a
}

// near returns the article as another site would publish it: with a line that names the source, and with up to a tenth cut off.
func (s *Feed) near(a article) article {
	keep := len(a.Text) - 1 - s.rng.IntN(len(a.Text)/10)
	for !utf8.RuneStart(a.Text[keep]) {
		keep--
	}
	line := "(Source: Port Ellery Post) "
	if a.chain.separator == "" {
		line = "（来源：青澜日报）"
	}
	a.Text = line + a.Text[:keep]
	return a
}

// chain is a Markov chain over the tokens of texts: characters and numbers of Chinese texts, words of others.
type chain struct {
	rng       *rand.Rand
	jump      float64
	separator string
	next      map[string][]string
	all       []string // each token as often as the texts have it
}

func (c *chain) tokens(text string) []string {
	if c.separator != "" {
		return strings.Fields(text)
	}
	var tokens []string
	number := false // the last token is a number
	for _, r := range text {
		if digit := unicode.IsDigit(r); digit && number {
			tokens[len(tokens)-1] += string(r)
		} else {
			tokens = append(tokens, string(r))
			number = digit
		}
	}
	return tokens
}

func (c *chain) count(text string) int { return len(c.tokens(text)) }

func (c *chain) learn(text string) {
	tokens := c.tokens(text)
	for i, t := range tokens {
		c.all = append(c.all, t)
		if i > 0 {
			c.next[tokens[i-1]] = append(c.next[tokens[i-1]], t)
		}
	}
}

// walk returns a text of n tokens.
func (c *chain) walk(n int) string {
	var text strings.Builder
	last := ""
	for i := range n {
		follow := c.next[last]
		if len(follow) == 0 || c.rng.Float64() < c.jump {
			follow = c.all
		}
		last = follow[c.rng.IntN(len(follow))]
		if i > 0 {
			text.WriteString(c.separator)
		}
		text.WriteString(strings.Map(c.digit, last))
	}
	return text.String()
}

// digit replaces a digit by a random one: no two reports have the same numbers.
func (c *chain) digit(r rune) rune {
	if r < '0' || r > '9' {
		return r
	}
	return '0' + rune(c.rng.IntN(10))
}
