package process

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
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
	standing   map[cause]bool // causes of warnings and errors that have not ended
	repeated   map[string]int // warnings of a cause that stood already, by component
}

func newLog(file *os.File) *log {
	return &log{file: file, generation: map[string]int{}, standing: map[cause]bool{}, repeated: map[string]int{}}
}

// cause is what a warning is about. The service warns of it once, and again only after a line says that it has ended. A
// process of the role of stories has a consumer for each topic that it reads.
type cause struct{ component, reads, subject, text string }

var (
	httpPattern       = regexp.MustCompile(` http=(\S+)`)
	generationPattern = regexp.MustCompile(`msg="joined group generation".* group=(\S+) generation=(\d+)`)
	messagePattern    = regexp.MustCompile(` level=(\S+) msg=("(?:[^"\\]|\\.)*"|\S+)(.*)`)
	componentPattern  = regexp.MustCompile(` component=(\S+)`)
	readsPattern      = regexp.MustCompile(` reads=(\S+)`)
	subjectPattern    = regexp.MustCompile(` (?:operation|kind|partition)=(\S+)`)
)

const (
	newGeneration = `"joined group generation"` // ends every cause of the component
	// forgotten is no state but an event, which can come several times.
	forgotten = `"the output partitions no longer know this producer, taking the partition over again"`
)

// endings end the causes of their component and subject.
var endings = []string{`"kafka operation works again"`, `"connection is up"`, `"Redis no longer needs attention"`,
	newGeneration}

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
	if m := messagePattern.FindSubmatch(line); m != nil {
		l.message(string(m[1]), cause{first(componentPattern, m[3]), first(readsPattern, m[3]),
			first(subjectPattern, m[3]), string(m[2])})
	}
	_, _ = l.file.Write(append(line, '\n'))
}

// message notes what a line says about a cause.
func (l *log) message(level string, c cause) {
	switch {
	case slices.Contains(endings, c.text):
		maps.DeleteFunc(l.standing, func(known cause, _ bool) bool {
			return known.component == c.component && known.reads == c.reads &&
				(known.subject == c.subject || c.text == newGeneration)
		})
	case level != "WARN" && level != "ERROR" || c.text == forgotten:
	case l.standing[c]:
		l.repeated[c.component]++
	default:
		l.standing[c] = true
	}
}

// first is the first group of the first match, or "".
func first(pattern *regexp.Regexp, text []byte) string {
	if m := pattern.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// follow reads the output of the process until the output ends.
func (l *log) follow(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		l.line(lines.Bytes())
	}
}
