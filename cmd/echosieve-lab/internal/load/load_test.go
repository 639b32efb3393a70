package load

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/cmd/echosieve-lab/internal/servers"
	"echosieve/consumer/tools"
	"echosieve/internal/app/command"
	"echosieve/internal/app/command/commandtest"
	"echosieve/internal/app/config"
	"echosieve/test/service"
)

// binary builds the service once for all tests of the package.
var binary = sync.OnceValues(func() (string, error) { return service.Build(binaryDir) })

var binaryDir string // of TestMain

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "echosieve-load-*")
	if err != nil {
		panic(err)
	}
	binaryDir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// run runs load and returns its exit code and its output.
func run(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	return commandtest.Run(t, program(), "", append([]string{"load"}, args...)...)
}

func program() *cobra.Command {
	return command.Program(&cobra.Command{Use: "echosieve-lab"}, Command())
}

// loaded runs load with --json. The service is the binary that is built from this source.
func loaded(t *testing.T, args ...string) (code int, report Report, out, errOut string) {
	t.Helper()
	path, err := binary()
	require.NoError(t, err)
	args = append([]string{"--json", "--warmup", "0s", "--idle", "0s"}, args...)
	if !slices.Contains(args, "--metrics") {
		args = append(args, "--service", path)
	}
	code, out, errOut = run(t, args...)
	if out != "" {
		require.NoError(t, json.Unmarshal([]byte(out), &report), out)
	}
	return code, report, out, errOut
}

func TestLoadAccountsForEveryRecord(t *testing.T) {
	code, report, _, errOut := loaded(t, "--rate", "150", "--duration", "2s", "--warmup", "500ms", "--copies", ".4",
		"--seed", "1")
	require.Equal(t, command.ExitOK, code, errOut)
	require.Equal(t, "in-process", report.Servers)
	require.Zero(t, report.Missing)
	require.Len(t, report.Results, 1)
	r := report.Results[0]
	require.Equal(t, 375, r.Published)
	require.Equal(t, 375, r.Made.Originals+r.Made.Near+r.Made.Exact)
	sum := 0
	for _, n := range r.Verdicts {
		sum += n
	}
	require.Equal(t, 375, sum)
	copies := r.Made.Near + r.Made.Exact
	require.Greater(t, copies, 100)
	require.InDelta(t, copies, r.Verdicts["near"]+r.Verdicts["exact"], 5, "copies are caught, originals are none")
	require.GreaterOrEqual(t, r.Verdicts["exact"], r.Made.Exact)

	require.Positive(t, r.Delay.P50)
	require.True(t, slices.IsSorted([]float64{r.Delay.P50, r.Delay.P90, r.Delay.P99, r.Delay.Max}), r.Delay)
	require.Positive(t, r.Throughput)
	require.Positive(t, r.CPU)
	require.Positive(t, report.Service.StartMS)
	require.Positive(t, report.Service.IdleBytes)
	require.GreaterOrEqual(t, report.Service.UnderLoad, r.Memory)
	require.GreaterOrEqual(t, report.Service.PeakBytes, report.Service.IdleBytes)
	require.Contains(t, errOut, "the service was ready after")
}

func TestLoadFindsALimit(t *testing.T) {
	defer func(usual float64) { mostGrowth = usual }(mostGrowth)
	mostGrowth = 1000 // more than any machine shows in two seconds
	code, report, _, errOut := loaded(t, "--find-limit", "--rate", "20", "--duration", "2s", "--limit-time", "1s",
		"--at", "50", "--max-delay", "1m")
	require.Equal(t, command.ExitOK, code, errOut)
	require.Len(t, report.Trials, 1, "the first trial takes longer than the search may")
	require.InDelta(t, 20, report.Limit.PerSecond, 0)
	require.Contains(t, report.Limit.Rule, "at most 1m0s")
	require.Len(t, report.Results, 1)
	require.Equal(t, 50, report.Results[0].Share)
	require.InDelta(t, report.Limit.PerSecond/2, report.Results[0].Rate, .01)
}

