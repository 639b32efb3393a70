package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"echosieve/pipeline/segment/internal/table"
)

// word is an entry of the dictionary.
type word struct {
	runes     []rune
	frequency float64
}

// readWords reads the lines "word frequency tag" of the dictionary.
func readWords(data []byte) ([]word, error) {
	var words []word
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(fields) != 3 {
			return nil, fmt.Errorf("dictionary, line %d: %d fields", len(words)+1, len(fields))
		}
		frequency, err := strconv.ParseFloat(fields[1], 64)
		if err != nil || frequency <= 0 {
			return nil, fmt.Errorf("dictionary, line %d: frequency %q", len(words)+1, fields[1])
		}
		words = append(words, word{[]rune(fields[0]), frequency})
	}
	return words, nil
}

// model is a hidden Markov model; emit has the emissions by character, table.MinLog where the file has none.
type model struct {
	table.Model
	emit map[rune]*[4]float64
}

// readModel reads the model: the probabilities of the first state, the transitions from each of the four states, and
// for each state the line "character:probability,...". Lines that begin with # are remarks.
func readModel(data []byte) (*model, error) {
	var lines []string
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			lines = append(lines, string(line))
		}
	}
	if len(lines) != 9 {
		return nil, fmt.Errorf("model: %d lines instead of 9", len(lines))
	}
	m := &model{emit: map[rune]*[4]float64{}}
	for i, to := range []*[4]float64{&m.Start, &m.Trans[0], &m.Trans[1], &m.Trans[2], &m.Trans[3]} {
		fields := strings.Fields(lines[i])
		if len(fields) != 4 {
			return nil, fmt.Errorf("model: %d numbers instead of 4: %q", len(fields), lines[i])
		}
		for j, field := range fields {
			var err error
			if to[j], err = strconv.ParseFloat(field, 64); err != nil {
				return nil, fmt.Errorf("model: %w", err)
			}
		}
	}
	for state, line := range lines[5:] {
		for pair := range strings.SplitSeq(strings.TrimSuffix(line, ","), ",") {
			if err := m.addEmission(state, pair); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

func (m *model) addEmission(state int, pair string) error {
	character, number, _ := strings.Cut(pair, ":")
	runes := []rune(character)
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || len(runes) != 1 || runes[0] < 0x80 || strings.ContainsRune(separators, runes[0]) {
		return fmt.Errorf("model: emission %q", pair)
	}
	if m.emit[runes[0]] == nil {
		m.emit[runes[0]] = &[4]float64{table.MinLog, table.MinLog, table.MinLog, table.MinLog}
	}
	m.emit[runes[0]][state] = value
	return nil
}
