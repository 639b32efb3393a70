package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"echosieve/app/command"
	"echosieve/app/command/commandtest"
	"echosieve/app/config"
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

// run runs load, which must end with this exit code, and returns its output.
func run(t *testing.T, code int, args ...string) (out, errOut string) {
	t.Helper()
	return commandtest.Run(t, code, commandtest.Only(Command()), "", append([]string{"load"}, args...)...)
}

// loaded is run with --json. The service is the binary that is built from this source.
func loaded(t *testing.T, code int, args ...string) (report Report, out, errOut string) {
	t.Helper()
	args = append([]string{"--json", "--warmup", "0s", "--idle", "0s"}, args...)
	if !slices.Contains(args, "--metrics") {
		args = append(args, "--service", filepath.Join(programs, "echosieve"))
	}
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
	require.Zero(t, report.Missing)
	require.Len(t, report.Results, 1)
	r := report.Results[0]
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
	require.GreaterOrEqual(t, report.Service.UnderLoad, r.Memory)
	require.GreaterOrEqual(t, report.Service.PeakBytes, report.Service.IdleBytes)
	require.Contains(t, errOut, "the service was ready after")
}

func TestLoadFindsALimit(t *testing.T) {
	defer func(usual float64) { mostGrowth = usual }(mostGrowth)
	mostGrowth = 1000 // more than any machine shows in two seconds
	report, _, _ := loaded(t, command.ExitOK, "--find-limit", "--rate", "20", "--duration", "2s", "--limit-time", "1s",
		"--at", "50", "--max-delay", "1m")
	require.Len(t, report.Trials, 1, "the first trial takes longer than the search may")
	require.InDelta(t, 20, report.Limit.PerSecond, 0)
	require.Contains(t, report.Limit.Rule, "at most 1m0s")
	require.Len(t, report.Results, 1)
	require.Equal(t, []float64{50, 10}, []float64{float64(report.Results[0].Share), report.Results[0].Rate})
}

// startBroker starts a broker with the topics of the default configuration and returns its address.
func startBroker(t *testing.T) string {
	t.Helper()
	topics := config.Default().Kafka.Topics
	_, cfg := kafkatest.Fake(t, kfake.SeedTopics(2, topics.Input, topics.Unique, topics.Duplicate, topics.Dead))
	return cfg.Brokers[0]
}

// noService starts a broker whose input topic nobody reads, and an HTTP server with the metrics of a service.
func noService(t *testing.T) (args []string) {
	t.Helper()
	metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 1\n"))
	}))
	t.Cleanup(metrics.Close)
	return []string{"--real", "--kafka.brokers", startBroker(t), "--metrics", metrics.URL + "/metrics"}
}

