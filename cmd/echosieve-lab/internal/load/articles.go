package load

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"
	"unicode/utf8"

	"echosieve/pipeline"
	"echosieve/sample"
)

// Source gives the records to publish, with key and value. io.EOF says that there are no more. It is not used concurrently.
type Source interface {
	Next() (pipeline.Record, error)
	// Made returns what was given so far, by kind.
	Made() Made
}

// Made counts the articles that a source gave. A source that does not know what its articles are counts them as Unknown.
type Made struct {
	Originals int `json:"originals"`
	Near      int `json:"near_copies"`
	Exact     int `json:"exact_copies"`
	Unknown   int `json:"unknown"`
}

func (m Made) minus(n Made) Made {
	return Made{m.Originals - n.Originals, m.Near - n.Near, m.Exact - n.Exact, m.Unknown - n.Unknown}
}

const (
	// lengthFactor makes texts as long as news are, about 2 KB; those of the sample are a third of that.
	lengthFactor = 3
	// remembered is the number of originals of which copies are made. A copy follows its original by seconds to minutes.
	remembered = 1000
	// jumpHan and jumpWord are how often a chain goes on with any of its tokens. Without that a small sample repeats whole
	// sentences, above all in English, where most words have one successor.
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

// Sample varies the shipped sample without end. An original is a random walk over the words (characters, in Chinese) that follow one
// another in the sample, so that it has news' words and punctuation and no two of them are alike. A copy repeats one of the last
// originals under another id.
type Sample struct {
	rng    *rand.Rand
	copies float64
	shapes []article
	recent []article
	prefix string
	made   Made
}

// NewSample returns a source of which the given share, 0 to 1, are copies: half exact, half near. The same seed gives the same texts.
func NewSample(copies float64, seed uint64) *Sample {
	s := &Sample{rng: rand.New(rand.NewPCG(seed, 0)), copies: copies, prefix: fmt.Sprintf("load-%x-", seed)}
	han := &chain{rng: s.rng, jump: jumpHan, next: map[string][]string{}}
	words := &chain{rng: s.rng, jump: jumpWord, next: map[string][]string{}, separator: " "}
	for line := range sample.Lines() {
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

// Next never fails.
func (s *Sample) Next() (pipeline.Record, error) {
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
	a.ID = fmt.Sprintf("%s%d", s.prefix, s.made.Originals+s.made.Near+s.made.Exact)
	value, err := json.Marshal(a)
	return pipeline.Record{Key: []byte(a.ID), Value: value}, err
}

// Made counts originals, near copies and exact copies.
func (s *Sample) Made() Made { return s.made }

func (s *Sample) original() article {
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

// near re-posts an article as others do: with a source line, and with up to a tenth of it cut off.
func (s *Sample) near(a article) article {
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
	all       []string // every token as often as it was learnt
}

func (c *chain) tokens(text string) []string {
	if c.separator != "" {
		return strings.Fields(text)
	}
	var tokens []string
	number := false // the last token is one
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

// digit replaces a digit by another one: no two reports have the same figures.
func (c *chain) digit(r rune) rune {
	if r < '0' || r > '9' {
		return r
	}
	return '0' + rune(c.rng.IntN(10))
}
