// Package sidebyside aligns two texts word by word, so that people see what an article and its copy have in
// common. It knows nothing of articles. Wherever an earlier and a later text stand side by side, the earlier
// one is on the left. Terminal and HTML are two forms of the same runs; JSON is the runs themselves.
//
// Texts come from strangers: both forms make control and other invisible characters visible, and HTML is escaped.
package sidebyside

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"github.com/sergi/go-diff/diffmatchpatch"
)

// Run is a stretch of both texts. The Left fields of all runs together are the left text, and the Right
// fields the right text; a text of spaces only has no runs.
type Run struct {
	// Same says that both sides have the same words here. Spaces may differ, and spellings that the folding
	// makes equal.
	Same bool `json:"same"`
	// Left and Right are what the texts have here. In a run that is not the same, either may be empty, but not both.
	Left  string `json:"left"`
	Right string `json:"right"`
}

// Align aligns two texts. Words are those of Unicode (UAX #29): in Chinese, each character is one. Two words
// are the same if fold returns the same string for both; with a nil fold, they must be equal. Spaces between
// words do not count.
//
// The result depends on the texts only, not on the speed of the machine. Two texts of 1 MB take less than 3
// seconds, whatever they hold. Where long stretches have no three words in a row in common that occur only
// once, they are one run that is not the same.
func Align(left, right string, fold func(string) string) []Run {
	ids := map[string]int32{}
	l, r := split(left, fold, ids), split(right, fold, ids)
	e := edits{left: l, right: r}
	e.align(0, len(l.words), 0, len(r.words))
	return e.runs()
}

// cut is a text that was cut into words.
type cut struct {
	words []string // each with the spaces that follow it; the first also with those before it
	ids   []int32  // words with equal ids are the same
}

// split cuts a text into words. ids gets a number for each new word.
func split(s string, fold func(string) string, ids map[string]int32) cut {
	var t cut
	start, end := 0, 0 // of the last word
	for iter := words.FromString(s); iter.Next(); {
		word := iter.Value()
		n := len(t.words)
		if strings.TrimSpace(word) == "" {
			if end += len(word); n > 0 {
				t.words[n-1] = s[start:end]
			}
			continue
		}
		if n > 0 {
			start = end
		}
		end += len(word)
		key := strings.TrimSpace(word)
		if fold != nil {
			key = fold(word)
		}
		id, known := ids[key]
		if !known {
			id = int32(len(ids))
			ids[key] = id
		}
		t.words, t.ids = append(t.words, s[start:end]), append(t.ids, id)
	}
	return t
}

// edits collects the aligned stretches of two texts from left to right. A stretch is given by the numbers of its words.
type edits struct {
	left, right cut
	stretches   []stretch
}

type stretch struct {
	same            bool
	left, leftEnd   int
	right, rightEnd int
}

// mostProduct bounds the words of two stretches that the library compares, multiplied: its time grows with the product.
const mostProduct = 1 << 20

// align appends the stretches of left[i:iEnd] and right[j:jEnd].
func (e *edits) align(i, iEnd, j, jEnd int) {
	start, end := 0, 0
	for i+start < iEnd && j+start < jEnd && e.left.ids[i+start] == e.right.ids[j+start] {
		start++
	}
	e.add(true, i, i+start, j, j+start)
	i, j = i+start, j+start
	for i < iEnd-end && j < jEnd-end && e.left.ids[iEnd-end-1] == e.right.ids[jEnd-end-1] {
		end++
	}
	iEnd, jEnd = iEnd-end, jEnd-end
	if (iEnd-i)*(jEnd-j) <= mostProduct {
		e.compare(i, iEnd, j, jEnd)
	} else {
		for _, a := range e.anchors(i, iEnd, j, jEnd) {
			e.between(i, a.left, j, a.right)
			e.add(true, a.left, a.left+1, a.right, a.right+1)
			i, j = a.left+1, a.right+1
		}
		e.between(i, iEnd, j, jEnd)
	}
	e.add(true, iEnd, iEnd+end, jEnd, jEnd+end)
}

// between appends the stretches between two anchors.
func (e *edits) between(i, iEnd, j, jEnd int) {
	if (iEnd-i)*(jEnd-j) <= mostProduct {
		e.compare(i, iEnd, j, jEnd)
	} else {
		e.add(false, i, iEnd, j, jEnd)
	}
}

