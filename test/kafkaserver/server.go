package kafkaserver

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"echosieve/test/child"
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
	// SecureAddr is host:port of the SASL_SSL listener; empty without the Secure option.
	SecureAddr string
	// Dir holds configuration, data and log.
	Dir string

	t         testing.TB
	classPath string
	heap      string // of the Java machine, in MiB
	cmd       *exec.Cmd
	exited    chan struct{}
}

// Option changes the server's properties.
type Option func(*options)

type options struct {
	properties map[string]string
	format     []string // arguments of the storage tool
	secure     bool
}

// With sets a broker property.
func With(key, value string) Option { return func(o *options) { o.properties[key] = value } }

// Secure adds a SASL_SSL listener with SCRAM-SHA-256, SCRAM-SHA-512 and PLAIN, and an authorizer that denies
// what no ACL allows. keyStore holds the PEM key and certificate of the broker, caFile the authority. The
// plaintext listener stays open, for a super user.
func Secure(keyStore, caFile string, users map[string]string) Option {
	return func(o *options) {
		o.secure = true
		plain := ""
		for _, name := range slices.Sorted(maps.Keys(users)) {
			for _, mechanism := range []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} {
				o.format = append(o.format, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, name, users[name]))
			}
			plain += fmt.Sprintf(" user_%s=\"%s\"", name, users[name])
		}
		maps.Copy(o.properties, map[string]string{
			"ssl.keystore.type":       "PEM",
			"ssl.keystore.location":   keyStore,
			"ssl.truststore.type":     "PEM",
			"ssl.truststore.location": caFile,
			"sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
			"authorizer.class.name":   "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"super.users":             "User:admin;User:ANONYMOUS",
			"listener.name.secure.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
			"listener.name.secure.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
			"listener.name.secure.plain.sasl.jaas.config":         "org.apache.kafka.common.security.plain.PlainLoginModule required" + plain + ";",
		})
	}
}

// Start starts a broker of the version and waits until it serves. It is stopped at the end of the test.
func Start(t testing.TB, version string, opts ...Option) *Server {
	t.Helper()
	if addr := os.Getenv("ECHOSIEVE_TEST_KAFKA"); addr != "" {
		return &Server{Addr: addr, t: t}
	}
	s := &Server{t: t, classPath: jars(t, version), Dir: t.TempDir(), heap: "512"}
	ports := freePorts(t, 3)
	s.Addr = fmt.Sprintf("127.0.0.1:%d", ports[0])
	o := options{properties: properties(s.Dir, ports)}
	for _, opt := range opts {
		opt(&o)
	}
	if o.secure {
		s.SecureAddr = fmt.Sprintf("127.0.0.1:%d", ports[2])
		o.properties["listeners"] += fmt.Sprintf(",SECURE://127.0.0.1:%d", ports[2])
		o.properties["advertised.listeners"] += fmt.Sprintf(",SECURE://localhost:%d", ports[2])
		o.properties["listener.security.protocol.map"] += ",SECURE:SASL_SSL"
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

func properties(dir string, ports []int) map[string]string {
	return map[string]string{
		"process.roles":                  "broker,controller",
		"node.id":                        "1",
		"controller.quorum.voters":       fmt.Sprintf("1@127.0.0.1:%d", ports[1]),
		"controller.listener.names":      "CONTROLLER",
		"listeners":                      fmt.Sprintf("PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", ports[0], ports[1]),
		"advertised.listeners":           fmt.Sprintf("PLAINTEXT://127.0.0.1:%d", ports[0]),
		"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"log.dirs":                       filepath.Join(dir, "data"),
		"auto.create.topics.enable":      "false",
		"num.network.threads":            "2",
		"num.io.threads":                 "4",
		"log.cleaner.dedupe.buffer.size": "16777216",
		"log.cleaner.backoff.ms":         "500",
		// Tests publish old articles, and brokers delete by the records' timestamps: a first time 30 s after their start.
		"log.retention.ms":                                            "-1",
		"offsets.topic.replication.factor":                            "1",
		"offsets.topic.num.partitions":                                "4",
		"transaction.state.log.replication.factor":                    "1",
		"transaction.state.log.min.isr":                               "1",
		"transaction.state.log.num.partitions":                        "4",
		"share.coordinator.state.topic.replication.factor":            "1",
		"share.coordinator.state.topic.min.isr":                       "1",
		"share.coordinator.state.topic.num.partitions":                "4",
		"group.initial.rebalance.delay.ms":                            "0",
		"group.min.session.timeout.ms":                                "1000",
		"broker.session.timeout.ms":                                   "2000",
		"broker.heartbeat.interval.ms":                                "500",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
	}
}

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
	deadline := time.Now().Add(90 * time.Second)
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

// freePorts returns ports that were free a moment ago.
func freePorts(t testing.TB, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}
