// Package kafkaserver runs real Apache Kafka for tests: broker and controller in one process, on loopback,
// with its data in a folder of the test. It needs Java 17 and Maven. Maven downloads the jars into the user's
// cache folder. A test whose broker cannot be started fails; it is not skipped.
//
// Most tests share a broker: see Shared. A test that needs a broker of its own, to kill it or to set its
// properties, calls Start.
package kafkaserver

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
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

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"echosieve/cmd/echosieve-lab/child"
	"echosieve/test/host"
)

// The versions that tests run on.
const (
	V4 = "4.3.1"
	V3 = "3.9.2"
)

// Server is one running broker.
type Server struct {
	// Addr is host:port of the plaintext listener.
	Addr string
	// Reached is host:port for clients that must use the front, if the broker has one. The broker tells
	// clients that start there only the addresses of fronts. Without a front it is another listener of the
	// broker.
	Reached string
	// SecureAddr is host:port of the SASL_SSL listener; empty without the Secure option.
	SecureAddr string
	// LoginAddr and TLSAddr are host:port of the SASL_PLAINTEXT and the SSL listener; empty without the Secure option.
	LoginAddr, TLSAddr string
	// ControllerAddr is host:port of the controller's listener, which serves brokers only.
	ControllerAddr string
	// Dir holds configuration, data and log.
	Dir string

	t       testing.TB
	kafka   installation
	heap    string         // of the Java machine, in MiB
	java    []string       // more arguments of the Java machine
	process *child.Process // nil unless the broker runs
}

// Start starts a broker of the version and waits until it serves. The broker is stopped at the end of the test.
func Start(t testing.TB, version string, opts ...Option) *Server {
	t.Helper()
	return StartBehind(t, nil, version, opts...)
}

// StartBehind is Start with a front for the address Reached. Clients that use Addr go past the front.
func StartBehind(t testing.TB, f host.Front, version string, opts ...Option) *Server {
	t.Helper()
	host.SkipShort(t)
	kafka := install(t, version)
	return start(t, kafka, kafka.useClasses(), f, opts...)
}

func start(t testing.TB, kafka installation, archive string, f host.Front, opts ...Option) *Server {
	t.Helper()
	s := &Server{t: t, kafka: kafka, Dir: t.TempDir(), heap: "512"}
	o := options{properties: properties(s.Dir)}
	for _, opt := range opts {
		opt(&o)
	}
	s.java = []string{archive}
	ports := host.Ports(t, 6)
	s.Addr, s.Reached = host.Addr(ports[0]), f.Before(ports[1])[0]
	o.listen("PLAINTEXT", "PLAINTEXT", s.Addr, s.Addr)
	o.listen("CLIENTS", "PLAINTEXT", host.Addr(ports[1]), s.Reached)
	s.ControllerAddr = host.Addr(ports[2])
	o.listen("CONTROLLER", "PLAINTEXT", s.ControllerAddr, "")
	maps.Copy(o.properties, map[string]string{
		"node.id":                    "1",
		"inter.broker.listener.name": "PLAINTEXT",
		"controller.listener.names":  "CONTROLLER",
		"controller.quorum.voters":   "1@" + s.ControllerAddr,
	})
	if o.secure {
		s.SecureAddr = host.Addr(ports[3])
		o.listen("SECURE", "SASL_SSL", s.SecureAddr, fmt.Sprintf("localhost:%d", ports[3]))
		s.LoginAddr, s.TLSAddr = host.Addr(ports[4]), host.Addr(ports[5])
		o.listen("LOGIN", "SASL_PLAINTEXT", s.LoginAddr, s.LoginAddr)
		o.listen("ENCRYPTED", "SSL", s.TLSAddr, fmt.Sprintf("localhost:%d", ports[5]))
	}
	s.format(o)
	t.Cleanup(s.Kill) // nobody reads the data any more
	s.run()
	return s
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
	require.NoError(s.t, err)
	defer func() { _ = log.Close() }()
	// Without the test's context, which ends before the cleanup: the cleanup ends the broker.
	cmd := exec.CommandContext(context.WithoutCancel(s.t.Context()), "java", slices.Concat([]string{
		"-Xms256m", "-Xmx" + s.heap + "m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", s.kafka.classPath(),
	}, s.java, []string{"kafka.Kafka", s.config()})...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Dir, log, log
	s.process, err = child.Start(cmd)
	require.NoError(s.t, err)
}

// await waits until the process says that it serves.
func (s *Server) await() {
	s.t.Helper()
	deadline := time.Now().Add(4 * time.Minute) // three brokers start together on a busy machine
	for !strings.Contains(s.Log(), "Kafka Server started") {
		select {
		case <-s.process.Done:
			s.t.Fatalf("Kafka ended at its start:\n%s", s.Log())
		case <-time.After(100 * time.Millisecond):
		}
		require.True(s.t, time.Now().Before(deadline), "Kafka did not start in time:\n%s", s.Log())
	}
}

// Log returns what the broker has logged since its last start.
func (s *Server) Log() string {
	b, _ := os.ReadFile(filepath.Join(s.Dir, "server.log"))
	return string(b)
}

// Stop ends the broker with SIGTERM: it closes its files and hands its partitions over.
func (s *Server) Stop() {
	if s.process != nil {
		s.process.Stop(20 * time.Second)
		s.process = nil
	}
}

// Kill ends the broker with SIGKILL.
func (s *Server) Kill() {
	if s.process != nil {
		s.process.Kill()
		s.process = nil
	}
}

// Freeze makes the broker hang: it keeps its connections, and answers nothing. Kill ends it.
func (s *Server) Freeze() {
	s.t.Helper()
	require.NoError(s.t, s.process.Cmd.Process.Signal(syscall.SIGSTOP))
}

// Restart starts the broker again, with its data and on its ports. It stops the broker first if it runs.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	s.run()
}

