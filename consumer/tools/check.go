package tools

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"echosieve/consumer/broker"
	"echosieve/consumer/delivery"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"
	"echosieve/internal/stopping"

	"github.com/segmentio/kafka-go"
)

// Check dials the cluster and checks everything that Run needs. It changes no topic and no group. Findings
// are in a fixed order: brokers, topics (input first), group, and delivery: a warning if it is at least once
// although that is not set.
func Check(ctx context.Context, cfg broker.Config) []diag.Finding {
	var c checker
	err := cfg.Validate()
	if err == nil {
		c.Cluster, err = broker.New(cfg, cfg.Topics.All()...)
	}
	if err != nil {
		return []diag.Finding{diag.New(diag.Failure, "kafka settings", err.Error(), "correct the configuration")}
	}
	defer c.Close()
	names, brokers := cfg.Topics.All(), "brokers "+strings.Join(cfg.Brokers, ",")
	if cfg.Topics.Learnt != "" {
		names = append(names, cfg.Topics.Learnt)
	}
	var m *wire.Metadata
	if err = c.Ping(ctx); err == nil {
		m, err = c.Metadata(ctx, names)
	}
	if err != nil {
		return []diag.Finding{fromError(brokers, c.ExplainClosed(ctx, err))}
	}
	findings := []diag.Finding{diag.New(diag.OK, brokers, fmt.Sprintf("%d reachable", m.Brokers), "")}
	topics := make(map[string]*wire.Topic)
	for i := range m.Topics {
		topics[m.Topics[i].Name] = &m.Topics[i]
	}
	for _, name := range names {
		findings = append(findings, c.checkTopic(ctx, name, topics[name])...)
	}
	findings = append(findings, c.checkGroup(ctx))
	if slices.ContainsFunc(findings, func(f diag.Finding) bool { return f.Severity == diag.Failure }) {
		return findings // a missing topic or right makes brokers refuse producer ids as well
	}
	return append(findings, c.checkDelivery(ctx))
}

// checker asks one cluster.
type checker struct{ *broker.Cluster }

func (c checker) checkDelivery(ctx context.Context) diag.Finding {
	const subject = "delivery"
	exactlyOnce, lack, err := delivery.Check(ctx, c.Cluster)
	switch {
	case err != nil:
		return fromError(subject, err)
	case exactlyOnce:
		return diag.New(diag.OK, subject, "exactly once", "")
	case lack == nil:
		return diag.New(diag.OK, subject, "at least once, as kafka.delivery says", "")
	}
	f := lack.Finding(diag.Warning, subject)
	f.Problem = "at least once: " + f.Problem
	return f
}

func fromError(subject string, err error) diag.Finding {
	if p, ok := broker.Explain(err).(*diag.Problem); ok { //nolint:errorlint // explain returns the Problem itself
		return p.Finding(diag.Failure, subject)
	}
	return diag.New(diag.Failure, subject, err.Error(), "see the broker's log")
}

func (c checker) checkTopic(ctx context.Context, name string, t *wire.Topic) []diag.Finding {
	subject := "topic " + name
	switch {
	case t == nil:
		return []diag.Finding{diag.New(diag.Failure, subject, "the broker sent no metadata of it",
			"see the broker's log")}
	case errors.Is(t.Err, kafka.UnknownTopicOrPartition) && c.Config.CreateTopics:
		ctx, cancel := context.WithTimeout(ctx, broker.RequestTimeout)
		defer cancel()
		if _, err := c.CreateTopics(ctx, []string{name}, true); err != nil {
			return []diag.Finding{fromError(subject, err)}
		}
		return []diag.Finding{diag.New(diag.OK, subject, "does not exist yet; it is created at start", "")}
	case errors.Is(t.Err, kafka.UnknownTopicOrPartition) && name == c.Config.Topics.Learnt:
		return []diag.Finding{diag.New(diag.Warning, subject, "does not exist: nothing is learnt",
			"create it with one partition, cleanup.policy=compact and message.timestamp.type=LogAppendTime, or set "+
				"kafka.create_topics: true")}
	case t.Err != nil:
		return []diag.Finding{fromError(subject, t.Err)}
	}
	var findings []diag.Finding
	add := func(s diag.Severity, problem, remedy string) {
		findings = append(findings, diag.New(s, subject, problem, remedy))
	}
	for _, p := range t.Partitions {
		if p.Leader < 0 {
			add(diag.Failure, fmt.Sprintf("partition %d has no leader", p.ID), "look for brokers that are down")
		}
	}
	if p := c.Config.Topics.LackingRight(t); p != nil {
		add(diag.Failure, p.Cause, p.Remedy)
	}
	switch {
	case name == c.Config.Topics.Learnt:
		if err := broker.LearntFault(ctx, c.Cluster, t); err != nil {
			findings = append(findings, fromError(subject, err))
		}
	case slices.Contains(c.Config.Topics.Inputs, name):
		if all, _ := broker.ReadSettings(ctx, c.Cluster, name); strings.Contains(all[name][broker.CleanupPolicy], "compact") {
			add(diag.Warning, "cleanup.policy is compact: a record that still waits is removed when a later one has its key",
				"set it to delete, or min.compaction.lag.ms to the longest outage")
		}
	default:
		findings = append(findings, c.checkOutputSettings(ctx, name)...)
	}
	if len(findings) == 0 {
		add(diag.OK, fmt.Sprintf("%d partitions", len(t.Partitions)), "")
	}
	return findings
}

