// Package changes says what is new in a version of an article, sentence by sentence. It knows two texts and nothing of
// verdicts. Nothing of it is on the path of a record.
package changes

import (
	"slices"
	"strings"
	"unicode"

	"echosieve/pipeline/article"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/text"
)

// Kind is what a version is to the earlier one.
type Kind string

// The kinds.
const (
	None Kind = "none" // no word differs
	// Correction is marked as one, or a figure stands in place of another and hardly a word differs, or only one word,
	// such as a name, differs, at several places.
	Correction Kind = "correction"
	Update     Kind = "update"    // figures differ, and no sentence was added
	Extension  Kind = "extension" // sentences were added
	Cut        Kind = "cut"       // sentences were removed, and none was added
	Rewording  Kind = "rewording" // words differ, or the title does
)

// Why a later version cannot be compared: one of the texts is no longer kept.
const (
	OriginalGone = "original_gone"
	ArticleGone  = "article_gone"
)

// Version is a text as its record has it, and its title.
type Version struct{ Title, Text string }

// Changes says what a later version has that an earlier one lacks. Its JSON names must not change.
type Changes struct {
	Kind     Kind     `json:"kind"`
	NewShare float64  `json:"new_share"` // of the letters of the later text: those that were added as sentences
	Counts   Counts   `json:"counts"`
	Added    []string `json:"added"`
	Changed  []Pair   `json:"changed"`
	Removed  []string `json:"removed"`
	// Cut says that not all is here: each list holds mostListed bytes, and of a text the beginning is compared.
	Cut     bool               `json:"cut,omitempty"`
	Figures Replaced[[]string] `json:"figures"`         // of changed sentences, if the other text lacks them
	Title   *Replaced[string]  `json:"title,omitempty"` // absent if it is the same
}

// Counts are numbers of sentences. A sentence that is only cut otherwise is the same.
type Counts struct {
	Same    int `json:"same"`
	Added   int `json:"added"`
	Changed int `json:"changed"` // pairs
	Removed int `json:"removed"`
}

// Replaced is what the earlier version has, and what the later one has in its place.
type Replaced[T any] struct {
	Old T `json:"old"`
	New T `json:"new"`
}

// Pair is some sentences that say much the same: usually one of each text.
type Pair struct {
	Replaced[string]
	Words []Run `json:"words"` // that differ
}

const (
	mostListed = 2000 // bytes of a list
	// fewWords is the share of the letters of a pair that differ at most in a correction.
	fewWords = 0.25
	// mostNote is the share of its letters that a text marked as a correction has for saying what it corrects.
	mostNote = 0.25
	// longSentence is the number of letters of a text without full stops that counts as one sentence: of it, a stretch
	// of longStretch letters that stands in place of little is a sentence that was added.
	longSentence, longStretch = 600, 60
)

// Between compares two versions. Texts of some pages take a millisecond.
func Between(earlier, later Version) *Changes {
	c := &Changes{Kind: None, Added: []string{}, Changed: []Pair{}, Removed: []string{},
		Figures: Replaced[[]string]{[]string{}, []string{}}}
	old, oldCut := sentencesOf(earlier)
	now, nowCut := sentencesOf(later)
	c.Cut = oldCut || nowCut
	var figures Replaced[[]sentence]
	before, after := indexOf(old), indexOf(now)
	is := tally{few: true}
	add := func(s string) {
		c.Counts.Added++
		c.Added = c.list(c.Added, s)
	}
	for _, g := range match(old, now) {
		switch words := differing(g); {
		case len(words) == 0:
			c.Counts.Same += len(g.New)
		case len(g.Old) == 0 && g.New[0].standsIn(before), len(g.New) == 0 && g.Old[0].standsIn(after):
			c.Counts.Same += len(g.New)
			is.moved = true
		case len(g.Old) == 0:
			add(g.New[0].text)
			if !g.New[0].aside {
				is.news = true
				c.NewShare += float64(letters(g.New[0].text))
			}
		case len(g.New) == 0:
			c.Counts.Removed++
			c.Removed = c.list(c.Removed, g.Old[0].text)
			is.less = is.less || !g.Old[0].aside
		default:
			c.Counts.Changed++
			c.pair(g, words)
			is.words = append(is.words, words...)
			for _, s := range stretches(g, words) {
				add(s)
				is.news = true
				c.NewShare += float64(letters(s))
			}
			figures.Old, figures.New = append(figures.Old, below(g.Old)...), append(figures.New, below(g.New)...)
			is.few = is.few && isFew(words, g)
		}
	}
	if all := letters(joined(now)); all > 0 {
		c.NewShare /= float64(all)
	}
	c.Figures = Replaced[[]string]{missing(figures.Old, now), missing(figures.New, old)}
	if text.Clean(earlier.Title) != text.Clean(later.Title) {
		c.Title = &Replaced[string]{article.Cut(earlier.Title, mostListed), article.Cut(later.Title, mostListed)}
		is.words = append(is.words, differingWords(c.Title.Old, c.Title.New)...)
	}
	is.marked = later.isMarked() && !earlier.isMarked()
	c.Kind = c.kind(&is)
	return c
}

