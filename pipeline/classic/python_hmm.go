package classic

import "echosieve/pipeline/dict"

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
