package tools

import (
	"context"
	"fmt"

	"echosieve/consumer/broker"
	"echosieve/internal/stopping"
)

// EnsureTopics creates the configured topics that are missing, and waits until brokers serve them. It tries once.
// Errors say what to do. Existing topics are not changed.
func EnsureTopics(ctx context.Context, cfg broker.Config) error {
	c, err := broker.New(cfg, cfg.Topics.All()...)
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	defer c.Close()
	if _, err := c.EnsureTopics(ctx, cfg.Topics.All()); err != nil {
		return fmt.Errorf("consumer: create topics: %w", broker.Explain(err))
	}
	return nil
}

// EnsureInput creates an input topic if it is missing, for a tool that publishes, and says whether it did.
// Unlike EnsureTopics it needs no right on the output topics.
func EnsureInput(ctx context.Context, cfg broker.Config, topic string) (created bool, err error) {
	c, err := broker.New(cfg, topic)
	if err != nil {
		return false, fmt.Errorf("consumer: %w", err)
	}
	defer c.Close()
	names, err := c.EnsureTopics(ctx, []string{topic})
	if err != nil {
		return false, explainProduce(topic, c.ExplainClosed(ctx, err))
	}
	return len(names) > 0, nil
}

// FindTopic makes sure, before a tool publishes into a topic, that the topic exists. The error is a
// *MissingTopicsError, or names another fault and its remedy.
func FindTopic(ctx context.Context, cfg broker.Config, topic string) error {
	c, err := broker.New(cfg, topic)
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	defer c.Close()
	patience, cancel := context.WithTimeout(ctx, topicPatience)
	defer cancel()
	var retry stopping.Backoff
	for {
		missing, err := c.Missing(ctx, []string{topic})
		switch {
		case err != nil:
			return explainProduce(topic, c.ExplainClosed(ctx, err))
		case len(missing) == 0:
			return nil
		case retry.Wait(patience) != nil:
			return &broker.MissingTopicsError{Topics: missing}
		}
	}
}
