package load

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/cmd/echosieve-lab/internal/servers"
	"echosieve/consumer/tools"
	"echosieve/internal/app/config"
)

// standIn starts a shell that logs as a service does and ends with its standard input, beside an HTTP server
// for its pages.
func standIn(t *testing.T, warnings io.Writer) (p *Process, end io.Closer) {
	t.Helper()
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			_, _ = io.WriteString(w, "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 1\n")
		}
	}))
	t.Cleanup(pages.Close)
	line := fmt.Sprintf(`{"level":"INFO","msg":"starting","http":%q}`, strings.TrimPrefix(pages.URL, "http://"))
	cmd := exec.Command("sh", "-c", `echo '`+line+`' >&2; cat; echo out of order >&2; exit 3`)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	p, err = StartProcess(t.Context(), cmd, warnings)
	require.NoError(t, err)
	t.Cleanup(p.Stop)
	require.Equal(t, pages.URL, p.URL)
	return p, in
}

// closeOn closes something at the first output with a text.
type closeOn struct {
	text string
	what io.Closer
}

func (c closeOn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(c.text)) {
		_ = c.what.Close()
	}
	return len(p), nil
}

func TestServiceThatEndsEndsTheRun(t *testing.T) {
	p, end := standIn(t, io.Discard)
	setup := Setup{Process: p, Metrics: []string{p.URL + "/metrics"}, Progress: closeOn{"idle for", end}}
	_, err := Run(t.Context(), setup, Plan{Idle: time.Hour})
	require.EqualError(t, err, "load: the service ended: exit status 3: out of order")
}

func TestServiceThatCannotStart(t *testing.T) {
	var warnings bytes.Buffer
	_, err := StartProcess(t.Context(), exec.Command("sh", "-c", "echo no such broker >&2; exit 2"), &warnings)
	require.EqualError(t, err, "load: the service ended: exit status 2: no such broker")
	require.Equal(t, "service: no such broker\n", warnings.String())
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
