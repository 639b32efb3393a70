package tools

import (
	"context"
	"errors"
	"fmt"

	"echosieve/consumer/broker"
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
	err = c.WaitForTopics(ctx, []string{topic}, topicPatience)
	if missing := (*broker.MissingTopicsError)(nil); err == nil || errors.As(err, &missing) {
		return err
	}
	return explainProduce(topic, c.ExplainClosed(ctx, err))
}
