package load

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
	"strconv"
	"syscall"
	"time"
)

const (
	readyTimeout = 2 * time.Minute // loading takes a second, joining a group up to half a minute
	stopTimeout  = 30 * time.Second
	readyTick    = 10 * time.Millisecond
)

// Process is a service in a process of its own. Its log must be JSON and of level info: the address of its HTTP listener is read
// from there.
type Process struct {
	URL string // of its HTTP listener

	cmd   *exec.Cmd
	began time.Time
	ended chan struct{}
	fault error // set before ended is closed
}

// StartProcess starts the command and waits until its HTTP listener is open. Warnings and errors of its log go to warnings.
func StartProcess(ctx context.Context, cmd *exec.Cmd, warnings io.Writer) (*Process, error) {
	cmd.SysProcAttr = childAttributes()
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("load: the service: %w", err)
	}
	p := &Process{cmd: cmd, began: time.Now(), ended: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("load: the service: %w", err)
	}
	address := make(chan string, 1)
	go func() {
		last := readLog(log, address, warnings)
		if err := cmd.Wait(); err != nil {
			p.fault = fmt.Errorf("load: the service ended: %w: %s", err, last)
		} else {
			p.fault = errors.New("load: the service was stopped")
		}
		close(p.ended)
	}()
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	select {
	case a := <-address:
		p.URL = "http://" + a
		return p, nil
	case <-p.ended:
		return nil, p.fault
	case <-ctx.Done():
		p.Stop()
		return nil, ctx.Err()
	case <-timeout.C:
		p.Stop()
		return nil, fmt.Errorf("load: the service opened no HTTP listener within %s", readyTimeout)
	}
}

// readLog reads the log to its end, sends the address of the HTTP listener once, passes on warnings and errors, and returns
// the last line.
func readLog(log io.Reader, address chan<- string, warnings io.Writer) (last string) {
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		line = bytes.TrimSpace(line)
		var entry struct{ Level, Msg, HTTP, Component, Err string }
		switch known := json.Unmarshal(line, &entry) == nil; {
		case known && entry.Msg == "starting" && entry.HTTP != "":
			select {
			case address <- entry.HTTP:
			default:
			}
		case len(line) > 0 && (!known || entry.Level == "WARN" || entry.Level == "ERROR"):
			if last = string(line); known {
				last = fmt.Sprintf("%s (%s): %s", entry.Msg, entry.Component, entry.Err)
			}
			fmt.Fprintf(warnings, "service: %s\n", last)
		}
		if err != nil {
			return last
		}
	}
}

// WaitReady waits for /readyz to answer 200 and returns the time since the process was started.
func (p *Process) WaitReady(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(readyTick)
	defer tick.Stop()
	last := ""
	for {
		code, body, err := get(ctx, p.URL+"/readyz")
		if err == nil && code == http.StatusOK {
			return time.Since(p.began), nil
		}
		if err == nil {
			last = string(body)
		}
		select {
		case <-p.ended:
			return 0, p.fault
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return 0, fmt.Errorf("load: the service is not ready after %s: %s", readyTimeout, last)
			}
			return 0, ctx.Err()
		case <-tick.C:
		}
	}
}

// Stop ends the process as an orchestrator does; one that does not end within half a minute is killed.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case <-p.ended:
	case <-timeout.C:
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// peakMemory is the most resident memory that the process has had so far, its start included, in bytes; 0 where the system does not
// say it, as everywhere except on Linux.
func (p *Process) peakMemory() int64 {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	var kib int64
	_, _ = fmt.Sscan(string(rest), &kib)
	return kib << 10
}
