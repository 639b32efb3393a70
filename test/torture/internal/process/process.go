// Package process runs one service process of the fault runner: its start, its end, what it logs and what its
// HTTP interface says.
package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"echosieve/cmd/echosieve-lab/child"
	"echosieve/test/host"
)

// Process is one running service. It is safe for concurrent use.
type Process struct {
	Command
	Log
	Exited chan struct{} // closed when the process has ended

	child  *child.Process
	asked  atomic.Bool
	frozen atomic.Bool
	thaws  atomic.Int32
}

// Command says how to start a process.
type Command struct {
	Name   string // names the log file, too
	Dir    string // of the log file
	Binary string
	HTTP   Listener
	Args   []string
	Env    []string // in addition to the runner's own
	// Doomed says that the process will end itself, as its environment asks for. Its end counts as asked for.
	Doomed bool
}

// Start starts a process and calls ended once, when the process has ended.
func Start(c Command, ended func(*Process)) (*Process, error) {
	p := &Process{Command: c, Log: Log{filepath.Join(c.Dir, c.Name+".log")}, Exited: make(chan struct{})}
	file, err := os.Create(p.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	p.asked.Store(c.Doomed)
	cmd := exec.Command(c.Binary, append(c.Args, "--http.listen", string(c.HTTP))...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = file, file
	if p.child, err = child.Start(cmd); err != nil {
		return nil, err
	}
	go func() {
		<-p.child.Done
		ended(p)
		close(p.Exited)
	}()
	return p, nil
}

// Asked says whether somebody asked the process to end.
func (p *Process) Asked() bool { return p.asked.Load() }

// Running says whether the process is neither frozen nor asked to end.
func (p *Process) Running() bool { return !p.asked.Load() && !p.frozen.Load() }

// Thaws is the number of times that the process was frozen and resumed.
func (p *Process) Thaws() int32 { return p.thaws.Load() }

// Log is the file that a process writes its log into.
type Log struct{ path string }

// read is what the process has written so far.
func (l Log) read() []byte {
	text, _ := os.ReadFile(l.path) // Start has made it
	return text
}

var (
	generationPattern = regexp.MustCompile(`msg="joined group generation".* group=(\S+) generation=(\d+)`)
	crashPattern      = regexp.MustCompile(`(?m)^crashpoint `)
)

// Generation is the last group generation that the process has joined; 0 if it has joined none yet. A process in
// several groups has the sum of those.
func (l Log) Generation() (sum int) {
	last := map[string]int{}
	for _, m := range generationPattern.FindAllSubmatch(l.read(), -1) {
		last[string(m[1])], _ = strconv.Atoi(string(m[2]))
	}
	for _, g := range last {
		sum += g
	}
	return sum
}

// Crashed says whether the process wrote that it ends itself at a crash point.
func (l Log) Crashed() bool { return crashPattern.Match(l.read()) }

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
	<-p.Exited
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
	<-p.Exited
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
	<-p.Exited
}

// Listener is the address at which a process listens for HTTP.
type Listener string

// State returns what /readyz says: whether the process is ready, and for each component ("redis", "kafka")
// whether it is up.
func (l Listener) State(ctx context.Context) (ready bool, up map[string]bool, err error) {
	status, text, err := l.get(ctx, "/readyz")
	if err != nil {
		return false, nil, err
	}
	var body struct {
		Ready      bool
		Components map[string]struct{ Up bool }
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return false, nil, err
	}
	if body.Ready != (status == http.StatusOK) {
		return false, nil, fmt.Errorf("/readyz says ready=%t with status %d", body.Ready, status)
	}
	up = map[string]bool{}
	for name, c := range body.Components {
		up[name] = c.Up
	}
	return body.Ready, up, nil
}

// Counter returns the sum of a metric over its labels.
func (l Listener) Counter(ctx context.Context, name string) (int, error) {
	_, text, err := l.get(ctx, "/metrics")
	sum := 0.0
	for line := range strings.Lines(string(text)) {
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

func (l Listener) get(ctx context.Context, path string) (status int, body []byte, err error) {
	return host.Get(ctx, "http://"+string(l)+path, 3*time.Second)
}
