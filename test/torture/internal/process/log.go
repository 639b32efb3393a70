package process

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"regexp"
	"strconv"
	"sync"
)

// log writes the lines of a process to a file and picks out of them what the runner needs.
type log struct {
	file *os.File

	mu         sync.Mutex
	http       string         // address of the HTTP interface
	generation int            // the last group generation that the process joined
	crashed    bool           // the process wrote that it ends itself at a crash point
	warnings   map[string]int // and errors, by component
}

var (
	httpPattern       = regexp.MustCompile(` http=(\S+)`)
	generationPattern = regexp.MustCompile(`msg="joined group generation".* generation=(\d+)`)
	componentPattern  = regexp.MustCompile(` component=(\S+)`)
)

func (l *log) line(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := httpPattern.FindSubmatch(line); m != nil && l.http == "" {
		l.http = string(m[1])
	}
	if m := generationPattern.FindSubmatch(line); m != nil {
		l.generation, _ = strconv.Atoi(string(m[1]))
	}
	if bytes.HasPrefix(line, []byte("crashpoint ")) {
		l.crashed = true
	}
	if bytes.Contains(line, []byte(" level=WARN")) || bytes.Contains(line, []byte(" level=ERROR")) {
		if m := componentPattern.FindSubmatch(line); m != nil {
			l.warnings[string(m[1])]++
		}
	}
	_, _ = l.file.Write(append(line, '\n'))
}

// follow reads the output of the process until the output ends.
func (l *log) follow(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		l.line(lines.Bytes())
	}
}
