package load

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/cmd/echosieve-lab/internal/servers"
	"echosieve/consumer/tools"
	"echosieve/internal/app/config"
)

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
