package kafkaserver

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"echosieve/test/child"
	"echosieve/test/loopback"
)

// The versions that tests run on.
const (
	V4 = "4.3.1"
	V3 = "3.9.2"
)

// Server is one running broker.
type Server struct {
	// Addr is host:port of the plaintext listener, or a list of them from ECHOSIEVE_TEST_KAFKA.
	Addr string
	// Reached is where clients find the broker that shall stay behind a front, if it has one: who starts there is told
	// of such addresses only.
	Reached string
	// SecureAddr is host:port of the SASL_SSL listener; empty without the Secure option.
	SecureAddr string
	// LoginAddr and TLSAddr are host:port of the SASL_PLAINTEXT and the SSL listener; empty without the Secure option.
	LoginAddr, TLSAddr string
	// Dir holds configuration, data and log.
	Dir string

	t         testing.TB
	classPath string
	heap      string // of the Java machine, in MiB
	cmd       *exec.Cmd
	exited    chan struct{}
}

// Start starts a broker of the version and waits until it serves. It is stopped at the end of the test.
func Start(t testing.TB, version string, opts ...Option) *Server {
	t.Helper()
	return StartBehind(t, nil, version, opts...)
}

// StartBehind is Start with a front. It gets one address of the broker; at Addr tests go past it.
func StartBehind(t testing.TB, f loopback.Front, version string, opts ...Option) *Server {
	t.Helper()
	loopback.SkipShort(t)
	if addr := os.Getenv("ECHOSIEVE_TEST_KAFKA"); addr != "" {
		return &Server{Addr: addr, Reached: addr, t: t}
	}
	s := &Server{t: t, classPath: jars(t, version), Dir: t.TempDir(), heap: "512"}
	o := options{properties: properties(s.Dir)}
	for _, opt := range opts {
		opt(&o)
	}
	ports := loopback.Ports(t, 6)
	s.Addr, s.Reached = loopback.Addr(ports[0]), f.Before(ports[1])[0]
	o.listen("PLAINTEXT", "PLAINTEXT", s.Addr, s.Addr)
	o.listen("CLIENTS", "PLAINTEXT", loopback.Addr(ports[1]), s.Reached)
	controller := loopback.Addr(ports[2])
	o.listen("CONTROLLER", "PLAINTEXT", controller, "")
	maps.Copy(o.properties, map[string]string{
		"node.id":                    "1",
		"inter.broker.listener.name": "PLAINTEXT",
		"controller.listener.names":  "CONTROLLER",
		"controller.quorum.voters":   "1@" + controller,
	})
	if o.secure {
		s.SecureAddr = loopback.Addr(ports[3])
		o.listen("SECURE", "SASL_SSL", s.SecureAddr, fmt.Sprintf("localhost:%d", ports[3]))
		s.LoginAddr, s.TLSAddr = loopback.Addr(ports[4]), loopback.Addr(ports[5])
		o.listen("LOGIN", "SASL_PLAINTEXT", s.LoginAddr, s.LoginAddr)
		o.listen("ENCRYPTED", "SSL", s.TLSAddr, fmt.Sprintf("localhost:%d", ports[5]))
	}
	s.format(o)
	t.Cleanup(s.Stop)
	s.run()
	return s
}

// format writes the configuration and prepares the data folder.
func (s *Server) format(o options) {
	s.t.Helper()
	var file bytes.Buffer
	for _, k := range slices.Sorted(maps.Keys(o.properties)) {
		fmt.Fprintf(&file, "%s=%s\n", k, o.properties[k])
	}
	if err := os.WriteFile(s.config(), file.Bytes(), 0o600); err != nil {
		s.t.Fatal(err)
	}
	id := base64.RawURLEncoding.EncodeToString([]byte("echosieve-test-1"))
	format := exec.CommandContext(s.t.Context(), "java", append([]string{"-cp", s.classPath, "kafka.tools.StorageTool", "format", "-t", id, "-c", s.config()}, o.format...)...)
	if out, err := format.CombinedOutput(); err != nil {
		s.t.Fatalf("format Kafka storage: %v\n%s", err, out)
	}
}

func (s *Server) config() string { return filepath.Join(s.Dir, "server.properties") }

// run starts the process and waits until it says that it serves.
func (s *Server) run() {
	s.t.Helper()
	s.launch()
	s.await()
}

func (s *Server) launch() {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.Dir, "server.log"), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	// Not bound to the test's context: that ends before the cleanup, which stops the broker in good order.
	s.cmd = exec.CommandContext(context.WithoutCancel(s.t.Context()), "java", "-Xms256m", "-Xmx"+s.heap+"m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-cp", s.classPath, "kafka.Kafka", s.config())
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.Dir, log, log
	// The broker must not outlive a test process that is killed.
	s.cmd.SysProcAttr = child.DiesWithParent()
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	exited, cmd := make(chan struct{}), s.cmd
	s.exited = exited
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
}

// await waits until the process says that it serves.
func (s *Server) await() {
	s.t.Helper()
	deadline := time.Now().Add(4 * time.Minute) // three that start together on a busy machine
	for !strings.Contains(s.Log(), "Kafka Server started") {
		select {
		case <-s.exited:
			s.t.Fatalf("Kafka ended at its start:\n%s", s.Log())
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("Kafka did not start in time:\n%s", s.Log())
		}
	}
}

// Log returns what the broker has logged since its last start.
func (s *Server) Log() string {
	b, _ := os.ReadFile(filepath.Join(s.Dir, "server.log"))
	return string(b)
}

// Pid returns the broker's process id; 0 when it does not run or belongs to somebody else.
func (s *Server) Pid() int {
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// Stop ends the broker in good order.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill ends the broker as a crash does.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Restart starts a stopped or killed broker again, with its data and on its ports.
func (s *Server) Restart() {
	s.t.Helper()
	if s.classPath == "" {
		s.t.Fatal("the Kafka of ECHOSIEVE_TEST_KAFKA is not ours to restart")
	}
	s.Stop()
	s.run()
}

func (s *Server) end(signal syscall.Signal) {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(signal)
	select {
	case <-s.exited:
	case <-time.After(20 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.exited
	}
	s.cmd = nil
}
