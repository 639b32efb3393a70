// Package service builds the echosieve command once for a test package and runs it as a process.
package service

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve-lab/child"
	"echosieve/test/host"
	"echosieve/test/kafkaserver"
)

// Patience bounds every wait for something that takes a second or two.
const Patience = 4 * time.Minute

// Binary is the built command, from Main on.
var Binary string

// Main is for TestMain: it builds the programs, runs the tests, stops their shared broker and returns the exit
// code. Under go test -short it does nothing: these tests need servers.
func Main(m *testing.M) int {
	flag.Parse()
	if testing.Short() {
		return 0
	}
	programs := ""
	dir, err := os.MkdirTemp("", "echosieve-test-*")
	if err == nil {
		defer os.RemoveAll(dir)
		programs, err = Programs(dir)
	}
	if err := errors.Join(err, os.Chmod(dir, 0o755)); err != nil { // tests may run it as another user
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	Binary = filepath.Join(programs, "echosieve")
	return kafkaserver.Main(m)
}

// Variable is the environment variable that names a folder with the built programs. test/servers sets it.
const Variable = "ECHOSIEVE_TEST_PROGRAMS"

// Programs returns the folder of the built programs, echosieve and echosieve-lab: the one of Variable if it
// is set, else dir, into which it builds them.
func Programs(dir string) (string, error) {
	if built := os.Getenv(Variable); built != "" {
		return built, nil
	}
	// The flags are those of go test, which has compiled most packages already.
	if out, err := exec.Command("go", "build", "-o", dir+"/", "echosieve/cmd/echosieve",
		"echosieve/cmd/echosieve-lab").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return dir, nil
}

// Settings are by their names in the configuration; they are given in the environment.
type Settings map[string]string

// With returns the settings with changes.
func (s Settings) With(changes Settings) Settings {
	all := maps.Clone(s)
	maps.Copy(all, changes)
	return all
}

// Environ is the environment of a process with the settings.
func (s Settings) Environ() []string {
	env := os.Environ()
	for k, v := range s {
		env = append(env, "ECHOSIEVE_"+strings.ToUpper(strings.ReplaceAll(k, ".", "_"))+"="+v)
	}
	return env
}

// Process is a running service.
type Process struct {
	*child.Process
	HTTP string // address of its listener

	log Output
}

// Start starts the service; it ends with the test at the latest. If the test has failed by then, its log is shown.
func Start(t testing.TB, s Settings, change ...func(*exec.Cmd)) *Process {
	t.Helper()
	p := &Process{HTTP: host.Addr(host.Ports(t, 1)[0])}
	cmd := exec.Command(Binary, "run") // ended by End, not by a context
	cmd.Env = s.With(Settings{"http.listen": p.HTTP}).Environ()
	cmd.Stdout, cmd.Stderr = &p.log, &p.log
	for _, f := range change {
		f(cmd)
	}
	var err error
	p.Process, err = child.Start(cmd)
	require.NoError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("readiness of the service: %s", p.Get("/readyz"))
		}
		p.End(t)
		if t.Failed() {
			t.Logf("log of the service:\n%s", p.Log())
		}
	})
	return p
}

// Log returns what the service has printed so far.
func (p *Process) Log() string { return p.log.String() }

// End stops the service in good order and returns its exit code. Ending twice is harmless.
func (p *Process) End(t testing.TB) int {
	t.Helper()
	if !p.Stop(Patience) {
		t.Error("the service does not end")
	}
	return p.Cmd.ProcessState.ExitCode()
}

// Get returns status and body of a page, or the error.
func (p *Process) Get(path string) string {
	status, body, err := host.Get(context.Background(), "http://"+p.HTTP+path, 10*time.Second) // it may be frozen
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", status, body)
}

// Ready says whether readyz is green.
func (p *Process) Ready() bool { return strings.HasPrefix(p.Get("/readyz"), "200") }

// WaitReady waits for readyz to be green. It returns p.
func (p *Process) WaitReady(t testing.TB) *Process {
	t.Helper()
	p.Await(t, "/readyz", "200")
	return p
}

// Await waits until a page has the status and the texts.
func (p *Process) Await(t testing.TB, path, status string, texts ...string) {
	t.Helper()
	for end := time.Now().Add(Patience); ; time.Sleep(50 * time.Millisecond) {
		page := p.Get(path)
		lacks := func(text string) bool { return !strings.Contains(page, text) }
		if strings.HasPrefix(page, status) && !slices.ContainsFunc(texts, lacks) {
			return
		}
		if p.Ended() || time.Now().After(end) {
			t.Fatalf("%s is not %s %q: %s", path, status, texts, page)
		}
	}
}

// Metric reads one sample from /metrics; the name has its labels, as they stand there. It waits until the
// service answers.
func (p *Process) Metric(t testing.TB, name string) float64 {
	t.Helper()
	page := p.Get("/metrics")
	for end := time.Now().Add(Patience); !strings.HasPrefix(page, "200") && time.Now().Before(end) &&
		!p.Ended(); page = p.Get("/metrics") {
		time.Sleep(50 * time.Millisecond)
	}
	for line := range strings.Lines(page) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			require.NoError(t, err)
			return n
		}
	}
	t.Fatalf("no metric %s in %.200s", name, page)
	return 0
}

// Output collects what a process prints: it is for Stdout or Stderr of an exec.Cmd, and can be read while the
// process runs. Safe for concurrent use. It hides the buffer's other methods: os/exec would copy into its
// ReadFrom, past the lock.
type Output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

// String returns what was printed so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

// Lines returns the lines that are complete so far.
func (o *Output) Lines() []string {
	all := strings.Split(o.String(), "\n")
	return all[:len(all)-1]
}
