package schema

import (
	"bytes"
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// mostLines bounds the lines of a file in which syntaxError searches. It reads the beginnings of the file again and again.
const mostLines = 2000

// parserLine is the parser's own report of a line. Often it is that of the token before or behind the mistake.
var parserLine = regexp.MustCompile(`^yaml: (line \d+: )?`)

// syntaxError returns the error about a file that is no YAML, with the line of the mistake: the lines before it are YAML by themselves, and
// with it they are not.
func syntaxError(path string, data []byte, err error) error {
	err = withoutValue(err)
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines) > mostLines {
		return fmt.Errorf("%s: %w", path, err)
	}
	wrong := len(lines)
	for ; wrong > 1; wrong-- {
		if yaml.Unmarshal(bytes.Join(lines[:wrong-1], nil), new(yaml.Node)) == nil {
			break
		}
	}
	if line := lines[wrong-1]; bytes.ContainsRune(line[:len(line)-len(bytes.TrimLeft(line, " \t"))], '\t') {
		return fmt.Errorf("%s:%d: a tab indents this line; use spaces", path, wrong)
	}
	return fmt.Errorf("%s:%d: no YAML: %s", path, wrong, parserLine.ReplaceAllString(err.Error(), ""))
}
