package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/ledger"
	"echosieve/test/service"
)

// refilled is what index refill --json prints.
type refilled struct {
	Restored, Decided, Held, Differs, Uncommitted int64
	OtherRecipe                                   int64 `json:"other_recipe"`
	Cured                                         bool
}

func startRefill(t testing.TB, s service.Settings, args ...string) (cmd *exec.Cmd, out, errOut *strings.Builder) {
	t.Helper()
	cmd = exec.Command(service.Binary, append([]string{"index", "refill", "--json"}, args...)...)
	out, errOut = new(strings.Builder), new(strings.Builder)
	cmd.Env, cmd.Stdout, cmd.Stderr = s.Environ(), out, errOut
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, out, errOut
}

func refill(t testing.TB, s service.Settings, args ...string) (refilled, *exec.Cmd) {
	t.Helper()
	cmd, out, errOut := startRefill(t, s, args...)
	err := cmd.Wait()
	require.NoError(t, err, errOut)
	var r refilled
	require.NoError(t, json.Unmarshal([]byte(out.String()), &r), out)
	return r, cmd
}

// recent gives the records timestamps of the last hours, because a refill reads the window before now.
func recent(records []*kgo.Record) []*kgo.Record {
	for i, r := range records {
		r.Timestamp = time.Now().Add(time.Duration(i-len(records)) * time.Second)
	}
	return records
}

// byVerdict returns, for each input record, the headers of its first output.
func byVerdict(outputs []*kgo.Record) map[string]map[string]string {
	first := map[string]map[string]string{}
	for _, r := range outputs {
		h := ledger.Headers(r)
		if _, known := first[h[pipeline.HeaderInput]]; !known {
			first[h[pipeline.HeaderInput]] = h
		}
	}
	return first
}

// seconds is the CPU time of a process that has ended.
func seconds(c *exec.Cmd) float64 {
	return (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
}

// articlesIn counts the outputs that are articles: neither dead letters nor null values.
func articlesIn(outputs map[string]map[string]string) (n int) {
	for _, h := range outputs {
		if h[pipeline.HeaderRoot] != "" {
			n++
		}
	}
	return n
}

// waitCommitted waits until the group has committed so many records.
func waitCommitted(t *testing.T, c cluster, records int) {
	t.Helper()
	admin := kadm.NewClient(client(t, kgo.SeedBrokers(c.kafka)))
	require.Eventually(t, func() bool {
		offsets, err := admin.FetchOffsets(t.Context(), c.topic)
		committed := int64(0)
		offsets.Each(func(o kadm.OffsetResponse) { committed += max(0, o.At) })
		return err == nil && committed == int64(records)
	}, service.Patience, 100*time.Millisecond)
}
