// Package edits makes copies and look-alikes of articles in any language, each by a known edit. The label
// follows from the edit, never from a measure of similarity.
package edits

import (
	"math/rand/v2"
	"strings"
	"unicode"
)

// Edit is a pair of texts. Kind names what was done.
type Edit struct {
	Kind           string
	Copy           bool // the later text is a copy of the earlier one, else another article
	Earlier, Later string
}

// Corpus holds the articles of one language.
type Corpus struct {
	language  string
	articles  []string
	sentences [][]string // of each article
	pool      []string   // all sentences
}

// NewCorpus returns a corpus of at least one article. The language is a BCP 47 tag such as "tr", by which
// letters become capitals.
func NewCorpus(language string, articles []string) *Corpus {
	c := &Corpus{language: language, articles: articles}
	for _, text := range articles {
		s := sentences(text)
		c.sentences = append(c.sentences, s)
		c.pool = append(c.pool, s...)
	}
	return c
}

// draws draws words and sentences of a corpus.
type draws struct {
	*Corpus
	*rand.Rand
}

func (c *Corpus) draws(seed uint64, base int) draws {
	return draws{c, rand.New(rand.NewPCG(seed, uint64(base)))}
}

// maker makes the edits of one base.
type maker struct {
	draws
	base  int
	edits []Edit
}

// Edits returns the edits of an article, always the same ones for a seed. Edits that would change nothing,
// such as accents removed from an English text, are left out.
func (c *Corpus) Edits(base int, seed uint64) []Edit {
	m := &maker{draws: c.draws(seed, base), base: base}
	text, s := c.articles[base], c.sentences[base]
	m.copy("words_05", m.replaceWords(text, .05))
	m.copy("words_10", m.replaceWords(text, .10))
	m.copy("words_20", m.replaceWords(text, .20))
	if n := len(s); n >= 4 {
		cut := 1 + m.IntN(n-2)
		m.copy("sentence_cut", join(s[:cut])+join(s[cut+1:]))
		m.copy("standfirst_changed", m.line()+join(s[1:]))
		m.copy("reordered", join(s[n/2:])+"\n"+join(s[:n/2]))
	}
	m.copy("truncated_70", truncated(text, .7))
	m.copy("truncated_50", truncated(text, .5))
	m.copy("headline_added", m.line()+text)
	m.copy("paragraph_added", text+"\n"+m.text(3))
	m.copy("source_line_added", "("+beginning(m.line(), 4)+")\n"+text)
	m.copy("punctuation_lost", withoutPunctuation(text))
	for _, loss := range losses {
		m.copy(loss.kind, loss.apply(m.draws, text))
	}
	m.lookAlikes(text)
	return m.edits
}

// copy adds a copy of the base, if it differs.
func (m *maker) copy(kind, text string) {
	if text != m.articles[m.base] {
		m.edits = append(m.edits, Edit{Kind: kind, Copy: true, Earlier: m.articles[m.base], Later: text})
	}
}

// other adds two texts that are no copies.
func (m *maker) other(kind, earlier, later string) {
	m.edits = append(m.edits, Edit{Kind: kind, Earlier: earlier, Later: later})
}

// lookAlikes adds articles that are no copies of the base.
func (m *maker) lookAlikes(text string) {
	if later, numbers := m.otherNumbers(text); numbers >= 3 {
		m.other("numbers_changed", text, later)
	}
	if len(m.articles) < 10 {
		return
	}
	another, third := m.distinct(), m.IntN(len(m.articles))
	if another < 0 || third == another || third == m.base {
		return
	}
	later, frame := m.articles[another], m.sentences[third]
	m.other("another_article", text, later)
	length := min(len(text), len(later))
	for _, form := range []struct {
		kind  string
		share float64
	}{{"shared_quote", .2}, {"same_frame_half", .5}, {"same_frame_1x", 1}} {
		standing := upTo(frame, int(form.share*float64(length)))
		half := len(standing) / 2
		before, after := join(standing[:half]), join(standing[half:])
		m.other(form.kind, before+"\n"+text+"\n"+after, before+"\n"+later+"\n"+after)
	}
}

