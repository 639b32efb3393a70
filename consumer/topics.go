package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"echosieve/internal/diag"

	"github.com/segmentio/kafka-go"
)

// missing returns the names of the topics that do not exist or that this user may not see.
func (c *cluster) missing(ctx context.Context, topics []string) ([]string, error) {
	m, err := c.metadata(ctx, topics)
	if err != nil {
		return nil, err
	}
	var missing []string
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
	return fmt.Sprintf("topics that do not exist, or that this user has no right on: %s: create them or set kafka.create_topics: true", strings.Join(e.Topics, ", "))
}

// EnsureTopics creates the configured topics that are missing, and waits until brokers serve them. It tries once.
// Errors say what to do. Existing topics are not changed.
func EnsureTopics(ctx context.Context, cfg Config) error {
	c, err := newCluster(cfg, cfg.Topics.All()...)
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	defer c.close()
	if err := c.ensureTopics(ctx); err != nil {
		return fmt.Errorf("consumer: create topics: %w", explain(err))
	}
	return nil
}

// settleTimeout is how long new topics, and the group coordinator of a new cluster, may take until they answer.
const settleTimeout = 15 * time.Second

func (c *cluster) ensureTopics(ctx context.Context) error {
	missing, err := c.missing(ctx, c.cfg.Topics.All())
	if err != nil || len(missing) == 0 {
		return err
	}
	if err := c.createTopics(ctx, missing, false); err != nil {
		return err
	}
	if err := c.waitForTopics(ctx, settleTimeout); err != nil {
		return err
	}
	return c.waitForLeaders(ctx, missing)
}

// createTopics creates topics. With dry it changes nothing and only asks whether the broker would create them.
func (c *cluster) createTopics(ctx context.Context, names []string, dry bool) error {
	req := &kafka.CreateTopicsRequest{ValidateOnly: dry}
	for _, name := range names {
		topic := kafka.TopicConfig{Topic: name, NumPartitions: c.cfg.Partitions, ReplicationFactor: c.cfg.Replication}
		if name != c.cfg.Topics.Input {
			topic.ConfigEntries = []kafka.ConfigEntry{
				{ConfigName: "max.message.bytes", ConfigValue: fmt.Sprint(c.cfg.MaxMessageBytes)},
				// Records are published with the timestamps of the input.
				{ConfigName: "message.timestamp.type", ConfigValue: "CreateTime"},
			}
		}
		req.Topics = append(req.Topics, topic)
	}
	res, err := c.client.CreateTopics(ctx, req)
	if err != nil {
		return err
	}
	for _, name := range names {
		err := res.Errors[name]
		switch {
		case errors.Is(err, kafka.TopicAuthorizationFailed), errors.Is(err, kafka.ClusterAuthorizationFailed):
			return &diag.Problem{
				Cause: "this user may not create the topic " + name, Remedy: "grant Create on it or on the cluster, or create it beforehand",
				Err: err, Permanent: true,
			}
		case err != nil && !errors.Is(err, kafka.TopicAlreadyExists):
			return fmt.Errorf("topic %s: %w", name, err)
		}
	}
	return nil
}

// waitForTopics returns nil when a broker knows all configured topics. After patience it returns a *MissingTopicsError.
func (c *cluster) waitForTopics(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var retry backoff
	for {
		missing, err := c.missing(ctx, c.cfg.Topics.All())
		if err == nil && len(missing) == 0 {
			return nil
		}
		if err == nil {
			slices.Sort(missing)
			err = &MissingTopicsError{Topics: missing}
		}
		if permanent(err) || retry.wait(ctx) != nil {
			return err
		}
	}
}

// waitForLeaders returns nil when the leader of every partition of the topics answers. The topics were created a moment ago: a broker
// can list a topic before the topic's leader knows of it.
func (c *cluster) waitForLeaders(ctx context.Context, topics []string) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for _, topic := range topics {
		for partition := range int32(c.cfg.Partitions) {
			var retry backoff
			for {
				_, _, err := c.offsets(ctx, topic, partition)
				if err == nil {
					break
				}
				if permanent(err) || retry.wait(ctx) != nil {
					return fmt.Errorf("topic %s: %w", topic, err)
				}
			}
		}
	}
	return nil
}

// waitForGroup returns nil when the group's coordinator answers. In a new cluster the first such request creates the coordinators'
// topic, and for a moment no coordinator is available.
func (c *cluster) waitForGroup(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	var retry backoff
	for {
		_, err := c.committed(ctx, c.cfg.Group, c.cfg.Topics.Input, []int{0})
		switch {
		case err == nil, errors.Is(err, kafka.GroupIdNotFound): // the group has no member yet
			return nil
		case kind(err) != "coordinator", retry.wait(ctx) != nil:
			return err
		}
	}
}
