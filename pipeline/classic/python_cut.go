package classic

import (
	"math"
	"regexp"
	"strings"

	"echosieve/pipeline/dict"
)

// pythonSegmenter cuts text as jieba.cut of Python does: along the most probable path through the dictionary.
// Runs of single characters on this path, where the dictionary has no word, are cut by a hidden Markov model.
type pythonSegmenter struct {
	words    map[string]float64 // natural logarithm of a word's frequency; prefixOnly if only longer words start with it
	logTotal float64
	hmm      pythonHMM
}

const prefixOnly = -1

// cut appends the words of a text. It leaves out the characters between the blocks: each is a word of one
// character, which is no feature.
func (s *pythonSegmenter) cut(dst []string, text string) []string {
	var path pathFinder
	for block := range strings.FieldsFuncSeq(text, func(r rune) bool { return !inBlock(r) }) {
		dst = s.cutBlock(dst, block, &path)
	}
	return dst
}

// inBlock tells whether a character can be part of a word: [\u4E00-\u9FD5a-zA-Z0-9+#&._%-].
func inBlock(r rune) bool {
	return isHan(r) || isASCIIWord(r) || r == '+' || r == '#' || r == '&' || r == '.' || r == '_' || r == '%' ||
		r == '-'
}

func isHan(r rune) bool { return r >= 0x4e00 && r <= 0x9fd5 }

func isASCIIWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// pathFinder has the buffers for the path through one block.
type pathFinder struct {
	runes  []rune
	starts []int     // of the characters in bytes, and the end
	best   []float64 // logarithm of the probability from a character to the end
	next   []int     // the character after the word that starts here
}

// cutBlock appends the words of one block.
func (s *pythonSegmenter) cutBlock(dst []string, block string, p *pathFinder) []string {
	p.find(block, s)
	single := 0 // where the run of single characters began
	for i := 0; i < len(p.runes); i = p.next[i] {
		if p.next[i] == i+1 {
			continue
		}
		dst = s.cutSingles(dst, block, p, single, i)
		dst = append(dst, block[p.starts[i]:p.starts[p.next[i]]])
		single = p.next[i]
	}
	return s.cutSingles(dst, block, p, single, len(p.runes))
}

// find computes the most probable path: of equally probable words the longest.
func (p *pathFinder) find(block string, s *pythonSegmenter) {
	p.runes, p.starts = p.runes[:0], p.starts[:0]
	for i, r := range block {
		p.runes, p.starts = append(p.runes, r), append(p.starts, i)
	}
	p.starts = append(p.starts, len(block))
	n := len(p.runes)
	p.best = append(p.best[:0], make([]float64, n+1)...)
	p.next = append(p.next[:0], make([]int, n)...)
	for i := n - 1; i >= 0; i-- {
		best, next := math.Inf(-1), 0
		for j := i; j < n; j++ {
			frequency, found := s.words[block[p.starts[i]:p.starts[j+1]]]
			if !found {
				break
			}
			if frequency == prefixOnly {
				continue
			}
			if v := frequency - s.logTotal + p.best[j+1]; v >= best {
				best, next = v, j+1
			}
		}
		if next == 0 {
			best, next = 0-s.logTotal+p.best[i+1], i+1 // an unknown character counts as seen once
		}
		p.best[i], p.next[i] = best, next
	}
}

// cutSingles appends the words of a run of characters that are each a word on the path.
func (s *pythonSegmenter) cutSingles(dst []string, block string, p *pathFinder, from, to int) []string {
	if to-from < 2 {
		return appendSlices(dst, block, p.starts, from, to)
	}
	if frequency, found := s.words[block[p.starts[from]:p.starts[to]]]; found && frequency != prefixOnly {
		return appendSlices(dst, block, p.starts, from, to) // a word less probable than its characters
	}
	for i := from; i < to; {
		start := i
		if isHan(p.runes[i]) {
			for i < to && isHan(p.runes[i]) {
				i++
			}
			dst = s.hmm.cut(dst, block, p.runes[start:i], p.starts[start:i+1])
			continue
		}
		for i < to && !isHan(p.runes[i]) {
			i++
		}
		dst = cutForeign(dst, block[p.starts[start]:p.starts[i]])
	}
	return dst
}

// appendSlices appends each character as a word.
func appendSlices(dst []string, block string, starts []int, from, to int) []string {
	for i := from; i < to; i++ {
		dst = append(dst, block[starts[i]:starts[i+1]])
	}
	return dst
}

// foreign is a word of letters and digits, with decimals and a percent sign.
var foreign = regexp.MustCompile(`[a-zA-Z0-9]+(\.[0-9]+)?%?`)

// cutForeign cuts text that is not Chinese into foreign words and the text between them.
func cutForeign(dst []string, text string) []string {
	between := 0
	for _, word := range foreign.FindAllStringIndex(text, -1) {
		if between < word[0] {
			dst = append(dst, text[between:word[0]])
		}
		dst = append(dst, text[word[0]:word[1]])
		between = word[1]
	}
	if between < len(text) {
		dst = append(dst, text[between:])
	}
	return dst
}

// The states of a character: it begins, ends or is in the middle of a word, or is a whole word. Of equally
// probable states, Python takes the one with the greater letter, and B < E < M < S.
const (
	stateB = iota
	stateE
	stateM
	stateS
	states
)

// before holds, for each state, the states that can come before it. Of equally probable ones the last wins.
var before = [states][2]int{stateB: {stateE, stateS}, stateE: {stateB, stateM}, stateM: {stateB, stateM},
	stateS: {stateE, stateS}}

// pythonHMM is jieba's model of Chinese words. The embedded one has the probabilities of characters rounded to six
// decimals. This can only matter for ties, which occurred in no corpus.
//
// Between characters that the model does not know, all sums are equal, and the tie rule decides.
type pythonHMM struct{ *dict.Model }

// cut appends the words of a run of Chinese characters, which lie in block at starts.
func (m pythonHMM) cut(dst []string, block string, runes []rune, starts []int) []string {
	path := m.viterbi(runes)
	begin, done := 0, 0
	for i, state := range path {
		switch state {
		case stateB:
			begin = i
		case stateE:
			dst = append(dst, block[starts[begin]:starts[i+1]])
			done = i + 1
		case stateS:
			dst = append(dst, block[starts[i]:starts[i+1]])
			done = i + 1
		}
	}
	if done < len(runes) {
		dst = append(dst, block[starts[done]:starts[len(runes)]])
	}
	return dst
}

// viterbi returns the most probable states.
func (m pythonHMM) viterbi(runes []rune) []int {
	from := make([][states]int8, len(runes))
	var v [states]float64
	emission := m.Emission(runes[0])
	for y := range states {
		v[y] = m.Start[y] + emission[y]
	}
	for t := 1; t < len(runes); t++ {
		emission = m.Emission(runes[t])
		old := v
		for y := range states {
			low, high := before[y][0], before[y][1]
			a := old[low] + m.Trans[low][y] + emission[y]
			b := old[high] + m.Trans[high][y] + emission[y]
			if a > b {
				v[y], from[t][y] = a, int8(low)
			} else {
				v[y], from[t][y] = b, int8(high)
			}
		}
	}
	state := stateS
	if v[stateE] > v[stateS] {
		state = stateE
	}
	path := make([]int, len(runes))
	for t := len(runes) - 1; t >= 0; t-- {
		path[t] = state
		state = int(from[t][state])
	}
	return path
}
