package changes

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"github.com/sergi/go-diff/diffmatchpatch"
)

// Run is a stretch of both texts. The Left fields of all runs together are the left text, and the Right
// fields the right text, but for what is too long to compare; a text of spaces only has no runs.
type Run struct {
	// Same says that both sides have the same words here. Spaces may differ, and spellings that the folding
	// makes equal.
	Same bool `json:"same"`
	// Left and Right are what the texts have here. In a run that is not the same, either may be empty, but not both.
	Left  string `json:"left"`
	Right string `json:"right"`
}

// mostWords bounds the words of each text that are compared, between what both begin with and what both end with: the
// time grows with their product. In place of the words behind them stands how many there are.
const mostWords = 2_000

// Align aligns two texts. Words are those of Unicode (UAX #29): in Chinese, each character is one. Two words
// are the same if fold returns the same string for both; with a nil fold, they must be equal. Spaces between
// words do not count. The result depends on the texts only, not on the speed of the machine.
func Align(left, right string, fold func(string) string) []Run {
	l, r := split(left, fold), split(right, fold)
	start, end := 0, 0
	for start < min(len(l.keys), len(r.keys)) && l.keys[start] == r.keys[start] {
		start++
	}
	for end < min(len(l.keys), len(r.keys))-start && l.keys[len(l.keys)-end-1] == r.keys[len(r.keys)-end-1] {
		end++
	}
	n, m := len(l.keys)-start-end, len(r.keys)-start-end
	if n*m > mostWords*mostWords || n+m > utf8.MaxRune/2 { // more words than characters
		n, m = min(n, mostWords), min(m, mostWords)
	}
	runs := []Run{}
	add := func(same bool, left, right string) {
		if last := len(runs) - 1; last >= 0 && runs[last].Same == same {
			runs[last].Left, runs[last].Right = runs[last].Left+left, runs[last].Right+right
		} else if left+right != "" {
			runs = append(runs, Run{same, left, right})
		}
	}
	add(true, l.take(start), r.take(start))
	characters := map[string]rune{}
	d := diffmatchpatch.New()
	d.DiffTimeout = 0 // mostWords bounds the time
	these, those := encode(l.keys[start:start+n], characters), encode(r.keys[start:start+m], characters)
	for _, part := range d.DiffMainRunes(these, those, false) {
		switch words := utf8.RuneCountInString(part.Text); part.Type {
		case diffmatchpatch.DiffEqual:
			add(true, l.take(words), r.take(words))
		case diffmatchpatch.DiffDelete:
			add(false, l.take(words), "")
		case diffmatchpatch.DiffInsert:
			add(false, "", r.take(words))
		}
	}
	add(false, l.leaveOut(len(l.ends)-end), r.leaveOut(len(r.ends)-end))
	add(true, l.take(end), r.take(end))
	return runs
}

// encode makes each different word a character, which is what the library compares.
func encode(keys []string, characters map[string]rune) []rune {
	encoded := make([]rune, len(keys))
	for i, key := range keys {
		if characters[key] == 0 {
			c := rune(len(characters) + 1)
			if c >= surrogates {
				c += surrogatesEnd - surrogates
			}
			characters[key] = c
		}
		encoded[i] = characters[key]
	}
	return encoded
}

// The numbers between them are no characters; a string cannot hold them.
const surrogates, surrogatesEnd = 0xd800, 0xe000

// cut is a text that was cut into words.
type cut struct {
	text string
	keys []string // words with equal keys are the same
	ends []int    // of the words that were not taken yet, each with the spaces that follow it
	at   int      // where the next word begins; the first has the spaces before it
}

// split cuts a text into words.
func split(s string, fold func(string) string) *cut {
	t := &cut{text: s}
	end := 0
	for iter := words.FromString(s); iter.Next(); {
		word := iter.Value()
		end += len(word)
		key := strings.TrimSpace(word)
		switch {
		case key == "" && len(t.ends) > 0:
			t.ends[len(t.ends)-1] = end
			continue
		case key == "":
			continue
		case fold != nil:
			key = fold(word)
		}
		t.keys, t.ends = append(t.keys, key), append(t.ends, end)
	}
	return t
}

// take returns the next words.
func (t *cut) take(n int) string {
	if n == 0 {
		return ""
	}
	end := t.ends[n-1]
	taken := t.text[t.at:end]
	t.at, t.ends = end, t.ends[n:]
	return taken
}

// leaveOut passes over the next words, and returns what stands in their place.
func (t *cut) leaveOut(n int) string {
	if t.take(n); n == 0 {
		return ""
	}
	return fmt.Sprintf("\n[%d more words, too many to compare]\n", n)
}
