package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"regexp"
	"strconv"
	"sync"
)

// logFile keeps what a process writes and knows what the runner wants to know of it.
type logFile struct {
	file *os.File

	mu         sync.Mutex
	http       string // address it listens on
	generation int    // the last one it joined
	crashed    bool   // it said that it ends itself at a crash point
	warnings   map[string]int
}

var (
	httpPattern       = regexp.MustCompile(` http=(\S+)`)
	generationPattern = regexp.MustCompile(`msg="joined group generation".* generation=(\d+)`)
	componentPattern  = regexp.MustCompile(` component=(\S+)`)
)

func (l *logFile) line(line []byte) {
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

// follow reads the process's output until it ends.
func (l *logFile) follow(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		l.line(lines.Bytes())
	}
}