// compare appends the stretches that the library finds. The library compares runes, so each different word of
// the two stretches becomes one.
func (e *edits) compare(i, iEnd, j, jEnd int) {
	if i == iEnd || j == jEnd {
		e.add(false, i, iEnd, j, jEnd)
		return
	}
	runes := map[int32]rune{}
	encode := func(ids []int32) []rune {
		encoded := make([]rune, len(ids))
		for k, id := range ids {
			r, known := runes[id]
			if !known {
				// At most mostProduct + 1 words are different, and there are more characters than that.
				if r = rune(len(runes) + 1); r >= surrogates {
					r += surrogatesEnd - surrogates
				}
				runes[id] = r
			}
			encoded[k] = r
		}
		return encoded
	}
	d := diffmatchpatch.New()
	d.DiffTimeout = 0 // mostProduct bounds the time
	for _, part := range d.DiffMainRunes(encode(e.left.ids[i:iEnd]), encode(e.right.ids[j:jEnd]), false) {
		n := utf8.RuneCountInString(part.Text)
		switch part.Type {
		case diffmatchpatch.DiffEqual:
			e.add(true, i, i+n, j, j+n)
			i, j = i+n, j+n
		case diffmatchpatch.DiffDelete:
			e.add(false, i, i+n, j, j)
			i += n
		case diffmatchpatch.DiffInsert:
			e.add(false, i, i, j, j+n)
			j += n
		}
	}
}

// The numbers between them are no characters; a string cannot hold them.
const surrogates, surrogatesEnd = 0xd800, 0xe000

// add appends a stretch, or lengthens the last one if it is of the same sort.
func (e *edits) add(same bool, i, iEnd, j, jEnd int) {
	if i == iEnd && j == jEnd {
		return
	}
	if n := len(e.stretches); n > 0 && e.stretches[n-1].same == same {
		e.stretches[n-1].leftEnd, e.stretches[n-1].rightEnd = iEnd, jEnd
		return
	}
	e.stretches = append(e.stretches, stretch{same, i, iEnd, j, jEnd})
}

// anchor is a word in each text with which three words begin that are the same in both texts and occur once in each.
type anchor struct{ left, right int }

// anchors returns the longest list of anchors that has the order of both texts.
func (e *edits) anchors(i, iEnd, j, jEnd int) []anchor {
	const several = -1
	type three [3]int32
	once := func(ids []int32, from, to int) map[three]int {
		at := make(map[three]int, to-from)
		for k := from; k+3 <= to; k++ {
			key := three(ids[k : k+3])
			if _, seen := at[key]; seen {
				at[key] = several
			} else {
				at[key] = k
			}
		}
		return at
	}
	onRight := once(e.right.ids, j, jEnd)
	var common []anchor
	for key, k := range once(e.left.ids, i, iEnd) {
		if m, found := onRight[key]; found && m != several && k != several {
			common = append(common, anchor{k, m})
		}
	}
	slices.SortFunc(common, func(a, b anchor) int { return a.left - b.left })
	return increasing(common)
}

// increasing returns the longest part of a list, which is ordered by left, in which right increases as well.
func increasing(list []anchor) []anchor {
	var ends []int // ends[n] is the last element of a part of n+1 elements, with the lowest right
	before := make([]int, len(list))
	for k, a := range list {
		n, _ := slices.BinarySearchFunc(ends, a.right, func(end, right int) int { return list[end].right - right })
		before[k] = -1
		if n > 0 {
			before[k] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, k)
		} else {
			ends[n] = k
		}
	}
	part := make([]anchor, len(ends))
	for n, k := len(ends)-1, -1; n >= 0; n-- {
		if k < 0 {
			k = ends[n]
		}
		part[n] = list[k]
		k = before[k]
	}
	return part
}

// runs returns the stretches as texts. A word or two between two longer differences is made a part of them:
// it is usually a word such as "the", which is in both texts by chance, and cuts a sentence that was replaced
// into pieces. A number is left as it is.
func (e *edits) runs() []Run {
	var joined []stretch
	for n, s := range e.stretches {
		last := len(joined) - 1
		if last > 0 && n+1 < len(e.stretches) && s.same && e.chance(s, joined[last], e.stretches[n+1]) {
			s.same = false
		}
		if last >= 0 && joined[last].same == s.same {
			joined[last].leftEnd, joined[last].rightEnd = s.leftEnd, s.rightEnd
		} else {
			joined = append(joined, s)
		}
	}
	runs := make([]Run, len(joined))
	for n, s := range joined {
		runs[n] = Run{s.same, strings.Join(e.left.words[s.left:s.leftEnd], ""),
			strings.Join(e.right.words[s.right:s.rightEnd], "")}
	}
	return runs
}

// chance says whether both texts have a stretch probably by chance, between two differences.
func (e *edits) chance(s, before, after stretch) bool {
	const most, least = 2, 3 // words of the stretch, and of each difference on both sides
	if s.leftEnd-s.left > most {
		return false
	}
	for _, d := range []stretch{before, after} {
		if d.leftEnd-d.left < least || d.rightEnd-d.right < least {
			return false
		}
	}
	return !strings.ContainsFunc(strings.Join(e.left.words[s.left:s.leftEnd], ""), unicode.IsNumber)
}
