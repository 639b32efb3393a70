// Package security tests the built binary with a Kafka and a Redis that require certificates, logins and
// rights. The documented rights must suffice, each of them must be necessary, and check and run must name
// cause and remedy of every usual mistake. It holds tests only.
package security

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/certs"
	"echosieve/test/commandtest"
	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

func TestMain(m *testing.M) { os.Exit(service.Main(m)) }

// The topics and the group are the defaults: docs/security.md gives the rights for them.
var (
	input   = "articles"
	outputs = []string{"articles-unique", "articles-duplicate", "articles-dead"}
	shadow  = "articles-shadow"
)

// fortress is a Kafka and a Redis that require certificates, logins and rights.
type fortress struct {
	kafka     *kafkaserver.Server
	admin     *kadm.Client // super user, over the plaintext listener
	adminRaw  *kgo.Client
	redis     *redis.Client // all rights, over the plaintext port
	redisTLS  string
	authority *certs.Authority
	settings  settings // of a service that works
	secrets   []string

	mu      sync.Mutex
	printed []byte // everything that the processes printed and served
}

type settings = service.Settings

// build starts the servers, creates topics and users, and grants the rights of docs/security.md.
func build(t *testing.T) *fortress {
	t.Helper()
	f := &fortress{authority: certs.NewAuthority(t)}
	const kafkaPassword, otherPassword, redisPassword = "kAfKa-sEcReT-51f0", "kAfKa-eViL-9e2d", "rEdIs-sEcReT-77b4"
	f.secrets = []string{kafkaPassword, otherPassword, redisPassword}

	f.kafka = kafkaserver.Start(t, kafkaserver.V4,
		kafkaserver.Secure(f.authority.Server().Store, f.authority.File, map[string]string{"echosieve": kafkaPassword,
			"echosieve-shadow": kafkaPassword, "eve": otherPassword}),
		kafkaserver.With("listener.name.secure.ssl.client.auth", "required"))
	f.adminRaw = kafkaserver.Client(t, f.kafka.Addr)
	f.admin = kadm.NewClient(f.adminRaw)
	kafkaserver.CreateTopics(t, f.adminRaw, 2, nil, append([]string{input, shadow}, outputs...)...)
	kafkaserver.CreateTopics(t, f.adminRaw, 1, kafkaserver.Learnt(), "articles-learnt")
	for _, line := range append(kafkaRights(t, "echosieve"), kafkaRights(t, "echosieve-shadow")...) {
		f.grant(t, line)
	}

	f.redisTLS = host.Addr(host.Ports(t, 1)[0])
	_, port, _ := net.SplitHostPort(f.redisTLS)
	server := f.authority.ServerOn("127.0.0.1")
	f.redis = redisserver.Start(t, "--tls-port", port, "--tls-cert-file", server.Cert, "--tls-key-file", server.Key,
		"--tls-ca-cert-file", f.authority.File, "--tls-auth-clients", "yes").Client
	f.allowRedis(t, "echosieve", redisPassword)
	f.allowRedis(t, "echosieve-shadow", redisPassword)
	require.NoError(t, f.redis.Do(t.Context(), "ACL", "SETUSER", "default", "-@all", "+@admin", "+@connection").Err())

	me := f.authority.Client("echosieve")
	secret := filepath.Join(t.TempDir(), "redis")
	require.NoError(t, os.WriteFile(secret, []byte(redisPassword+"\n"), 0o600))
	f.settings = settings{
		"kafka.brokers": f.kafka.SecureAddr, "kafka.tls.enabled": "true", "kafka.tls.ca_file": f.authority.File,
		"kafka.tls.server_name": "localhost", "kafka.tls.cert_file": me.Cert, "kafka.tls.key_file": me.Key,
		"kafka.sasl.mechanism": "scram-sha-512", "kafka.sasl.username": "echosieve",
		"kafka.sasl.password":   kafkaPassword,
		"kafka.session_timeout": "6s", "kafka.commit_interval": "200ms",
		"redis.addrs": f.redisTLS, "redis.tls.enabled": "true", "redis.tls.ca_file": f.authority.File,
		"redis.tls.cert_file": me.Cert, "redis.tls.key_file": me.Key, "redis.username": "echosieve",
		"redis.password_file": secret,
		"log.level":           "debug",
	}
	t.Cleanup(func() { f.checkSecrets(t) })
	return f
}

