package consumer

import (
	"context"
	"fmt"
)

// EnsureTopics creates the configured topics that are missing, and waits until brokers serve them. It tries once.
// Errors say what to do. Existing topics are not changed.
func EnsureTopics(ctx context.Context, cfg Config) error {
	c, err := newCluster(cfg, cfg.Topics.All()...)
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	defer c.close()
	if _, err := c.ensureTopics(ctx, cfg.Topics.All()); err != nil {
		return fmt.Errorf("consumer: create topics: %w", explain(err))
	}
	return nil
}

// EnsureInput creates the input topic if it is missing, for a tool that publishes, and says whether it did.
// Unlike EnsureTopics it needs no right on the output topics.
func EnsureInput(ctx context.Context, cfg Config) (created bool, err error) {
	c, err := newCluster(cfg, cfg.Topics.Input)
	if err != nil {
		return false, fmt.Errorf("consumer: %w", err)
	}
	defer c.close()
	names, err := c.ensureTopics(ctx, []string{cfg.Topics.Input})
	if err != nil {
		return false, explainProduce(cfg.Topics.Input, c.explainClosed(ctx, err))
	}
	return len(names) > 0, nil
}

// FindTopic makes sure, before a tool publishes into a topic, that the topic exists. The error is a
// *MissingTopicsError, or names another fault and its remedy.
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
			return explainProduce(topic, c.explainClosed(ctx, err))
		case len(missing) == 0:
			return nil
		case retry.wait(patience) != nil:
			return &MissingTopicsError{Topics: missing}
		}
	}
}
