package tools

import (
	"context"
	"errors"
	"fmt"

	"echosieve/consumer/broker"
)

// FindInput makes sure, before a tool publishes into an input topic, that the topic exists. With kafka.create_topics it
// creates a missing one, and says whether it did; unlike EnsureTopics it needs no right on the output topics. The error
// is a *MissingTopicsError, or names another fault and its remedy.
func FindInput(ctx context.Context, cfg broker.Config, topic string) (created bool, err error) {
	c, err := broker.New(cfg, topic)
	if err != nil {
		return false, fmt.Errorf("consumer: %w", err)
	}
	defer c.Close()
	var names []string
	if cfg.CreateTopics {
		names, err = c.EnsureTopics(ctx, []string{topic})
	} else {
		err = c.WaitForTopics(ctx, []string{topic}, topicPatience)
	}
	if missing := (*broker.MissingTopicsError)(nil); err == nil || errors.As(err, &missing) {
		return len(names) > 0, err
	}
	return false, explainProduce(topic, c.ExplainClosed(ctx, err))
}
