package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/delivery"
	"echosieve/internal/diag"
	"echosieve/internal/stopping"

	"github.com/segmentio/kafka-go"
)

// env is what all parts of a Consumer use.
type env struct {
	cfg      broker.Config
	cluster  *broker.Cluster
	group    *broker.ConsumerGroup
	delivery *delivery.Delivery
	metrics  *broker.Metrics
	reporter *broker.Reporter
	log      *slog.Logger
	clientID string                  // of this member in the group, see name; empty: the process has no name
	warn     func(kind, text string) // see Consumer.WarnWith
	fail     func(error)             // ends Run with an error
}

// prepare waits until brokers, topics and the group's coordinator answer.
func (e *env) prepare(ctx context.Context) error {
	return e.reporter.Until(ctx, broker.OpJoin, e.cfg.Group, func(ctx context.Context) error {
		err := e.prepareOnce(ctx)
		if missing := (*broker.MissingTopicsError)(nil); errors.As(err, &missing) {
			return stopping.Final(err)
		}
		return broker.Final(err)
	})
}

func (e *env) prepareOnce(ctx context.Context) error {
	var err error
	if e.cfg.CreateTopics {
		var created []string
		created, err = e.cluster.EnsureTopics(ctx, e.cfg.Topics.All())
		for _, name := range created {
			partitions, _ := e.cluster.Partitions(ctx, name) // 0: not known yet
			e.log.Info("created topic", "topic", name, "partitions", partitions)
		}
	} else {
		// A topic that was created a moment ago may not be known to every broker yet.
		err = e.cluster.WaitForTopics(ctx, e.cfg.Topics.All(), 3*time.Second)
	}
	if p := (*diag.Problem)(nil); e.cfg.Topics.SnapshotsFor > 0 && errors.Is(err, kafka.TopicAuthorizationFailed) &&
		errors.As(broker.Explain(err), &p) {
		p.Remedy = "grant Read on the output topics, and Read and Write on " + e.cfg.Topics.Shadow
		return p
	}
	if err != nil {
		return err
	}
	if err := e.checkTopics(ctx); err != nil {
		return err
	}
	if err := e.waitForGroup(ctx); err != nil {
		return err
	}
	lack, err := e.delivery.Prepare(ctx)
	if lack != "" {
		e.warn("delivery", lack)
	}
	return err
}

// checkTopics returns a permanent *diag.Problem if this user may see a topic but not use it, or if the topic of
// snapshots has several partitions. A topic that the user may not see is missing.
func (e *env) checkTopics(ctx context.Context) error {
	m, err := e.cluster.Metadata(ctx, e.cfg.Topics.All())
	if err != nil {
		return err
	}
	for i := range m.Topics {
		t := &m.Topics[i]
		if p := e.cfg.Topics.LackingRight(t); p != nil {
			return p
		}
		if n := len(t.Partitions); e.cfg.Topics.SnapshotsFor > 0 && t.Name == e.cfg.Topics.Shadow && n > 1 {
			return diag.Lasting("the topic "+t.Name+" must have one partition, or compaction keeps old snapshots",
				"delete it and set kafka.create_topics: true, or name another topic", fmt.Errorf("it has %d", n))
		}
	}
	return nil
}

// waitForGroup returns nil when the group's coordinator answers. In a new cluster the first such request
// creates the coordinators' topic, and for a moment no coordinator is available.
func (e *env) waitForGroup(ctx context.Context) error {
	return stopping.Until(ctx, broker.SettleTimeout, func(ctx context.Context) error {
		_, err := e.group.Committed(ctx, e.cfg.Topics.Inputs[0], []int{0})
		if err != nil && broker.KindOf(err) != "coordinator" {
			return stopping.Final(err)
		}
		return err
	})
}
