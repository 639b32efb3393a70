package consumer

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/consumer/tools"
	"echosieve/internal/diag"
	"echosieve/test/kafkaserver"
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

// A group of the new protocol is refused: service and check name a member, and the remedy.
func TestGroupOfTheNewProtocolIsRefused(t *testing.T) {
	cfg := kafkatest.RealConfig(kafkaserver.Shared(t), "newprotocol")
	kafkatest.EnsureTopics(t, cfg)
	other := kafkatest.Client(t, cfg, kgo.ClientID("stranger"), kgo.ConsumerGroup(cfg.Group),
		//nolint:revive,staticcheck // the key is the library's
		kgo.WithContext(context.WithValue(t.Context(), "opt_in_kafka_next_gen_balancer_beta", true)),
		kgo.ConsumeTopics(cfg.Topics.Inputs[0]))
	go other.PollFetches(t.Context())
	var group diag.Finding
	require.Eventually(t, func() bool {
		findings := tools.Check(t.Context(), cfg)
		group = findings[slices.IndexFunc(findings, func(f diag.Finding) bool { return f.Subject == "group "+cfg.Group })]
		return group.Severity == diag.Failure
	}, kafkatest.Patience, 50*time.Millisecond)
	require.Contains(t, group.Problem, "stranger")
	require.Contains(t, group.Remedy, "set kafka.group")
	m := newMember(t, cfg, &router{})
	m.KeepLabels(&labeler{})
	m.NameMember(NewName("0.0.0.0:9464", ""))
	m.start()
	require.Eventually(t, func() bool {
		err := m.health.last()
		return err != nil && strings.Contains(err.Error(), "stranger") && strings.Contains(err.Error(), "set kafka.group")
	}, kafkatest.Patience, 10*time.Millisecond)
	m.stop(t)
}
