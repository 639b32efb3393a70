package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxHeaderBytes bounds the header of a record of a web archive and that of an HTTP response, in bytes.
// Browsers allow as much.
const maxHeaderBytes = 256 << 10

// header holds the values of a header under their names in lower case.
type header map[string][]string

// get returns the first value of a name, "" if there is none.
func (h header) get(name string) string {
	if values := h[strings.ToLower(name)]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// list returns the elements of all values of a name, in lower case.
func (h header) list(name string) (elements []string) {
	for _, value := range h[strings.ToLower(name)] {
		for element := range strings.SplitSeq(value, ",") {
			if element = strings.ToLower(strings.TrimSpace(element)); element != "" {
				elements = append(elements, element)
			}
		}
	}
	return elements
}

// readHeader reads lines of names and values up to an empty line, or to the end. A line without a colon is
// left out, as browsers do. A line that begins with white space continues the one before it.
func readHeader(in *bufio.Reader, most int) (header, error) {
	h := header{}
	name, value := "", []byte(nil)
	for {
		line, err := readLine(in, most)
		ended := errors.Is(err, io.EOF) || err == nil && line == ""
		if err != nil && !ended {
			return nil, err
		}
		if most -= len(line) + 1; most <= 0 {
			return nil, errHeaderTooLong
		}
		if !ended && (line[0] == ' ' || line[0] == '\t') {
			value = append(append(value, ' '), strings.TrimSpace(line)...)
			continue
		}
		if name != "" {
			h[name] = append(h[name], string(value))
		}
		if ended {
			return h, nil
		}
		before, after, found := strings.Cut(line, ":")
		name, value = "", nil
		if found {
			name, value = strings.ToLower(strings.TrimSpace(before)), []byte(strings.TrimSpace(after))
		}
	}
}

var errHeaderTooLong = fmt.Errorf("it has more than %d KiB", maxHeaderBytes>>10)

// readLine reads a line of at most so many bytes, without its end (LF or CRLF). At the end of the input it
// returns io.EOF.
func readLine(in *bufio.Reader, most int) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > most+len("\r\n") {
			return "", errHeaderTooLong
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0, err == nil:
			return strings.TrimRight(string(line), "\r\n"), nil
		default:
			return "", err
		}
	}
}
