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
	"path/filepath"
	"time"

	"echosieve/app/child"
	"echosieve/app/config"
)

const (
	readyTimeout = 2 * time.Minute // joining a consumer group can take half a minute
	stopTimeout  = 30 * time.Second
	readyTick    = 10 * time.Millisecond
	serviceName  = "echosieve"
)

// Process is a service that runs in a child process. Its log must be JSON and of level info, because the
// address of its HTTP listener is read from the log.
type Process struct {
	URL string // of its HTTP listener

	child *child.Process
	began time.Time
	ended chan struct{}
	fault error // set before ended is closed
}

// startService starts the service binary at path with the configuration; without a path that is "echosieve"
// beside the binary of this program. Its HTTP listener takes a free port of the loopback interface.
func startService(ctx context.Context, path string, cfg config.Config, warnings io.Writer) (*Process, error) {
	path, err := findService(path)
	if err != nil {
		return nil, err
	}
	cfg.HTTP.Listen = "127.0.0.1:0"
	cfg.Log = config.LogConfig{Level: "info", Format: config.LogJSON}
	cmd := exec.Command(path, "run") //nolint:noctx // Process.Stop ends it in order
	cmd.Env = cfg.Environ()
	return StartProcess(ctx, cmd, warnings)
}

func findService(path string) (string, error) {
	if path == "" {
		own, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf(
				"load: the path of this program is unknown: %w; name the service with --service PATH", err)
		}
		path = filepath.Join(filepath.Dir(own), serviceName)
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return "", fmt.Errorf(
			"there is no service binary at %s; make build puts it beside echosieve-lab; or name it with --service PATH", path)
	}
	return path, nil
}

// StartProcess starts the command and waits until its HTTP listener is open. Warnings and errors of its log
// go to warnings.
func StartProcess(ctx context.Context, cmd *exec.Cmd, warnings io.Writer) (*Process, error) {
	log, logEnd := io.Pipe()
	cmd.Stderr = logEnd
	p := &Process{began: time.Now(), ended: make(chan struct{})}
	var err error
	if p.child, err = child.Start(cmd); err != nil {
		return nil, fmt.Errorf("load: the service: %w", err)
	}
	go func() {
		<-p.child.Done
		_ = logEnd.Close() // never fails
	}()
	address := make(chan string, 1)
	go func() {
		last := readLog(log, address, warnings)
		if err := p.child.Err(); err != nil {
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

// readLog reads the log to its end. It sends the address of the HTTP listener once, writes warnings and
// errors to warnings, and returns the last of these.
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

// Stop ends the process as an orchestrator does: SIGTERM, and SIGKILL if it has not ended after stopTimeout.
func (p *Process) Stop() {
	p.child.Stop(stopTimeout)
	<-p.ended
}
