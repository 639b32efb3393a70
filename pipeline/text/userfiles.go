package text

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ReadUserWords reads a user dictionary and returns lines "word frequency tag" or "word tag", cleaned like
// the texts. The lines of the file are "word", "word tag", "word frequency" or "word frequency tag". Empty
// lines and lines that begin with "# " do not count. gojieba ends the process at a bad line, so bad lines
// must be found here.
func ReadUserWords(path string) ([]byte, error) {
	return ReadLines(path, func(out []byte, line string) ([]byte, error) {
		fields := strings.Fields(line)
		if len(fields) > 3 {
			return nil, fmt.Errorf("%d fields, wanted: word [frequency] [tag]", len(fields))
		}
		word := Clean(fields[0])
		if word == "" || strings.ContainsAny(word, " \n") {
			return nil, fmt.Errorf("%q is not a word", fields[0])
		}
		frequency, tag := "", "x"
		switch _, err := strconv.ParseUint(fields[min(1, len(fields)-1)], 10, 31); {
		case len(fields) == 3:
			frequency, tag = fields[1], fields[2]
		case len(fields) == 2 && err == nil:
			frequency = fields[1]
		case len(fields) == 2:
			tag = fields[1]
		}
		if frequency == "" {
			return append(out, word+" "+tag+"\n"...), nil
		}
		if n, err := strconv.ParseUint(frequency, 10, 31); err != nil || n == 0 {
			return nil, fmt.Errorf("frequency %q is not a whole number from 1 to 2147483647", frequency)
		}
		return append(out, word+" "+frequency+" "+tag+"\n"...), nil
	})
}

// ReadStopWords reads a file of stop words, one a line, and returns them cleaned like the texts, one a line.
// Empty lines and lines that begin with "# " do not count.
func ReadStopWords(path string) ([]byte, error) {
	return ReadLines(path, func(out []byte, line string) ([]byte, error) {
		word := Clean(line)
		if word == "" || strings.ContainsAny(word, " \n") {
			return nil, fmt.Errorf("%q is not one word", line)
		}
		return append(out, word+"\n"...), nil
	})
}

// ReadLines passes each line of a file to parse, which appends its result to out. Without a path it returns
// nothing. An error names the file and the line.
func ReadLines(path string, parse func(out []byte, line string) ([]byte, error)) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s is not UTF-8", path)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var out []byte
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		if out, err = parse(out, line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	return out, nil
}
