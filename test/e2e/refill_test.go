package e2e

import (
	"encoding/json"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline"
	"echosieve/test/kafkaserver"
	"echosieve/test/ledger"
	"echosieve/test/redisserver"
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

// Redis is flushed under a running service. A refill that is killed on its way, and two others at the same time, give the articles back: copies that come later
// are caught, and a replay of the input gets the published verdicts.
func TestRefillAfterALoss(t *testing.T) {
	server := redisserver.Start(t)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = admin.Close() })
	c := newCluster(t, kafkaserver.Start(t, kafkaserver.V4).Addr, server.Addr)
	settings := c.settings().With(service.Settings{"kafka.commit_interval": "100ms"})
	records := recent(fresh(articles(t))[:2400])
	early := records[:len(records)-400]
	p := service.Start(t, settings)
	p.WaitReady(t)
	idle := p.Metric(t, "process_cpu_seconds_total")
	inputs := publish(t, c, early)
	expected := len(early)
	before := byVerdict(watch(t, c, expected, func(int) {}))
	live := p.Metric(t, "process_cpu_seconds_total") - idle
	waitCommitted(t, c, len(early))
	require.NoError(t, admin.FlushAll(t.Context()).Err())
	require.Eventually(t, func() bool { return strings.Contains(p.Get("/readyz"), "Redis lost articles") }, service.Patience, 50*time.Millisecond)

	addr, stalled := stalling(t, server.Addr, 600_000) // about half of what a refill sends
	killed, _, _ := startRefill(t, settings.With(service.Settings{"redis.addrs": addr}))
	select {
	case <-stalled:
	case <-time.After(service.Patience):
		require.Fail(t, "the refill has sent too little")
	}
	require.NoError(t, killed.Process.Kill())
	_ = killed.Wait()
	second, out, errOut := startRefill(t, settings) // two processes share the rest
	half, _ := refill(t, settings)
	require.NoError(t, second.Wait(), errOut)
	var other refilled
	require.NoError(t, json.Unmarshal([]byte(out.String()), &other))
	require.Positive(t, half.Restored+other.Restored)
	require.Less(t, half.Restored+half.Held+other.Restored+other.Held, int64(articlesIn(before)), "the other processes resume where the killed one was")
	require.Zero(t, half.Differs+half.Uncommitted+half.OtherRecipe+other.Differs)
	whole, cmd := refill(t, settings, "--restart")
	require.Zero(t, whole.Restored, "a refill that is repeated stores nothing")
	require.Equal(t, articlesIn(before), int(whole.Held))
	again, start := refill(t, settings)
	require.Zero(t, again.Restored+again.Held, "nothing is left to read")
	require.True(t, half.Cured && other.Cured && whole.Cured)
	require.Eventually(t, func() bool { return !strings.Contains(p.Get("/readyz"), "Redis lost articles") }, service.Patience, 50*time.Millisecond)
	require.Zero(t, p.Metric(t, "echosieve_redisindex_last_loss_timestamp_seconds"))
	cpu := seconds(cmd) - seconds(start)
	t.Logf("CPU for %d articles: service %.2f s, refill %.2f s and %.2f s for its start, ratio %.2f", articlesIn(before), live, cpu, seconds(start), live/cpu)

	copies := fresh(early[:200])
	for _, r := range copies {
		r.Timestamp = time.Now()
	}
	for at := range publish(t, c, copies) {
		inputs[at] = nil
	}
	after := byVerdict(watch(t, c, expected+len(copies), func(int) {}))
	for at, h := range after {
		if before[at] == nil && h[pipeline.HeaderRoot] != "" {
			require.Equal(t, "exact", h[pipeline.HeaderVerdict], "%s: a later copy of an earlier article", at)
			require.NotNil(t, before[h[pipeline.HeaderOriginal]], at)
		}
	}
	stop(t, p)

	replay := c
	replay.topic = c.topic + "-replay"
	kafkaserver.CreateTopics(t, client(t, kgo.SeedBrokers(c.kafka)), partitions, nil, replay.topic+"-unique", replay.topic+"-duplicate", replay.topic+"-dead")
	p = service.Start(t, replay.settings().With(service.Settings{"kafka.topics.input": c.topic}))
	replayed := byVerdict(watch(t, replay, expected+len(copies), func(int) {}))
	stop(t, p)
	require.Equal(t, after, replayed, "a replay gets the published verdicts")
	newRecipe(t, c, settings.With(service.Settings{"detection.max_distance": "5"}), early)
}

// stalling returns an address that leads to addr until n bytes were sent there in all. Then it closes stalled and lets nothing more through.
func stalling(t *testing.T, addr string, n int64) (through string, stalled chan struct{}) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	stalled = make(chan struct{})
	var sent atomic.Int64
	var once sync.Once
	forward := func(from, to net.Conn) {
		buffer := make([]byte, 4096)
		for {
			size, err := from.Read(buffer)
			if err != nil {
				_ = to.Close()
				return
			}
			if sent.Add(int64(size)) > n {
				once.Do(func() { close(stalled) })
				return
			}
			_, _ = to.Write(buffer[:size]) // an error shows at the next Read
		}
	}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", addr)
			if err != nil {
				_ = from.Close()
				continue
			}
			t.Cleanup(func() { _, _ = from.Close(), to.Close() })
			go forward(from, to)
			go func() { _, _ = io.Copy(from, to) }()
		}
	}()
	return l.Addr().String(), stalled
}

// newRecipe fills the index of a new recipe before the service starts with it. The published verdicts are of no use for that.
func newRecipe(t *testing.T, c cluster, settings service.Settings, early []*kgo.Record) {
	cmd, out, errOut := startRefill(t, settings)
	require.Error(t, cmd.Wait())
	require.Equal(t, 1, cmd.ProcessState.ExitCode(), errOut)
	require.Contains(t, errOut.String(), "were published by another recipe")
	require.NotContains(t, out.String(), `"cured": true`)
	var left refilled
	require.NoError(t, json.Unmarshal([]byte(out.String()), &left))
	require.Zero(t, left.Restored+left.Held)
	decided, _ := refill(t, settings, "--from", "input")
	require.EqualValues(t, decided.Decided, left.OtherRecipe, "all articles that were published")

	p := service.Start(t, settings)
	p.WaitReady(t)
	outputs := committedOutputs(t, c)
	copies := fresh(early[200:300])
	for _, r := range copies {
		r.Timestamp = time.Now()
	}
	sent := publish(t, c, copies)
	caught := 0
	for at, h := range byVerdict(watch(t, c, outputs+len(copies), func(int) {})) {
		if sent[at] != nil && h[pipeline.HeaderRoot] != "" {
			require.Equal(t, "exact", h[pipeline.HeaderVerdict], at)
			caught++
		}
	}
	require.Greater(t, caught, 90)
	stop(t, p)
}

// committedOutputs is the number of input records of which the output topics tell.
func committedOutputs(t *testing.T, c cluster) (n int) {
	t.Helper()
	offsets, err := kadm.NewClient(client(t, kgo.SeedBrokers(c.kafka))).FetchOffsets(t.Context(), c.topic)
	require.NoError(t, err)
	offsets.Each(func(o kadm.OffsetResponse) { n += int(max(0, o.At)) })
	return n
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
