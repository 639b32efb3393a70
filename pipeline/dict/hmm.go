package dict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Model is the hidden Markov model that finds the words missing from Words. The states of a character are: it begins,
// ends or is in the middle of a word, or is a whole word. All numbers are logarithms of probabilities.
type Model struct {
	Start [4]float64
	Trans [4][4]float64 // from, to
	Emit  map[rune][4]float64
}

// MinLog stands for the logarithm of zero, as in jieba. It is finite, but so large that adding a probability does not
// change it.
const MinLog = -3.14e+100

// Emission returns the probabilities of a character in the states, MinLog where the model has none.
func (m *Model) Emission(r rune) [4]float64 {
	if e, found := m.Emit[r]; found {
		return e
	}
	return [4]float64{MinLog, MinLog, MinLog, MinLog}
}

// ReadModel reads the dictionary HMM.
func ReadModel() (*Model, error) {
	data, err := Read(HMM)
	if err != nil {
		return nil, err
	}
	return parseModel(string(data))
}

// parseModel reads the probabilities of the first state, the transitions from each of the four states, and for each
// state the line "character:probability,...". Lines that begin with # are remarks.
func parseModel(data string) (*Model, error) {
	lines := slices.DeleteFunc(strings.Split(data, "\n"), func(line string) bool {
		return strings.TrimSpace(line) == "" || line[0] == '#'
	})
	if len(lines) != 9 {
		return nil, fmt.Errorf("model: %d lines instead of 9", len(lines))
	}
	m := &Model{Emit: make(map[rune][4]float64, 16_000)}
	for i, to := range []*[4]float64{&m.Start, &m.Trans[0], &m.Trans[1], &m.Trans[2], &m.Trans[3]} {
		if n, err := fmt.Sscan(lines[i], &to[0], &to[1], &to[2], &to[3]); err != nil {
			return nil, fmt.Errorf("model: number %d of %q: %w", n+1, lines[i], err)
		}
	}
	for state, line := range lines[5:] {
		for pair := range strings.SplitSeq(strings.TrimRight(line, ",\r"), ",") {
			character, number, _ := strings.Cut(pair, ":")
			runes := []rune(character)
			value, err := strconv.ParseFloat(number, 64)
			if err != nil || len(runes) != 1 {
				return nil, fmt.Errorf("model: emission %q", pair)
			}
			e := m.Emission(runes[0])
			e[state] = value
			m.Emit[runes[0]] = e
		}
	}
	return m, nil
}