// distinct returns an article that has next to no wording in common with the base, -1 if there is none among ten.
func (m *maker) distinct() int {
	own := map[string]bool{}
	for _, run := range runs(m.articles[m.base]) {
		own[run] = true
	}
	for range 10 {
		i, common := m.IntN(len(m.articles)), 0
		others := runs(m.articles[i])
		for _, run := range others {
			if own[run] {
				common++
			}
		}
		if i != m.base && 20*common <= len(others) {
			return i
		}
	}
	return -1
}

// runs returns the runs of three words of a text.
func runs(text string) []string {
	var list, last []string
	for _, piece := range words(text) {
		if !isWord(piece) {
			continue
		}
		if last = append(last, piece); len(last) >= 3 {
			list = append(list, strings.Join(last[len(last)-3:], " "))
		}
	}
	return list
}

// replaceWords replaces a share of the words by words of other articles.
func (d draws) replaceWords(text string, share float64) string {
	pieces := words(text)
	for i, piece := range pieces {
		if isWord(piece) && d.Float64() < share {
			pieces[i] = d.word()
		}
	}
	return join(pieces)
}

// word returns a word of the corpus, as often as the corpus has it.
func (d draws) word() string {
	for range 100 {
		pieces := words(d.pool[d.IntN(len(d.pool))])
		if piece := pieces[d.IntN(len(pieces))]; isWord(piece) {
			return piece
		}
	}
	return "x"
}

// line returns a sentence of another article as a line.
func (d draws) line() string { return strings.TrimSpace(d.pool[d.IntN(len(d.pool))]) + "\n" }

// text returns n sentences of other articles.
func (d draws) text(n int) string {
	var list []string
	for range n {
		list = append(list, strings.TrimSpace(d.pool[d.IntN(len(d.pool))]))
	}
	return strings.Join(list, " ")
}

// otherNumbers gives each number of two digits and more another value, and returns how many there are.
func (d draws) otherNumbers(text string) (changed string, numbers int) {
	var b strings.Builder
	run := []rune{}
	flush := func() {
		if len(run) >= 2 {
			numbers++
			run[0] = '1' + (run[0]-'1'+1+rune(d.IntN(8)))%9
			run[len(run)-1] = '0' + (run[len(run)-1]-'0'+1+rune(d.IntN(9)))%10
		}
		b.WriteString(string(run))
		run = run[:0]
	}
	for _, r := range text {
		if r >= '0' && r <= '9' {
			run = append(run, r)
			continue
		}
		flush()
		b.WriteRune(r)
	}
	flush()
	return b.String(), numbers
}

// Repost returns an edited copy of a text. By n, a tenth of its words is replaced, a third of its sentences
// cut off, or a paragraph added.
func (c *Corpus) Repost(text string, n int, seed uint64) string {
	d := c.draws(seed, n)
	switch n % 3 {
	case 0:
		return d.replaceWords(text, .1)
	case 1:
		s := sentences(text)
		return join(s[:len(s)-len(s)/3])
	default:
		return text + "\n" + d.text(3)
	}
}

func join(pieces []string) string { return strings.Join(pieces, "") }

// truncated returns the beginning of a text, up to a share of its characters and to the end of a word.
func truncated(text string, share float64) string {
	runes := []rune(text)
	return beginning(text, len(words(string(runes[:int(share*float64(len(runes)))]))))
}

// beginning returns the first pieces of a text: its words, and what is between them.
func beginning(text string, pieces int) string {
	list := words(text)
	return join(list[:min(pieces, len(list))])
}

// upTo returns the first sentences with at most the given length in bytes.
func upTo(list []string, length int) []string {
	for i, s := range list {
		if length -= len(s); length < 0 {
			return list[:i]
		}
	}
	return list
}

// withoutPunctuation removes punctuation, except apostrophes and what stands near digits.
func withoutPunctuation(text string) string {
	var b strings.Builder
	for i, r := range text {
		if unicode.IsPunct(r) && r != '\'' && r != '’' && digitsIn(text[max(0, i-4):min(len(text), i+5)]) == 0 {
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
