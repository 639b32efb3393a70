package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"echosieve/app/config"
	"echosieve/cmd/echosieve-lab/child"
	"echosieve/internal/stopping"
)

const (
	readyTimeout = 2 * time.Minute // joining a consumer group can take half a minute
	stopTimeout  = 30 * time.Second
	readyTick    = 10 * time.Millisecond
)

// process is the service, which runs in a child process.
type process struct {
	url   string // of its HTTP listener
	child *child.Process
	began time.Time
}

// startService starts the service binary at path with the configuration; without a path that is "echosieve"
// beside the binary of this program. Its HTTP listener takes a free port of the loopback interface. Warnings and errors
// of its log go to log.
func startService(path string, cfg config.Config, log io.Writer) (*process, error) {
	if path == "" {
		own, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf(
				"load: the path of this program is unknown: %w; name the service with --service PATH", err)
		}
		path = filepath.Join(filepath.Dir(own), "echosieve")
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return nil, fmt.Errorf(
			"there is no service binary at %s; make build puts it beside echosieve-lab; or name it with --service PATH", path)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	cfg.HTTP.Listen = free.Addr().String()
	_ = free.Close() // for the service
	cfg.Log = config.LogConfig{Level: "warn", Format: config.LogText}
	cmd := exec.Command(path, "run") //nolint:noctx // Stop ends it in order
	cmd.Env, cmd.Stderr = cfg.Environ(), log
	p := &process{url: "http://" + cfg.HTTP.Listen, began: time.Now()}
	if p.child, err = child.Start(cmd); err != nil {
		return nil, fmt.Errorf("load: the service: %w", err)
	}
	return p, nil
}

// whileRuns returns a context that ends when the process does. Its cause is the reason.
func (p *process) whileRuns(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-p.child.Done:
			cancel(fmt.Errorf("load: the service has ended, see its log above: %v", p.child.Cmd.ProcessState))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// waitReady waits until the service is ready and returns the time since the process was started.
func (p *process) waitReady(ctx context.Context) (time.Duration, error) {
	limited, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	err := WaitReady(limited, p.url)
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, fmt.Errorf("load: the service is not ready after %s: %w", readyTimeout, err)
	}
	return time.Since(p.began), nil
}

// WaitReady waits until /readyz of a service, at an address such as http://127.0.0.1:9464, answers 200. If ctx ends
// before, the error is the last answer.
func WaitReady(ctx context.Context, service string) error {
	for {
		code, body, err := get(ctx, service+"/readyz")
		if err == nil && code == http.StatusOK {
			return nil
		}
		if stopping.Wait(ctx, readyTick) != nil {
			return cmp.Or(err, errors.New(string(body)))
		}
	}
}
