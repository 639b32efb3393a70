package consumer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"echosieve/internal/diag"

	"github.com/segmentio/kafka-go"
	metaapi "github.com/segmentio/kafka-go/protocol/metadata"
)

// Check dials the cluster and looks at everything that Run needs. It changes nothing. Findings are in a fixed
// order: brokers, topics (input first), group, and whether batches can carry sequence numbers, if not.
func Check(ctx context.Context, cfg Config) []diag.Finding {
	if err := cfg.Validate(); err != nil {
		return []diag.Finding{diag.New(diag.Failure, "kafka settings", err.Error(), "correct the configuration")}
	}
	c, err := newCluster(cfg, cfg.Topics.all()...)
	if err != nil {
		return []diag.Finding{diag.New(diag.Failure, "kafka settings", err.Error(), "correct the configuration")}
	}
	defer c.close()
	if err := c.ping(ctx); err != nil {
		return []diag.Finding{fromError("brokers "+strings.Join(cfg.Brokers, ","), c.explainClosed(ctx, err))}
	}
	m, err := c.metadata(ctx, cfg.Topics.all())
	if err != nil {
		return []diag.Finding{fromError("brokers "+strings.Join(cfg.Brokers, ","), c.explainClosed(ctx, err))}
	}
	findings := []diag.Finding{diag.New(diag.OK, "brokers "+strings.Join(cfg.Brokers, ","), fmt.Sprintf("%d reachable", len(m.Brokers)), "")}
	topics := make(map[string]*metaapi.ResponseTopic)
	for i := range m.Topics {
		topics[m.Topics[i].Name] = &m.Topics[i]
	}
	for _, name := range cfg.Topics.all() {
		findings = append(findings, c.checkTopic(ctx, name, topics[name])...)
	}
	findings = append(findings, c.checkGroup(ctx))
	if slices.ContainsFunc(findings, func(f diag.Finding) bool { return f.Severity == diag.Failure }) {
		return findings // without a topic or a right to write, producer ids are refused as well
	}
	return append(findings, c.checkProducerID(ctx)...)
}

// checkProducerID asks for a producer id, which changes nothing: it is a number that nobody uses. It finds only problems.
func (c *cluster) checkProducerID(ctx context.Context) []diag.Finding {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	const subject = "producer id"
	var retry backoff
	for {
		_, _, err := c.initProducerID(ctx)
		if p := notIdempotent(err); p != nil {
			return []diag.Finding{p.Finding(diag.Warning, subject)}
		}
		if err == nil {
			return nil
		}
		// Just after the start of a cluster no broker may have numbers to give yet.
		if permanent(err) || retry.wait(ctx) != nil {
			return []diag.Finding{fromError(subject, err)}
		}
	}
}

// topicPatience is how long a topic may take to become known to all brokers after it was created.
const topicPatience = 2 * time.Second

// FindTopic makes sure, before anything is published into a topic, that it exists: a Producer waits for one that does not. The
// error is a *MissingTopicsError or says what else is wrong and what to do.
func FindTopic(ctx context.Context, cfg Config, topic string) error {
	c, err := newCluster(cfg, topic)
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	defer c.close()
	patience, cancel := context.WithTimeout(ctx, topicPatience)
	defer cancel()
	var retry backoff
	for {
		missing, err := c.missing(ctx, []string{topic})
		switch {
		case err != nil:
			return (&Producer{topic: topic}).explained(c.explainClosed(ctx, err))
		case len(missing) == 0:
			return nil
		case retry.wait(patience) != nil:
			return &MissingTopicsError{Topics: missing}
		}
	}
}

// fromError makes a Failure of an error.
func fromError(subject string, err error) diag.Finding {
	if p, ok := explain(err).(*diag.Problem); ok { //nolint:errorlint // explain returns the Problem itself
		return p.Finding(diag.Failure, subject)
	}
	return diag.New(diag.Failure, subject, err.Error(), "see the broker's log")
}

// Bits of the authorized operations of a topic.
const (
	mayRead    = 1 << 3
	mayWrite   = 1 << 4
	rightsNone = -1 << 31 // the broker did not say
)

