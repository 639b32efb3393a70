// Package redisserver starts real Redis servers for tests.
package redisserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve-lab/child"
	"echosieve/test/host"
)

// Server is a redis-server on a free loopback port with a directory of its own. The test that started it stops it.
type Server struct {
	Addr   string        // host:port at which clients and other servers reach it
	Client *redis.Client // speaks to this server alone, past its front; it ends with the test

	own  string // host:port at which it listens: Addr, unless it has a front
	t    testing.TB
	args []string

	process *child.Process // nil unless the server runs
}

// Variable is the environment variable that names a running Redis (host:port) for Addr. test/servers sets it.
const Variable = "ECHOSIEVE_TEST_REDIS"

// Addr returns the address of a real Redis: that of ECHOSIEVE_TEST_REDIS if it is set, else of a server that
// is started for this test. Others may use the former at the same time: use a new namespace and never flush
// it.
func Addr(t testing.TB) string {
	t.Helper()
	host.SkipShort(t)
	if addr := os.Getenv(Variable); addr != "" {
		return addr
	}
	return Start(t).Addr
}

// Program is the environment variable that names another server than redis-server, by its path.
const Program = "ECHOSIEVE_TEST_REDIS_SERVER"

func program() string { return cmp.Or(os.Getenv(Program), "redis-server") }

// Start starts a server and waits until it answers. extraArgs are arguments of redis-server, such as
// "--appendonly", "yes". Without them the server keeps nothing on disk. The server ends with the test.
// Without redis-server the test fails.
func Start(t testing.TB, extraArgs ...string) *Server {
	t.Helper()
	return StartBehind(t, nil, extraArgs...)
}

// StartBehind is Start with a front.
func StartBehind(t testing.TB, f host.Front, extraArgs ...string) *Server {
	t.Helper()
	ports := host.Ports(t, 1)
	return start(t, ports[0], f.Before(ports...)[0], extraArgs...)
}

// start starts a server that clients and other servers reach at addr.
func start(t testing.TB, port int, addr string, extraArgs ...string) *Server {
	t.Helper()
	host.SkipShort(t)
	_, err := exec.LookPath(program())
	require.NoError(t, err, "run: .ci/setup test")
	return launch(t, port, addr, append([]string{
		"--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", t.TempDir(),
		"--save", "", "--appendonly", "no", "--logfile", "redis.log", "--replica-announce-port", portOf(addr),
	}, extraArgs...)...)
}

// launch runs redis-server with arguments. The server listens on the port.
func launch(t testing.TB, port int, addr string, args ...string) *Server {
	t.Helper()
	s := &Server{Addr: addr, own: host.Addr(port), t: t, args: args}
	s.Client = redis.NewClient(&redis.Options{Addr: s.own, MaxRetries: -1, DialerRetries: 1,
		DialTimeout: 2 * time.Second})
	t.Cleanup(func() { _ = s.Client.Close() })
	t.Cleanup(s.Stop)
	s.Restart()
	return s
}

// Pid is the process id of the running server.
func (s *Server) Pid() int { return s.process.Cmd.Process.Pid }

// Stop ends the server with SIGTERM: the server writes its data to disk if it is configured to. Stop does
// nothing if the server does not run.
func (s *Server) Stop() {
	if s.process != nil {
		s.process.Stop(10 * time.Second)
		s.process = nil
	}
}

// Kill ends the server with SIGKILL.
func (s *Server) Kill() {
	if s.process != nil {
		s.process.Kill()
		s.process = nil
	}
}

// Restart stops the server if it runs, starts it again on the same port and directory, and waits until it answers.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	cmd := exec.Command(program(), s.args...) // ended by Stop, not by a context
	var err error
	s.process, err = child.Start(cmd)
	require.NoError(s.t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: s.own, MaxRetries: -1})
	defer client.Close()
	for !isReply(client.Ping(ctx).Err()) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.process.Done:
			s.t.Fatalf("redis-server ended at once: %s", s.log())
		case <-ctx.Done():
			s.t.Fatalf("redis-server does not answer: %s", s.log())
		}
	}
}

// isReply says whether err, the result of a PING, is the reply of a server that is ready: no error, or an
// error such as a missing password.
func isReply(err error) bool {
	var reply redis.Error
	return err == nil || errors.As(err, &reply) && !redis.IsLoadingError(err)
}

func (s *Server) log() string {
	text, err := os.ReadFile(filepath.Join(s.args[slices.Index(s.args, "--dir")+1], "redis.log"))
	return fmt.Sprintf("%v\n%s", err, text)
}

// portOf is the port of an address that the loopback package made.
func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}
