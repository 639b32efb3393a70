package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"echosieve/consumer/internal/wire"
	"echosieve/internal/diag"
	"echosieve/internal/stopping"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Partitions returns the number of partitions of a topic, from metadata at most metadataTTL old.
func (c *Cluster) Partitions(ctx context.Context, topic string) (int, error) {
	m, err := c.Client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	switch {
	case err != nil:
		return 0, err
	case len(m.Topics) == 1 && m.Topics[0].Error != nil:
		return 0, fmt.Errorf("%s: %w", topic, m.Topics[0].Error)
	case len(m.Topics) != 1 || len(m.Topics[0].Partitions) == 0:
		return 0, protocol.NewErrNoTopic(topic)
	}
	return len(m.Topics[0].Partitions), nil
}

// Topic asks a broker about one topic, past the transport's cache. If the topic does not exist, the error is
// kafka.UnknownTopicOrPartition.
func (c *Cluster) Topic(ctx context.Context, name string) (wire.Topic, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	m, err := c.Wire.Metadata(ctx, name)
	switch {
	case err != nil:
		return wire.Topic{}, err
	case len(m.Topics) != 1:
		return wire.Topic{}, fmt.Errorf("the broker sent metadata of %d topics, one was requested", len(m.Topics))
	}
	return m.Topics[0], m.Topics[0].Err
}

// Metadata asks a broker about topics, past the transport's cache.
func (c *Cluster) Metadata(ctx context.Context, topics []string) (*wire.Metadata, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	return c.Wire.Metadata(ctx, topics...)
}

// absentTopics returns the names of the topics that do not exist or that this user may not see, in their order.
func absentTopics(ctx context.Context, c *Cluster, topics []string) (missing []string, err error) {
	m, err := c.Metadata(ctx, topics)
	if err != nil {
		return nil, err
	}
	for _, t := range m.Topics {
		switch {
		case errors.Is(t.Err, kafka.UnknownTopicOrPartition):
			missing = append(missing, t.Name)
		case t.Err != nil:
			return nil, fmt.Errorf("topic %s: %w", t.Name, t.Err)
		}
	}
	return missing, nil
}

// MissingTopicsError names topics that do not exist or that this user may not see.
type MissingTopicsError struct{ Topics []string }

// Error says what to do.
func (e *MissingTopicsError) Error() string {
	return fmt.Sprintf("topics that do not exist, or that this user has no right on: %s: create them or set "+
		"kafka.create_topics: true", strings.Join(e.Topics, ", "))
}

// EnsureTopics creates the topics that are missing and returns the names of those that it has created, also if the
// topics do not answer in time.
func (c *Cluster) EnsureTopics(ctx context.Context, topics []string) (created []string, err error) {
	missing, err := absentTopics(ctx, c, topics)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	if created, err = c.CreateTopics(ctx, missing, false); err != nil {
		return created, err
	}
	if err := c.WaitForTopics(ctx, topics, SettleTimeout); err != nil {
		return created, err
	}
	return created, c.waitForLeaders(ctx, missing)
}

// CreateTopics creates topics, and returns the names of those that nobody else has created meanwhile. With dry it
// changes nothing and only asks whether the broker would create them.
func (c *Cluster) CreateTopics(ctx context.Context, names []string, dry bool) (created []string, err error) {
	req := &kafka.CreateTopicsRequest{ValidateOnly: dry}
	isOutput := func(name string) bool { return name != c.Config.Topics.Learnt }
	// Of inputs that are created, too, the outputs have the broker's limits.
	inputs := slices.DeleteFunc(slices.Clone(c.Config.Topics.Inputs),
		func(input string) bool { return dry || slices.Contains(names, input) })
	var limits map[string]TopicSettings
	if len(inputs) > 0 && slices.ContainsFunc(names, isOutput) {
		if limits, err = WaitForSettings(ctx, c, inputs...); errors.Is(err, ErrNotKnownYet) {
			return nil, err
		}
	}
	for _, name := range names {
		topic := kafka.TopicConfig{Topic: name, NumPartitions: c.Config.Partitions, ReplicationFactor: c.Config.Replication}
		switch keep := c.Config.Topics.SnapshotsFor; {
		case slices.Contains(c.Config.Topics.Inputs, name):
		case name == c.Config.Topics.Learnt:
			learntTopic(&topic)
		case keep > 0:
			topic.NumPartitions = 1 // whoever changes the state of a key, its snapshots follow each other
			topic.ConfigEntries = []kafka.ConfigEntry{
				{ConfigName: CleanupPolicy, ConfigValue: "compact,delete"},
				{ConfigName: retentionTime, ConfigValue: strconv.FormatInt(keep.Milliseconds(), 10)},
				// Segments that are written to are neither compacted nor deleted.
				{ConfigName: segmentTime, ConfigValue: strconv.FormatInt(time.Hour.Milliseconds(), 10)},
			}
		default:
			topic.ConfigEntries = []kafka.ConfigEntry{
				{ConfigName: sizeLimit, ConfigValue: fmt.Sprint(c.Config.MaxMessageBytes)},
				// Records are published with the timestamps of the input, so the topic must take whatever the
				// input takes.
				{ConfigName: TimeType, ConfigValue: "CreateTime"},
			}
			for _, limit := range []string{FutureLimit, PastLimit, bothLimit} {
				if value := widest(limits, limit); value != "" {
					topic.ConfigEntries = append(topic.ConfigEntries,
						kafka.ConfigEntry{ConfigName: limit, ConfigValue: value})
				}
			}
		}
		req.Topics = append(req.Topics, topic)
	}
	res, err := c.Client.CreateTopics(ctx, req)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		switch err := res.Errors[name]; {
		case err == nil:
			created = append(created, name)
		case errors.Is(err, kafka.TopicAuthorizationFailed), errors.Is(err, kafka.ClusterAuthorizationFailed):
			return created, diag.Lasting("this user may not create the topic "+name,
				"grant Create on it or on the cluster, or create it beforehand", err)
		case !errors.Is(err, kafka.TopicAlreadyExists):
			return created, fmt.Errorf("topic %s: %w", name, err)
		}
	}
	return created, nil
}

