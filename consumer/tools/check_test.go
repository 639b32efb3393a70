package tools

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"echosieve/consumer/broker"
	"echosieve/internal/diag"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"
)

// TestCheckOfRealKafka finds topics that are missing, and settings of topics that do not fit.
func TestCheckOfRealKafka(t *testing.T) {
	kafkatest.OnVersions(t, kafkatest.SharedOr, func(t *testing.T, s *kafkaserver.Server) {
		checkRealKafka(t, kafkatest.RealConfig(s, "check"))
	})
}

func checkRealKafka(t *testing.T, cfg broker.Config) {
	cfg.CreateTopics = false
	ctx := context.Background()
	for _, f := range Check(ctx, cfg)[1:5] {
		require.Equal(t, diag.Failure, f.Severity, "%+v", f)
		require.Contains(t, f.Remedy, "kafka.create_topics: true")
	}
	kafkatest.EnsureTopics(t, cfg)
	for _, f := range Check(ctx, cfg) {
		require.Equal(t, diag.OK, f.Severity, "%+v", f)
	}
	hour, far := "3600000", "9223372036854775807"
	admin := kadm.NewClient(kafkatest.Client(t, cfg))
	for _, step := range []struct {
		setting       string
		input, output *string
		limited       int
	}{
		{broker.FutureLimit, &far, &hour, 3},
		{broker.FutureLimit, &far, &far, 0},
		{broker.PastLimit, &hour, &hour, 3},
		{broker.PastLimit, &hour, &far, 0},
	} {
		for _, topic := range cfg.Topics.All() {
			limit := step.output
			if topic == cfg.Topics.Inputs[0] {
				limit = step.input
			}
			_, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: step.setting, Value: limit}}, topic)
			require.NoError(t, err)
		}
		require.Eventually(t, func() bool { // the broker applies settings a moment later
			limited := 0
			for _, f := range Check(ctx, cfg) {
				if f.Severity == diag.Warning && strings.Contains(f.Problem, step.setting) &&
					strings.Contains(f.Problem, "becomes a dead letter") {
					limited++
				}
			}
			return limited == step.limited
		}, kafkatest.Patience, 200*time.Millisecond)
	}
	cfg.MaxMessageBytes *= 2
	require.Contains(t, fmt.Sprint(Check(ctx, cfg)),
		"max.message.bytes is 1048576, below kafka.max_message_bytes 2097152")
	cfg.Brokers = []string{"127.0.0.1:1"}
	f := Check(ctx, cfg)
	require.Len(t, f, 1)
	require.Contains(t, f[0].Problem, "no broker answers")
}