func TestLoadSaysWhatIsMissing(t *testing.T) {
	report, _, errOut := loaded(t, command.ExitNo, append(noService(t), "--rate", "50", "--duration", "1s",
		"--patience", "1s")...)
	require.Equal(t, []int{50, 50}, []int{report.Missing, report.Results[0].Missing})
	require.False(t, report.Results[0].Sustained)
	require.Equal(t, "configured", report.Servers)
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
		"while it publishes": {"1h", "records/s for 1h0m0s"},
		"while it waits":     {"1s", "50 wait for their verdicts"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			args := append([]string{"load", "--json", "--rate", "50", "--duration", c.duration, "--warmup", "0s",
				"--patience", "1h"}, noService(t)...)
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

// A service that cannot start ends the run, and so do output topics that nobody could write to.
func TestLoadWithoutOutputTopic(t *testing.T) {
	for _, c := range []struct{ args, says []string }{
		{[]string{"--real", "--kafka.brokers", startBroker(t), "--redis.addrs", "127.0.0.1:1"}, []string{"nowhere"}},
		{noService(t), []string{"the output topics", "nowhere", "--kafka.create_topics"}},
	} {
		_, out, errOut := loaded(t, command.ExitFailed, append(c.args, "--kafka.topics.dead", "nowhere")...)
		require.Empty(t, out)
		for _, says := range c.says {
			require.Contains(t, errOut, says)
		}
	}
}

// Load says where it looked for the service, before it publishes anything.
func TestLoadWithoutService(t *testing.T) {
	out, errOut := run(t, command.ExitFailed, "--service", "/nowhere/echosieve")
	require.Empty(t, out)
	require.Contains(t, errOut, "there is no service binary at /nowhere/echosieve")
	_, errOut = run(t, command.ExitFailed)
	require.Contains(t, errOut, "name it with --service PATH", "no service lies beside a test binary")
}

func TestSearchForTheLimit(t *testing.T) {
	later := time.Now().Add(time.Hour)
	for _, limit := range []float64{2, 30, 100, 730, 6400} {
		tried := 0
		f := search(100, later, func(rate float64) (bool, error) {
			tried++
			return rate <= limit, nil
		})
		require.NoError(t, f.err)
		require.LessOrEqual(t, f.sustained, limit)
		require.Greater(t, f.not, limit)
		require.LessOrEqual(t, f.not, closeEnough*f.sustained)
		require.LessOrEqual(t, tried, 14)
	}
	never := func(float64) (bool, error) { return false, nil }
	always := func(float64) (bool, error) { return true, nil }
	require.Equal(t, found{not: 1}, search(64, later, never), "no rate below one record a second is tried")
	require.Equal(t, found{sustained: 819200}, search(100, later, always), "nor one above the most")
	require.Equal(t, found{}, search(100, time.Now(), always), "nor any after the deadline")
	broken := errors.New("broken")
	f := search(100, later, func(float64) (bool, error) { return false, broken })
	require.ErrorIs(t, f.err, broken)
}

func TestSustained(t *testing.T) {
	p := Plan{Duration: 30 * time.Second, MaxDelay: time.Second}
	delays := func(from, to time.Duration) []time.Duration {
		all := make([]time.Duration, 300)
		for i := range all {
			all[i] = from + (to-from)*time.Duration(i)/time.Duration(len(all))
		}
		return all
	}
	const ms = time.Millisecond
	require.Empty(t, p.unsustained(delays(50*ms, 50*ms), 0))
	require.Empty(t, p.unsustained(delays(50*ms, 350*ms), 0), "10 ms in a second")
	require.Empty(t, p.unsustained(delays(900*ms, 50*ms), 0), "it recovers")
	require.Equal(t, "the delay grows by 30 ms in a second", p.unsustained(delays(50*ms, 950*ms), 0))
	require.Contains(t, p.unsustained(delays(2000*ms, 2000*ms), 0), "the p99 of the delay is 2000 ms")
	require.Contains(t, p.unsustained(delays(50*ms, 50*ms), 1), "1 record without a verdict")
	require.NotEmpty(t, p.unsustained(nil, 0))
}

func TestLedgerAccountsForEveryRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		for i := range 5 {
			require.Equal(t, i, l.publish(time.Duration(i)*time.Second))
		}
		time.Sleep(10 * time.Second)
		require.True(t, l.arrive(1, "unique"))
		require.True(t, l.arrive(3, "near"))
		require.True(t, l.arrive(3, "near"), "delivered again")
		require.False(t, l.arrive(5, "unique"), "never published")
		require.False(t, l.arrive(-1, "unique"))

		published, arrived := l.counts()
		require.Equal(t, []int{5, 2, 1}, []int{published, arrived, l.redelivered})
		require.Equal(t, map[string]int{"unique": 1, "near": 1}, l.verdicts)
		delays, span := l.delays(2 * time.Second)
		require.Len(t, delays, 1, "record 1 was due before")
		require.Equal(t, 7*time.Second, delays[0])
		require.Equal(t, 8*time.Second, span)
	})
}

// The longest report: a search for the limit on a large machine that fell behind.
func TestReportFitsATerminal(t *testing.T) {
	made := Made{Originals: 1234567, Near: 234567, Exact: 234567}
	verdicts := map[string]int{"unique": 1234567, "near": 234567, "exact": 234567, "possible": 12345, "dead": 123}
	slow := Delay{P50: 12345, P90: 23456, P99: 34567, Max: 45678}
	r := Report{
		Service: &Service{StartMS: 1234, IdleBytes: 60 << 20, UnderLoad: 1234 << 20, PeakBytes: 2345 << 20},
		Limit:   &Limit{PerSecond: 12345, NotSustained: 12999, Rule: Plan{MaxDelay: time.Minute}.Rule()},
		Results: []Result{
			{Rate: 12345, Share: 100, Throughput: 12345, Delay: slow, CPU: 1234, MostMemory: 1234 << 20,
				MostLag: 1234567, Made: made, Verdicts: verdicts, Published: 1703701, Sustained: true},
			{Rate: 300, Delay: slow, Verdicts: verdicts,
				Why: "the records without a verdict grew to more than ten seconds of the rate, and the lag did not fall"},
		},
	}
	var b strings.Builder
	r.Print(&b)
	commandtest.FitsTerminal(t, b.String())
	for _, want := range []string{"records ", "100 %", "1234567", "unknown", "not sustained"} {
		require.Contains(t, b.String(), want)
	}
}
