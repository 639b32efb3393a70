package consumer

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/consumer/tools"
	"echosieve/internal/diag"
	"echosieve/test/kafkatest"
)

// A program that reads another topic in the same group goes on, and is named, whichever leads the group.
func TestOtherProgramsInTheGroupAreNamed(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	kafkatest.EnsureTopics(t, cfg)
	other := kafkatest.Client(t, cfg, kgo.ClientID("stranger"), kgo.ConsumerGroup(cfg.Group),
		kgo.ConsumeTopics(cfg.Topics.Dead), kgo.Balancers(kgo.RangeBalancer()))
	kafkatest.Filled(t, cfg, "u", 3)
	go other.PollFetches(t.Context())
	m := newMember(t, cfg, &router{})
	warned := make(chan string, 100)
	m.WarnWith(func(kind, text string) {
		if kind == warnStrangers {
			warned <- text
		}
	})
	m.NameMember(NewName("0.0.0.0:9464", ""))
	m.start()
	text := ""
	require.Eventually(t, func() bool {
		select {
		case text = <-warned:
		default:
		}
		return strings.Contains(text, "stranger")
	}, kafkatest.Patience, time.Millisecond)
	require.Contains(t, text, "programs other than Echosieve, or with other topics, use group "+cfg.Group)
	require.Contains(t, text, "which reads "+cfg.Topics.Dead)
	require.Contains(t, text, "kafka.group")
	findings := tools.Check(t.Context(), cfg)
	i := slices.IndexFunc(findings, func(f diag.Finding) bool { return f.Subject == "group "+cfg.Group })
	require.Equal(t, diag.Warning, findings[i].Severity)
	require.Contains(t, findings[i].Problem, "stranger")
	m.stop(t)
}
