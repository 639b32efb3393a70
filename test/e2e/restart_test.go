package e2e

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/test/host"
	"echosieve/test/kafkaserver"
	"echosieve/test/redisserver"
	"echosieve/test/service"
)

// outputs reads the output topics of a cluster while a test goes on.
type outputs struct {
	t      *testing.T
	c      cluster
	reader *kgo.Client
	sent   int
}

func newOutputs(t *testing.T, c cluster) *outputs {
	return &outputs{t: t, c: c, reader: kafkaserver.Client(t, c.kafka,
		kgo.ConsumeTopics(c.topic+"-unique", c.topic+"-duplicate", c.topic+"-dead"))}
}

// flow publishes an article into each partition, and returns when all have verdicts.
func (o *outputs) flow() {
	o.t.Helper()
	records := make([]*kgo.Record, partitions)
	for i := range records {
		o.sent++
		records[i] = &kgo.Record{Partition: int32(i), Timestamp: time.Now(), Value: fmt.Appendf(nil,
			`{"id": "%d", "text": "Report %d of the harbour: ferry %d brought %d guests to island %d at noon."}`, o.sent, o.sent,
			3*o.sent, o.sent*o.sent, 13*o.sent)}
	}
	producer := kafkaserver.Client(o.t, o.c.kafka, kgo.DefaultProduceTopic(o.c.topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(o.t, producer.ProduceSync(o.t.Context(), records...).FirstErr())
	producer.Close()
	for seen := 0; seen < partitions; {
		fetches := o.reader.PollFetches(o.t.Context())
		require.NoError(o.t, fetches.Err())
		seen += fetches.NumRecords()
	}
}

// at makes a process listen where another one did.
func at(address string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) { cmd.Args = append(cmd.Args, "--http.listen", address) }
}

// A process is killed and started again, alone and beside another one, on a broker with the default delay of groups
// that were empty. It takes the former process out of the group, so it does not wait for the end of a session. How long
// that takes is logged: it depends on the machine.
func TestVerdictsFlowSoonAfterAKill(t *testing.T) {
	kills := 2
	if host.IsAll() {
		kills = 20
	}
	kafka := kafkaserver.Start(t, kafkaserver.V4, kafkaserver.With("group.initial.rebalance.delay.ms", "3000"))
	for _, others := range []int{0, 1} {
		t.Run(fmt.Sprint("others ", others), func(t *testing.T) {
			c := newCluster(t, kafka.Addr, redisserver.Addr(t))
			out := newOutputs(t, c)
			// Longer than a process takes to start on a busy machine: the other process does not take over before.
			settings := c.settings().With(service.Settings{"kafka.session_timeout": "2m"})
			for range others {
				service.Start(t, settings).WaitReady(t)
			}
			p := service.Start(t, settings)
			address := p.HTTP
			out.flow()
			var took []time.Duration
			for range kills {
				require.NoError(t, p.Cmd.Process.Kill())
				<-p.Done
				began := time.Now()
				p = service.Start(t, settings, at(address))
				out.flow()
				took = append(took, time.Since(began).Round(time.Millisecond))
				require.Contains(t, p.Log(), "took the former process of this name out of the group")
			}
			slices.Sort(took)
			t.Logf("from start to a verdict in each partition: %v", took)
		})
	}
}

// One of two processes stands still, then it is killed with its machine: the other serves its partitions.
func TestOthersTakeOverWhenAProcessIsSilent(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"frozen": syscall.SIGSTOP, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, kafkaserver.Shared(t).Addr, redisserver.Addr(t))
			out := newOutputs(t, c)
			stays, silent := service.Start(t, c.settings()), service.Start(t, c.settings())
			require.Eventually(t, func() bool {
				return stays.Metric(t, "echosieve_consumer_assigned_partitions") == partitions/2 &&
					silent.Metric(t, "echosieve_consumer_assigned_partitions") == partitions/2
			}, service.Patience, 50*time.Millisecond)
			out.flow()
			began := time.Now()
			require.NoError(t, silent.Cmd.Process.Signal(signal))
			defer func() { _ = silent.Cmd.Process.Signal(syscall.SIGKILL) }()
			out.flow()
			took := time.Since(began).Round(time.Millisecond)
			t.Logf("until a verdict in each partition: %s", took)
			require.True(t, strings.Contains(stays.Log(), "joined group generation"))
		})
	}
}

// The broker hangs, with records under way and without. A stop ends within half of the session timeout: what a step
// takes is not there for the next one: a request that leaves the group, behind a commit that hung, took as long again.
func TestStopsWhileTheBrokerHangs(t *testing.T) {
	const session = 6 * time.Second
	for name, records := range map[string]int{"idle": 0, "at work": 50_000} {
		t.Run(name, func(t *testing.T) {
			kafka := kafkaserver.Start(t, kafkaserver.V4)
			c := newCluster(t, kafka.Addr, redisserver.Addr(t))
			p := service.Start(t, c.settings().With(service.Settings{"kafka.session_timeout": session.String()}))
			newOutputs(t, c).flow()
			if records > 0 {
				_, all := written(t, records)
				publish(t, c, all)
			}
			kafka.Freeze()
			began := time.Now()
			require.NoError(t, p.Cmd.Process.Signal(syscall.SIGTERM))
			<-p.Done
			took := time.Since(began)
			t.Logf("stopped after %s", took)
			require.Less(t, took, session/2*7/4)
		})
	}
}