// tally is what Changes do not tell of the sentences of an article, beside lines such as bylines.
type tally struct {
	marked bool  // as a correction
	news   bool  // one was added
	less   bool  // one was removed
	moved  bool  // one stands within others
	few    bool  // hardly a word differs
	words  []Run // that differ, also in the title
}

func (c *Changes) kind(is *tally) Kind {
	switch n := c.Counts; {
	case is.marked && c.NewShare <= mostNote:
		return Correction
	case is.news:
		return Extension
	case !is.less && is.few && (isSwap(is.words) || len(c.Figures.Old) > 0 && len(c.Figures.New) > 0):
		return Correction
	case len(c.Figures.Old)+len(c.Figures.New) > 0:
		return Update
	case is.less:
		return Cut
	case n.Added+n.Changed+n.Removed > 0 || is.moved || c.Title != nil:
		return Rewording
	}
	return None
}

// isMarked tells whether its publisher says that it is a correction.
func (v Version) isMarked() bool {
	return evidence.IsCorrection(v.Title) || evidence.IsCorrection(v.Text)
}

// stretches returns what was added within a pair: of texts without full stops, or of sentences that share their words
// with one.
func stretches(g group, words []Run) (list []string) {
	if len(g.New) == 1 && letters(joined(g.New)) < longSentence {
		return nil
	}
	for _, w := range words {
		if n := letters(w.Right); n >= longStretch && 4*letters(w.Left) <= n {
			list = append(list, strings.TrimSpace(w.Right))
		}
	}
	return list
}

// list appends a sentence, as far as there is room for it.
func (c *Changes) list(list []string, s string) []string {
	room := mostListed
	for _, listed := range list {
		room -= len(listed)
	}
	if len(s) > room {
		s, c.Cut = article.Cut(s, room), true
	}
	if s != "" {
		list = append(list, s)
	}
	return list
}

// pair lists a pair, as far as there is room for it.
func (c *Changes) pair(g group, words []Run) {
	p := Pair{Replaced[string]{joined(g.Old), joined(g.New)}, words}
	room := mostListed
	for _, listed := range c.Changed {
		room -= len(listed.Old) + len(listed.New)
	}
	if len(p.Old)+len(p.New) <= room {
		c.Changed = append(c.Changed, p)
		return
	}
	if c.Cut = true; len(c.Changed) == 0 {
		p.Old, p.New, p.Words = article.Cut(p.Old, room/2), article.Cut(p.New, room/2), []Run{}
		c.Changed = append(c.Changed, p)
	}
}

// differing returns the words by which both sides of a group differ.
func differing(g group) []Run {
	all := slices.Concat(g.Old, g.New)
	another := func(s sentence) bool { return s.key != all[0].key }
	if len(g.Old) > 0 && len(g.New) > 0 && !slices.ContainsFunc(all, another) {
		return nil
	}
	return differingWords(joined(g.Old), joined(g.New))
}

func differingWords(old, now string) (words []Run) {
	for _, r := range Align(old, now, text.Clean) {
		if !r.Same && letters(r.Left+r.Right) > 0 {
			words = append(words, r)
		}
	}
	return words
}

// isFew tells whether few words differ, beside figures.
func isFew(words []Run, g group) bool {
	n := 0
	for _, w := range words {
		n += max(letters(number.ReplaceAllString(w.Left, "")), letters(number.ReplaceAllString(w.Right, "")))
	}
	return float64(n) <= fewWords*float64(letters(joined(g.New)))
}

// isSwap tells whether one word, such as a name, stands in place of another at two places or more, and nothing else
// differs.
func isSwap(words []Run) bool {
	another := func(w Run) bool {
		return w.Left == "" || w.Right == "" || strings.TrimSpace(w.Left) != strings.TrimSpace(words[0].Left) ||
			strings.TrimSpace(w.Right) != strings.TrimSpace(words[0].Right)
	}
	return len(words) > 1 && !slices.ContainsFunc(words, another)
}

// letters counts letters and digits.
func letters(s string) (n int) {
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// below returns the sentences that do not stand above the article: numbers there number the version.
func below(list []sentence) []sentence {
	return slices.DeleteFunc(slices.Clone(list), func(s sentence) bool { return s.head })
}

func joined(list []sentence) string {
	texts := make([]string, 0, len(list))
	for i := range list {
		texts = append(texts, list[i].text)
	}
	return strings.Join(texts, " ")
}
