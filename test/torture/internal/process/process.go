// Package process runs one service process of the fault runner: its start, its end, what it logs and what its
// HTTP interface says.
package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"echosieve/app/child"
)

// Process is one running service. It is safe for concurrent use.
type Process struct {
	Name   string
	Binary string

	child  *child.Process
	exited chan struct{} // closed when the process has ended and its log is complete
	asked  atomic.Bool
	frozen atomic.Bool
	thaws  atomic.Int32
	log    *log
}

// Command says how to start a process.
type Command struct {
	Name   string // names the log file, too
	Dir    string // of the log file
	Binary string
	Args   []string
	Env    []string // in addition to the runner's own
	// Doomed says that the process will end itself, as its environment asks for. Its end counts as asked for.
	Doomed bool
}

// Start starts a process and calls ended once, when the process has ended and its log is complete.
func Start(c Command, ended func(*Process)) (*Process, error) {
	file, err := os.Create(filepath.Join(c.Dir, c.Name+".log"))
	if err != nil {
		return nil, err
	}
	p := &Process{Name: c.Name, Binary: c.Binary, exited: make(chan struct{}), log: newLog(file)}
	p.asked.Store(c.Doomed)
	cmd := exec.Command(c.Binary, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = write, write
	if p.child, err = child.Start(cmd); err != nil {
		return nil, err
	}
	_ = write.Close()
	go func() {
		p.log.follow(read)
		_ = read.Close()
		_ = file.Close()
		<-p.child.Done
		ended(p)
		close(p.exited)
	}()
	return p, nil
}

// Asked says whether somebody asked the process to end.
func (p *Process) Asked() bool { return p.asked.Load() }

// Running says whether the process is neither frozen nor asked to end.
func (p *Process) Running() bool { return !p.asked.Load() && !p.frozen.Load() }

// Thaws is the number of times that the process was frozen and resumed.
func (p *Process) Thaws() int32 { return p.thaws.Load() }

// Generation is the last group generation that the process has joined; 0 if it has joined none yet. A process in several
// groups has the sum of those.
func (p *Process) Generation() (sum int) {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	for _, g := range p.log.generation {
		sum += g
	}
	return sum
}

// Crashed says whether the process wrote that it ends itself at a crash point.
func (p *Process) Crashed() bool {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	return p.log.crashed
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err says how the process ended; nil means exit code 0. It is for calling when Exited is closed, or from the
// callback of Start.
func (p *Process) Err() error { return p.child.Err() }

// WasKilled says whether SIGKILL ended the process. It is for calling when Exited is closed.
func (p *Process) WasKilled() bool {
	var exit *exec.ExitError
	return errors.As(p.Err(), &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// Freeze stops the process with SIGSTOP. thaw lets it resume.
func (p *Process) Freeze() (thaw func(), err error) {
	p.frozen.Store(true)
	thaw = func() {
		_ = p.child.Cmd.Process.Signal(syscall.SIGCONT)
		p.thaws.Add(1)
		p.frozen.Store(false)
	}
	if err := p.child.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		thaw()
		return nil, err
	}
	return thaw, nil
}

// Kill ends the process with SIGKILL and waits until it has ended.
func (p *Process) Kill() error {
	p.asked.Store(true)
	if err := p.child.Cmd.Process.Kill(); err != nil {
		return err
	}
	<-p.exited
	if !p.WasKilled() {
		return fmt.Errorf("%s was killed but ended with: %w", p.Name, p.Err())
	}
	return nil
}

// ErrBadExit says that a process did not end with exit code 0, or not in time, after its SIGTERM.
var ErrBadExit = errors.New("bad exit")

// Terminate ends the process with SIGTERM, as an orchestrator does, and waits until it has ended. The process
// must end with exit code 0 within the limit: an error that is ErrBadExit says that it did not.
func (p *Process) Terminate(limit time.Duration) error {
	p.asked.Store(true)
	inTime := p.child.Stop(limit)
	<-p.exited
	if !inTime {
		return fmt.Errorf("%w: %s did not end within %s of its SIGTERM", ErrBadExit, p.Name, limit)
	}
	if p.Err() != nil {
		return fmt.Errorf("%w: %s ended after SIGTERM with: %w", ErrBadExit, p.Name, p.Err())
	}
	return nil
}

// Discard ends the process with SIGKILL, whatever state it is in.
func (p *Process) Discard() {
	p.asked.Store(true)
	p.child.Kill()
	<-p.exited
}

// State returns what /readyz says: whether the process is ready, and for each component ("redis", "kafka")
// whether it is up.
func (p *Process) State(ctx context.Context) (ready bool, up map[string]bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	res, err := p.get(ctx, "/readyz")
	if err != nil {
		return false, nil, err
	}
	defer res.Body.Close()
	var body struct {
		Ready      bool
		Components map[string]struct{ Up bool }
	}
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		return false, nil, err
	}
	if body.Ready != (res.StatusCode == http.StatusOK) {
		return false, nil, fmt.Errorf("/readyz says ready=%t with status %d", body.Ready, res.StatusCode)
	}
	up = map[string]bool{}
	for name, c := range body.Components {
		up[name] = c.Up
	}
	return body.Ready, up, nil
}

// metrics returns the text of /metrics.
func (p *Process) metrics(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	res, err := p.get(ctx, "/metrics")
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

// Counter returns the sum of a metric over its labels.
func (p *Process) Counter(ctx context.Context, name string) (int, error) {
	text, err := p.metrics(ctx)
	sum := 0.0
	for line := range strings.Lines(text) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if metric, _, _ := strings.Cut(series, "{"); metric == name {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return int(sum), err
}

func (p *Process) get(ctx context.Context, path string) (*http.Response, error) {
	p.log.mu.Lock()
	addr := p.log.http
	p.log.mu.Unlock()
	if addr == "" {
		return nil, fmt.Errorf("%s does not listen yet", p.Name)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

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
