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
	generation map[string]int // the last generation of each group that the process joined
	crashed    bool           // the process wrote that it ends itself at a crash point
}

func newLog(file *os.File) *log {
	return &log{file: file, generation: map[string]int{}}
}

var (
	httpPattern       = regexp.MustCompile(` http=(\S+)`)
	generationPattern = regexp.MustCompile(`msg="joined group generation".* group=(\S+) generation=(\d+)`)
)

func (l *log) line(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := httpPattern.FindSubmatch(line); m != nil && l.http == "" {
		l.http = string(m[1])
	}
	if m := generationPattern.FindSubmatch(line); m != nil {
		l.generation[string(m[1])], _ = strconv.Atoi(string(m[2]))
	}
	if bytes.HasPrefix(line, []byte("crashpoint ")) {
		l.crashed = true
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
