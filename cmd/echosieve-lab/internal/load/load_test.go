package load

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/test/commandtest"
	"echosieve/test/kafkatest"
	"echosieve/test/service"
)

var programs string // the folder of the service, which TestMain builds

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "echosieve-load-*")
	if err == nil {
		programs, err = service.Programs(dir)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func run(t *testing.T, code int, args ...string) (out, errOut string) {
	t.Helper()
	return commandtest.Run(t, code, commandtest.Only(Command()), "", append([]string{"load"}, args...)...)
}

// loaded is run with --json. The service is the binary that is built from this source.
func loaded(t *testing.T, code int, args ...string) (report Report, out, errOut string) {
	t.Helper()
	args = append([]string{"--json", "--warmup", "0s", "--idle", "0s", "--service",
		filepath.Join(programs, "echosieve")}, args...)
	out, errOut = run(t, code, args...)
	if out != "" {
		require.NoError(t, json.Unmarshal([]byte(out), &report), out)
	}
	return report, out, errOut
}

func TestLoadAccountsForEveryRecord(t *testing.T) {
	report, _, errOut := loaded(t, command.ExitOK, "--rate", "150", "--duration", "2s", "--warmup", "500ms", "--copies",
		".4", "--seed", "1")
	require.Equal(t, "in-process", report.Servers)
	r := report.Result
	require.Zero(t, r.Missing)
	require.Equal(t, 375, r.Published)
	require.Equal(t, 375, r.Made.Originals+r.Made.Near+r.Made.Exact)
	v := r.Verdicts
	require.Equal(t, 375, v["unique"]+v["near"]+v["exact"]+v["possible"]+v["dead"])
	copies := r.Made.Near + r.Made.Exact
	require.Greater(t, copies, 100)
	require.InDelta(t, copies, v["near"]+v["exact"], 5, "copies are caught, originals are none")
	require.GreaterOrEqual(t, v["exact"], r.Made.Exact)
	require.True(t, slices.IsSorted([]float64{r.Delay.P50, r.Delay.P90, r.Delay.P99, r.Delay.Max}), r.Delay)
	for _, figure := range []any{r.Delay.P50, r.Throughput, r.CPU, report.Service.StartMS, report.Service.IdleBytes} {
		require.Positive(t, figure)
	}
	require.GreaterOrEqual(t, report.Service.PeakBytes, report.Service.IdleBytes)
	require.Contains(t, errOut, "the service was ready after")
}

// elsewhere makes a service that reads another topic, so that no published record has a verdict, and returns its path.
func elsewhere(t *testing.T) string {
	t.Helper()
	script := "#!/bin/sh\nexport ECHOSIEVE_KAFKA_TOPICS_INPUT=elsewhere ECHOSIEVE_KAFKA_CREATE_TOPICS=true\n" +
		"exec " + filepath.Join(programs, "echosieve") + " \"$@\"\n"
	path := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.WriteFile(path, []byte(script), 0o700)) //nolint:gosec // a program
	return path
}

func TestLoadSaysWhatIsMissing(t *testing.T) {
	report, _, errOut := loaded(t, command.ExitNo, "--service", elsewhere(t), "--rate", "50", "--duration", "1s",
		"--patience", "1s")
	require.Equal(t, 50, report.Missing)
	require.Contains(t, errOut, "50 published records without a verdict")
}

// onText calls a function at the first output with the text.
type onText struct {
	mu   sync.Mutex
	all  strings.Builder
	text string
	call func()
}

func (w *onText) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(p)
	if strings.Contains(w.all.String(), w.text) {
		w.call()
	}
	return len(p), nil
}

// Ctrl-C ends a run early, also while it waits for missing records, and the figures until then are printed.
func TestLoadInterrupted(t *testing.T) {
	for name, c := range map[string]struct{ duration, at string }{
		"while it publishes": {"1m", "records/s for 1m0s"},
		"while it waits":     {"1s", "50 wait for their verdicts"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			args := []string{"load", "--json", "--rate", "50", "--duration", c.duration, "--warmup", "0s", "--idle", "0s",
				"--patience", "1h", "--service", elsewhere(t)}
			progress := &onText{text: c.at, call: cancel}
			var out bytes.Buffer
			code := command.Execute(ctx, commandtest.Only(Command()), args, nil, &out, progress)
			require.Equal(t, command.ExitFailed, code)
			require.Contains(t, progress.all.String(), "interrupted")
			if c.duration == "1s" {
				require.Contains(t, out.String(), `"interrupted": true`)
				require.Contains(t, out.String(), `"missing": 50`)
			}
		})
	}
}

// A service that cannot start ends the run.
func TestLoadWithoutOutputTopic(t *testing.T) {
	topics := config.Default().Kafka.Topics
	_, cfg := kafkatest.Fake(t, kfake.SeedTopics(2, topics.First(), topics.Unique, topics.Duplicate, topics.Dead))
	_, out, errOut := loaded(t, command.ExitFailed, "--real", "--kafka.brokers", cfg.Brokers[0], "--redis.addrs",
		"127.0.0.1:1", "--kafka.topics.dead", "nowhere")
	require.Empty(t, out)
	require.Contains(t, errOut, "nowhere")
}

// Load says where it looked for the service, before it publishes anything.
func TestLoadWithoutService(t *testing.T) {
	out, errOut := run(t, command.ExitFailed, "--service", "/nowhere/echosieve")
	require.Empty(t, out)
	require.Contains(t, errOut, "there is no service binary at /nowhere/echosieve")
	_, errOut = run(t, command.ExitFailed)
	require.Contains(t, errOut, "name it with --service PATH", "no service lies beside a test binary")
}

// The longest report: one of a large machine that fell behind.
func TestReportFitsATerminal(t *testing.T) {
	r := Report{
		Service: &Service{StartMS: 1234, IdleBytes: 60 << 20, UnderLoad: 1234 << 20, PeakBytes: 2345 << 20},
		Result: Result{Rate: 12345, Throughput: 12345, Delay: Delay{P50: 12345, P90: 23456, P99: 34567, Max: 45678},
			CPU: 1234, MostMemory: 1234 << 20, MostLag: 1234567, Published: 1703701,
			Made:     Made{Originals: 1234567, Near: 234567, Exact: 234567},
			Verdicts: map[string]int{"unique": 1234567, "near": 234567, "exact": 234567, "possible": 12345, "dead": 123}},
	}
	commandtest.FitsTerminal(t, r.text())
	for _, want := range []string{"records ", "1234567", "1234 MiB"} {
		require.Contains(t, r.text(), want)
	}
}