// widest returns the largest value of a limit of timestamps among topics; empty: no topic has it.
func widest(topics map[string]TopicSettings, limit string) (value string) {
	for _, s := range topics {
		if v, known := s[limit]; known && (value == "" || milliseconds(v) > milliseconds(value)) {
			value = v
		}
	}
	return value
}

// WaitForTopics returns nil when a broker knows all these topics. After patience it returns a *MissingTopicsError.
func (c *Cluster) WaitForTopics(ctx context.Context, topics []string, patience time.Duration) error {
	return stopping.Until(ctx, patience, func(ctx context.Context) error {
		missing, err := absentTopics(ctx, c, topics)
		if err == nil && len(missing) > 0 {
			slices.Sort(missing)
			return &MissingTopicsError{Topics: missing}
		}
		return Final(err)
	})
}

// waitForLeaders returns nil when the leader of every partition of the topics answers. The topics were
// created a moment ago: a broker can list a topic before the topic's leader knows of it.
func (c *Cluster) waitForLeaders(ctx context.Context, topics []string) error {
	return stopping.Until(ctx, SettleTimeout, func(ctx context.Context) error {
		m, err := c.Metadata(ctx, topics)
		if err != nil {
			return Final(err)
		}
		for _, t := range m.Topics {
			err := t.Err
			for i := 0; err == nil && i < len(t.Partitions); i++ {
				_, _, err = c.Partition(t.Name, t.Partitions[i].ID).Offsets(ctx)
			}
			if err != nil {
				return Final(fmt.Errorf("topic %s: %w", t.Name, err))
			}
		}
		return nil
	})
}

// LackingRight says which right is missing on a topic that this user may see; nil if none is.
func (names Topics) LackingRight(t *wire.Topic) *diag.Problem {
	right, learnt := "Write", t.Name == names.Learnt
	reads := learnt || slices.Contains(names.Inputs, t.Name)
	writes := !reads || learnt && names.Shadow == "" // a shadow publishes no rows
	switch {
	case reads && t.Operations.Lack(wire.MayRead):
		right = "Read"
	case !writes || !t.Operations.Lack(wire.MayWrite):
		return nil
	}
	return diag.Lasting("this user has no "+right+" right on "+t.Name, "grant "+right+" on the topic",
		kafka.TopicAuthorizationFailed)
}

// learntTopic completes a new topic of learnt rows: see Topics.Learnt.
func learntTopic(topic *kafka.TopicConfig) {
	topic.NumPartitions = 1
	topic.ConfigEntries = []kafka.ConfigEntry{
		{ConfigName: CleanupPolicy, ConfigValue: "compact"}, {ConfigName: TimeType, ConfigValue: appendTime},
	}
}

// appendTime is the value of TimeType with which brokers stamp records.
const appendTime = "LogAppendTime"

// LearntFault returns a permanent *diag.Problem if the topic of learnt rows is one that would not work, and another
// error if brokers do not answer. Settings that this user may not read count as right.
func LearntFault(ctx context.Context, c *Cluster, t *wire.Topic) error {
	refuse := func(cause, remedy string) error {
		return diag.Lasting("the topic "+t.Name+" "+cause, remedy+", or set detection.learn: false",
			errors.New("it keeps what all processes have learnt"))
	}
	if n := len(t.Partitions); n != 1 {
		return refuse(fmt.Sprintf("has %d partitions, it must have one", n), "delete it: it is then created again")
	}
	all, err := WaitForSettings(ctx, c, t.Name)
	settings, known := all[t.Name]
	switch {
	case !known && (errors.Is(err, kafka.TopicAuthorizationFailed) || errors.Is(err, kafka.ClusterAuthorizationFailed)):
		return nil
	case !known:
		return err
	case settings[TimeType] != appendTime:
		return refuse(fmt.Sprintf("has %s %s: processes would not see one time of a row", TimeType, settings[TimeType]),
			"delete it, it is then made with "+appendTime)
	case settings[CleanupPolicy] != "compact":
		return refuse(fmt.Sprintf("has %s %s, which deletes rows", CleanupPolicy, settings[CleanupPolicy]),
			"set it to compact")
	}
	return nil
}