// note keeps the output of a process for checkSecrets.
func (f *fortress) note(data []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.printed = append(f.printed, data...)
}

// checkSecrets searches the output of all processes, with errors and debug log, for passwords.
func (f *fortress) checkSecrets(t *testing.T) {
	require.NotEmpty(t, f.printed)
	for _, secret := range f.secrets {
		if i := bytes.Index(f.printed, []byte(secret)); i >= 0 {
			t.Errorf("a password was printed: ...%s", f.printed[max(0, i-200):i])
		}
	}
}

type finding struct{ Component, Severity, Subject, Problem, Remedy string }

// check runs echosieve check, which must end with an exit code unless it is commandtest.Any, and returns its findings.
func (f *fortress) check(t *testing.T, code int, s settings, flags ...string) []finding {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), service.Binary, append([]string{"check", "--json"}, flags...)...)
	cmd.Env = s.Environ()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	f.note(out.Bytes())
	f.note(errOut.Bytes())
	var result struct{ Findings []finding }
	require.NoError(t, json.Unmarshal(out.Bytes(), &result), "%v %s%s", err, out.Bytes(), errOut.Bytes())
	got := cmd.ProcessState.ExitCode()
	require.True(t, got == code || code == commandtest.Any, "exit code %d: %+v", got, result.Findings)
	return result.Findings
}

// failures returns the findings that keep the service from starting.
func failures(findings []finding) []finding {
	var bad []finding
	for _, f := range findings {
		if f.Severity == "failure" {
			bad = append(bad, f)
		}
	}
	return bad
}

// process is a running service whose output checkSecrets searches.
type process struct {
	*service.Process
	f *fortress
}

func (f *fortress) run(t *testing.T, s settings) *process {
	t.Helper()
	p := &process{service.Start(t, s), f}
	t.Cleanup(func() { p.end(t) })
	return p
}

// end notes what the service serves, stops it, notes its log, and returns its exit code.
func (p *process) end(t *testing.T) int {
	t.Helper()
	if !p.Ended() {
		for _, path := range []string{"/", "/metrics", "/readyz", "/healthz"} {
			p.f.note([]byte(p.Get(path)))
		}
	}
	code := p.End(t)
	p.f.note([]byte(p.Log()))
	return code
}

// waitFor waits until the log or /readyz contains a text. If ends, it waits until the process has ended and
// the log contains it.
func (p *process) waitFor(t *testing.T, text string, ends bool) {
	t.Helper()
	for end := time.Now().Add(service.Patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if p.Ended() {
			require.True(t, ends, "the service has ended")
			require.Contains(t, p.Log(), text)
			require.Equal(t, 2, p.End(t))
			return
		}
		if !ends && strings.Contains(p.Log()+p.Get("/readyz"), text) {
			return
		}
	}
	t.Fatalf("neither the log nor /readyz contains %q", text)
}

var published int

// publish publishes an article, a copy of it and a broken record. It returns their key.
func (f *fortress) publish(t *testing.T) string {
	t.Helper()
	published++
	mark := fmt.Sprintf("mark-%d", published)
	var words strings.Builder // enough words, or the service would treat the text as too short
	for range 30 {
		fmt.Fprintf(&words, " w%x", rand.Uint32())
	}
	text := fmt.Sprintf(`{"text":"%s%s"}`, mark, words.String())
	var recs []*kgo.Record
	for i, value := range []string{text, text, mark + " is no JSON"} {
		recs = append(recs, &kgo.Record{Topic: input, Partition: int32(i % 2), Key: []byte(mark),
			Value: []byte(value), Timestamp: time.Now()})
	}
	require.NoError(t, f.adminRaw.ProduceSync(t.Context(), recs...).FirstErr())
	return mark
}

// await waits for the verdicts of the three records that publish published.
func (f *fortress) await(t *testing.T, mark string) {
	t.Helper()
	f.awaitIn(t, mark, len(outputs), outputs...)
}

// awaitIn waits until the topics hold the verdicts of so many records that have the key mark.
func (f *fortress) awaitIn(t *testing.T, mark string, want int, topics ...string) {
	t.Helper()
	kafkaserver.Read(t, f.kafka.Addr, topics, func(all []*kgo.Record) bool {
		seen := map[string]bool{}
		for _, r := range all {
			if string(r.Key) == mark {
				seen[ledger.Headers(r)[pipeline.HeaderInput]] = true
			}
		}
		return len(seen) >= want
	})
}