// checkOutputSettings compares settings of an output topic with the records that are published into it.
func (c checker) checkOutputSettings(ctx context.Context, name string) []diag.Finding {
	subject := "topic " + name
	all, err := broker.WaitForSettings(ctx, c.Cluster, name)
	settings, known := all[name]
	switch {
	case errors.Is(err, broker.ErrNotKnownYet):
		return []diag.Finding{diag.New(diag.Warning, subject, broker.ErrNotKnownYet.Error(), "check again in a moment")}
	case !known:
		return []diag.Finding{diag.New(diag.Warning, subject, fmt.Sprintf("its settings cannot be read (%v)", err),
			"grant DescribeConfigs: without it, records that the topic does not take are noticed only when it "+
				"refuses them")}
	}
	var findings []diag.Finding
	add := func(s diag.Severity, problem, remedy string) {
		findings = append(findings, diag.New(s, subject, problem, remedy))
	}
	limits := settings.Limits(name)
	if limits.MaxBytes < c.Config.MaxMessageBytes {
		add(diag.Failure, fmt.Sprintf(
			"max.message.bytes is %d, below kafka.max_message_bytes %d: larger records become dead letters",
			limits.MaxBytes, c.Config.MaxMessageBytes),
			"raise the first or lower the second")
	}
	if limits.NeedsKey {
		add(diag.Failure, "cleanup.policy is compact: records without a key become dead letters, and records disappear",
			"set it to delete")
	}
	if settings[broker.TimeType] == "LogAppendTime" {
		add(diag.Warning, "message.timestamp.type is LogAppendTime: record timestamps are replaced",
			"set it to CreateTime")
	}
	if limits.MaxBehind < math.MaxInt64 {
		add(diag.Warning, fmt.Sprintf(
			"%s is %s: a record that is older when it is decided, after an outage or in an archive, becomes a "+
				"dead letter", broker.PastLimit, limits.MaxBehind),
			"remove the limit")
	}
	all, _ = broker.ReadSettings(ctx, c.Cluster, c.Config.Topics.Inputs...)
	for _, input := range c.Config.Topics.Inputs {
		if in, known := all[input]; known && in[broker.TimeType] != "LogAppendTime" &&
			limits.MaxAhead < in.Limits(input).MaxAhead {
			add(diag.Warning, fmt.Sprintf(
				"%s is %s, less than the input topic %s allows: a record with a timestamp in between becomes a dead letter",
				broker.FutureLimit, limits.MaxAhead, input),
				"give both topics the same limit")
		}
	}
	return findings
}

func (c checker) checkGroup(ctx context.Context) diag.Finding {
	subject := "group " + c.Config.Group
	group := c.Group(c.Config.Group)
	var members []wire.Member
	// Just after the start of a cluster, the coordinator may not answer yet.
	err := stopping.Until(ctx, broker.RequestTimeout, func(ctx context.Context) error {
		_, err := c.Wire.Coordinator(ctx, kafka.CoordinatorKeyTypeConsumer, c.Config.Group)
		if err == nil {
			members, err = group.Members(ctx)
		}
		return broker.Final(err)
	})
	if err != nil {
		return fromError(subject, err)
	}
	if problem, remedy := group.Strangers(members); problem != "" {
		return diag.New(diag.Warning, subject, problem, remedy)
	}
	return diag.New(diag.OK, subject, "coordinator found", "")
}
