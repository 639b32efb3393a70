package classic

import (
	"fmt"
	"strconv"
	"strings"

	"echosieve/pipeline/dict"
)

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

// impossible stands for the logarithm of 0, as in the originals. It is finite, but so large that adding a
// probability does not change it: between characters that the model does not know, all sums are equal, and
// the tie rule decides.
const impossible = -3.14e100

// pythonHMM is jieba's model of Chinese words. The embedded one has the probabilities of characters rounded to six
// decimals. This can only matter for ties, which occurred in no corpus.
type pythonHMM struct {
	start      [states]float64
	transition [states][states]float64
	emission   map[rune][states]float64
}

// cut appends the words of a run of Chinese characters, which lie in block at starts.
func (m *pythonHMM) cut(dst []string, block string, runes []rune, starts []int) []string {
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
func (m *pythonHMM) viterbi(runes []rune) []int {
	from := make([][states]int8, len(runes))
	var v [states]float64
	emission := m.emissions(runes[0])
	for y := range states {
		v[y] = m.start[y] + emission[y]
	}
	for t := 1; t < len(runes); t++ {
		emission = m.emissions(runes[t])
		old := v
		for y := range states {
			low, high := before[y][0], before[y][1]
			a := old[low] + m.transition[low][y] + emission[y]
			b := old[high] + m.transition[high][y] + emission[y]
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

func (m *pythonHMM) emissions(r rune) [states]float64 {
	if e, found := m.emission[r]; found {
		return e
	}
	return [states]float64{impossible, impossible, impossible, impossible}
}

// loadPythonHMM reads the embedded model: start, four lines of transitions and for each state
// "character:logarithm,...", with the states in the order B, E, M, S.
func loadPythonHMM() (*pythonHMM, error) {
	data, err := dict.Read(dict.HMM)
	if err != nil {
		return nil, err
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	damaged := fmt.Errorf("%s is damaged", dict.HMM)
	if len(lines) != 1+2*states {
		return nil, damaged
	}
	m := &pythonHMM{emission: make(map[rune][states]float64, 16_000)}
	for i, row := range append([]*[states]float64{&m.start}, rows(&m.transition)...) {
		fields := strings.Fields(lines[i])
		if len(fields) != states {
			return nil, damaged
		}
		for y, field := range fields {
			if row[y], err = strconv.ParseFloat(field, 64); err != nil {
				return nil, damaged
			}
		}
	}
	for y, line := range lines[1+states:] {
		for entry := range strings.SplitSeq(line, ",") {
			character, value, _ := strings.Cut(entry, ":")
			r := []rune(character)
			p, err := strconv.ParseFloat(value, 64)
			if err != nil || len(r) != 1 {
				return nil, damaged
			}
			e := m.emissions(r[0])
			e[y] = p
			m.emission[r[0]] = e
		}
	}
	return m, nil
}

func rows(matrix *[states][states]float64) []*[states]float64 {
	var out []*[states]float64
	for i := range matrix {
		out = append(out, &matrix[i])
	}
	return out
}