// Learnt are the settings of the topic of learnt sentences, which has one partition.
func Learnt() map[string]*string {
	return map[string]*string{"cleanup.policy": kadm.StringPtr("compact"),
		"message.timestamp.type": kadm.StringPtr("LogAppendTime")}
}

// CreateTopics creates topics and waits until each broker knows the leader of each partition. Kafka
// acknowledges the creation earlier: for a moment brokers then still reply that the topic does not exist.
func CreateTopics(t testing.TB, client *kgo.Client, partitions int32, configs map[string]*string, topics ...string) {
	t.Helper()
	created, err := kadm.NewClient(client).CreateTopics(t.Context(), partitions, -1, configs, topics...)
	require.NoError(t, errors.Join(err, created.Error()))
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = &name
		req.Topics = append(req.Topics, topic)
	}
	brokers := client.DiscoveredBrokers() // which the creation has discovered
	require.NotEmpty(t, brokers)
	for _, broker := range brokers {
		for end := time.Now().Add(4 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			res, err := broker.RetriableRequest(t.Context(), req)
			if err == nil && served(res.(*kmsg.MetadataResponse), partitions) {
				break
			}
			require.True(t, time.Now().Before(end), "the topics %v have no leaders: %v, %v", topics, res, err)
		}
	}
}

func served(res *kmsg.MetadataResponse, partitions int32) bool {
	for _, topic := range res.Topics {
		if topic.ErrorCode != 0 || len(topic.Partitions) != int(partitions) {
			return false
		}
		for _, p := range topic.Partitions {
			if p.ErrorCode != 0 || p.Leader < 0 {
				return false
			}
		}
	}
	return true
}

// clusterID is that of every cluster: 16 bytes, written as Kafka does.
var clusterID = base64.RawURLEncoding.EncodeToString([]byte("echosieve-test-1"))

// format writes the configuration and prepares the data folder.
func (s *Server) format(o options) {
	s.t.Helper()
	var file bytes.Buffer
	for _, k := range slices.Sorted(maps.Keys(o.properties)) {
		fmt.Fprintf(&file, "%s=%s\n", k, o.properties[k])
	}
	require.NoError(s.t, os.WriteFile(s.config(), file.Bytes(), 0o600))
	format := exec.CommandContext(s.t.Context(), "java", append([]string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-cp", s.kafka.classPath(), "kafka.tools.StorageTool", "format", "-t", clusterID, "-c", s.config()}, o.format...)...)
	out, err := format.CombinedOutput()
	require.NoError(s.t, err, "format Kafka storage: %s", out)
}