func (c *cluster) checkTopic(ctx context.Context, name string, t *metaapi.ResponseTopic) []diag.Finding {
	subject := "topic " + name
	switch {
	case t == nil:
		return []diag.Finding{diag.New(diag.Failure, subject, "the broker says nothing about it", "see the broker's log")}
	case t.ErrorCode == int16(kafka.UnknownTopicOrPartition) && c.cfg.CreateTopics:
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		if err := c.createTopics(ctx, []string{name}, true); err != nil {
			return []diag.Finding{fromError(subject, err)}
		}
		return []diag.Finding{diag.New(diag.OK, subject, "does not exist yet; it is created at start", "")}
	case t.ErrorCode != 0:
		return []diag.Finding{fromError(subject, kafka.Error(t.ErrorCode))}
	}
	var findings []diag.Finding
	add := func(s diag.Severity, problem, remedy string) {
		findings = append(findings, diag.New(s, subject, problem, remedy))
	}
	for _, p := range t.Partitions {
		if p.LeaderID < 0 {
			add(diag.Failure, fmt.Sprintf("partition %d has no leader", p.PartitionIndex), "look for brokers that are down")
		}
	}
	right, bit := "Write", int32(mayWrite)
	if name == c.cfg.Topics.Input {
		right, bit = "Read", mayRead
	}
	if ops := t.TopicAuthorizedOperations; ops != rightsNone && ops != 0 && ops&bit == 0 {
		add(diag.Failure, "this user has no "+right+" right", "grant "+right+" on the topic")
	}
	if name != c.cfg.Topics.Input {
		findings = append(findings, c.checkOutputSettings(ctx, name)...)
	}
	if len(findings) == 0 {
		add(diag.OK, fmt.Sprintf("%d partitions", len(t.Partitions)), "")
	}
	return findings
}

// checkOutputSettings compares settings of an output topic with what is published into it.
func (c *cluster) checkOutputSettings(ctx context.Context, name string) []diag.Finding {
	subject := "topic " + name
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	res, err := c.client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: name,
		ConfigNames: []string{"max.message.bytes", "message.timestamp.type", "cleanup.policy", futureLimit, pastLimit},
	}}})
	if err == nil && len(res.Resources) == 1 {
		err = res.Resources[0].Error
	}
	if err != nil || len(res.Resources) != 1 {
		return []diag.Finding{diag.New(diag.Warning, subject, fmt.Sprintf("its settings cannot be read (%v)", err), "grant DescribeConfigs to let this be checked")}
	}
	var findings []diag.Finding
	add := func(s diag.Severity, problem, remedy string) {
		findings = append(findings, diag.New(s, subject, problem, remedy))
	}
	for _, e := range res.Resources[0].ConfigEntries {
		switch e.ConfigName {
		case "max.message.bytes":
			if n, err := strconv.Atoi(e.ConfigValue); err == nil && n < c.cfg.MaxMessageBytes {
				add(diag.Failure, fmt.Sprintf("max.message.bytes is %d, below kafka.max_message_bytes %d: larger batches would block the stream", n, c.cfg.MaxMessageBytes),
					"raise the first or lower the second")
			}
		case "message.timestamp.type":
			if e.ConfigValue == "LogAppendTime" {
				add(diag.Warning, "message.timestamp.type is LogAppendTime: record timestamps are replaced", "set it to CreateTime")
			}
		case "cleanup.policy":
			if strings.Contains(e.ConfigValue, "compact") {
				add(diag.Failure, "cleanup.policy is compact: records without a key are refused, and records disappear", "set it to delete")
			}
		case pastLimit:
			if n, err := strconv.ParseInt(e.ConfigValue, 10, 64); err == nil && n < math.MaxInt64 {
				add(diag.Warning, fmt.Sprintf("%s is %d: a record that is older when its verdict comes, after an outage or in an archive, would block the stream", pastLimit, n),
					"remove the limit")
			}
		case futureLimit:
			in, known := c.inputFutureLimit(ctx)
			if n, err := strconv.ParseInt(e.ConfigValue, 10, 64); err == nil && known && n < in {
				add(diag.Warning, fmt.Sprintf("%s is %d, below the input topic's %d: a record with a timestamp in between would block the stream", futureLimit, n, in),
					"give both topics the same limit")
			}
		}
	}
	return findings
}

// Topic settings that bound how far ahead of the broker's clock a timestamp may be, and how far behind.
const (
	futureLimit = "message.timestamp.after.max.ms"
	pastLimit   = "message.timestamp.before.max.ms"
)

// inputFutureLimit returns the setting of the input topic, if it can be read: brokers before 3.6 do not have it.
func (c *cluster) inputFutureLimit(ctx context.Context) (limit int64, known bool) {
	res, err := c.client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: c.cfg.Topics.Input, ConfigNames: []string{futureLimit},
	}}})
	if err != nil || len(res.Resources) != 1 || len(res.Resources[0].ConfigEntries) != 1 {
		return 0, false
	}
	limit, err = strconv.ParseInt(res.Resources[0].ConfigEntries[0].ConfigValue, 10, 64)
	return limit, err == nil
}

func (c *cluster) checkGroup(ctx context.Context) diag.Finding {
	subject := "group " + c.cfg.Group
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var retry backoff
	for {
		res, err := c.client.FindCoordinator(ctx, &kafka.FindCoordinatorRequest{Key: c.cfg.Group, KeyType: kafka.CoordinatorKeyTypeConsumer})
		if err == nil {
			err = res.Error
		}
		if err == nil {
			return diag.New(diag.OK, subject, "coordinator found", "")
		}
		// Just after the start of a cluster the coordinator may not be there yet.
		if permanent(err) || retry.wait(ctx) != nil {
			return fromError(subject, err)
		}
	}
}