// startBroker starts a broker with the topics of the default configuration and returns its address.
func startBroker(t *testing.T) string {
	t.Helper()
	topics := config.Default().Kafka.Topics
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, topics.Input, topics.Unique, topics.Duplicate,
		topics.Dead))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c.ListenAddrs()[0]
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
	code, report, _, errOut := loaded(t, append(noService(t), "--rate", "50", "--duration", "1s", "--patience",
		"1s")...)
	require.Equal(t, command.ExitNo, code, errOut)
	require.Equal(t, 50, report.Missing)
	require.Equal(t, 50, report.Results[0].Missing)
	require.False(t, report.Results[0].Sustained)
	require.Equal(t, "configured", report.Servers)
	require.Contains(t, errOut, "50 published records have no verdict")
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
			require.Equal(t, command.ExitFailed, command.Execute(ctx, program(), args, nil, &out, progress))
			require.Contains(t, progress.all.String(), "interrupted")
			if c.duration == "1s" {
				var report Report
				require.NoError(t, json.Unmarshal(out.Bytes(), &report))
				require.True(t, report.Interrupted)
				require.Equal(t, 50, report.Missing)
			}
		})
	}
}

// A service that cannot start ends the run, and so do output topics that nobody could write to.
func TestLoadWithoutOutputTopic(t *testing.T) {
	code, _, out, errOut := loaded(t, "--real", "--kafka.brokers", startBroker(t), "--kafka.topics.dead", "nowhere",
		"--redis.addrs", "127.0.0.1:1")
	require.Equal(t, command.ExitFailed, code)
	require.Empty(t, out)
	require.Contains(t, errOut, "nowhere")

	code, _, out, errOut = loaded(t, append(noService(t), "--kafka.topics.dead", "nowhere")...)
	require.Equal(t, command.ExitFailed, code)
	require.Empty(t, out)
	require.Contains(t, errOut, "the output topics")
	require.Contains(t, errOut, "nowhere")
	require.Contains(t, errOut, "--kafka.create_topics")
}

// Load says where it looked for the service, before it publishes anything.
func TestLoadWithoutService(t *testing.T) {
	code, out, errOut := run(t, "--service", "/nowhere/echosieve")
	require.Equal(t, command.ExitFailed, code)
	require.Empty(t, out)
	require.Contains(t, errOut, "there is no service binary at /nowhere/echosieve")
	code, _, errOut = run(t)
	require.Equal(t, command.ExitFailed, code)
	require.Contains(t, errOut, "name it with --service PATH", "no service lies beside a test binary")
}

// trim deletes input that was committed and output that was read, and nothing else.
func TestTrim(t *testing.T) {
	inProcess, err := servers.Start()
	require.NoError(t, err)
	defer inProcess.Close()
	cfg := inProcess.Configure(config.Default()).Kafka
	cfg.Partitions = 2
	require.NoError(t, tools.EnsureTopics(t.Context(), cfg))
	client, err := newClient(cfg, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	defer client.Close()
	input, output := cfg.Topics.Input, cfg.Topics.Unique
	for range 10 {
		for _, topic := range []string{input, output} {
			for p := range int32(2) {
				require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Partition: p}).FirstErr())
			}
		}
	}
	committed, read := kadm.Offsets{}, kadm.Offsets{}
	committed.AddOffset(input, 0, 4, -1)
	read.AddOffset(output, 1, 7, -1)
	admin := kadm.NewClient(client)
	require.NoError(t, admin.CommitAllOffsets(t.Context(), cfg.Group, committed))
	go func() { _ = trim(t.Context(), cfg, func() kadm.Offsets { return read }) }()

	starts := func() (starts []int64) {
		offsets, err := admin.ListStartOffsets(t.Context(), input, output)
		if err != nil {
			return nil
		}
		for _, topic := range []string{input, output} {
			for p := range int32(2) {
				o, _ := offsets.Lookup(topic, p)
				starts = append(starts, o.Offset)
			}
		}
		return starts
	}
	require.Eventually(t, func() bool { return slices.Equal(starts(), []int64{4, 0, 0, 7}) }, time.Minute,
		20*time.Millisecond)
}
