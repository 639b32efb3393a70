package consumer

import (
	"os"
	"strings"
	"testing"

	"echosieve/consumer/broker"
	"echosieve/test/kafkaserver"
	"echosieve/test/kafkatest"
)

func TestMain(m *testing.M) { os.Exit(kafkaserver.Main(m)) }

// TestRealKafka runs the tests that an in-process broker cannot answer.
func TestRealKafka(t *testing.T) {
	t.Parallel()
	kafkatest.OnVersions(t, kafkatest.SharedOr, func(t *testing.T, s *kafkaserver.Server) {
		for name, test := range map[string]func(*testing.T, broker.Config){
			"recreated": realRecreated, "stale commit": realStaleCommit, "lost verdicts": realLostVerdicts,
			"late commit": realLateCommit, "recreated output": realRecreatedOutput,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // they mostly wait
				test(t, kafkatest.RealConfig(s, strings.ReplaceAll(name, " ", "-")))
			})
		}
	})
}
