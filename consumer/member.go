package consumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"echosieve/consumer/broker"
	"echosieve/internal/stopping"

	"github.com/segmentio/kafka-go"
)

// serveGenerations serves one group generation after another until ctx ends. It returns an error only if the
// group refuses this member permanently before the member was ever in the group.
func (c *Consumer) serveGenerations(ctx context.Context, group *kafka.ConsumerGroup) error {
	joined := false
	member := "" // the id of this member in the latest group generation
	rejoined := func() {}
	defer func() { rejoined() }()
	for ctx.Err() == nil {
		gen, err := group.Next(ctx)
		switch {
		case err == nil:
			rejoined()
			joined, member = true, gen.MemberID
			c.joined.Store(true)
			c.reporter.OK(broker.OpJoin, c.cfg.Group)
			c.joining.Store(false)
			assigned := c.assigned.Swap(-1)
			gen.Start(func(generation context.Context) { c.serve(generation, ctx, gen, assigned) })
		case ctx.Err() != nil: // Run has closed the group
		case !joined && broker.Permanent(err):
			return fmt.Errorf("consumer: join group %s: %w", c.cfg.Group, broker.Explain(err))
		default:
			// kafka-go itself waits before it tries again.
			c.reporter.Failed(broker.OpJoin, c.cfg.Group, fmt.Errorf("consumer: join group %s: %w", c.cfg.Group, err))
			if member != "" && !errors.Is(err, kafka.RebalanceInProgress) {
				former := member
				member = ""
				watch, stop := context.WithCancel(ctx)
				rejoined = stop
				go c.leaveAs(watch, former)
			}
		}
	}
	return nil
}

// leaveAs takes a former id of this member out of the group, as soon as the coordinator answers. It returns
// when that is done, or when ctx ends because this member has joined again.
//
// kafka-go v0.4.51 forgets its member id after every error, except if the group rebalances. It sends
// LeaveGroup once, which fails while the coordinator is away. Afterwards the group would wait a session
// timeout for the forgotten member, and this process with it.
func (c *Consumer) leaveAs(ctx context.Context, member string) {
	err := stopping.Until(ctx, 0, func(ctx context.Context) error { return broker.Final(c.leave(ctx, member)) })
	c.log.Debug("left the group as its former member", "group", c.cfg.Group, "member", member, "err", err)
}

// leave takes a member out of the group. It is no error if the group does not know the member.
func (c *Consumer) leave(ctx context.Context, member string) error {
	ctx, cancel := context.WithTimeout(ctx, broker.AnswerTimeout)
	defer cancel()
	err := c.cluster.Wire.LeaveGroup(ctx, c.cfg.Group, member)
	if errors.Is(err, kafka.UnknownMemberId) || errors.Is(err, kafka.GroupIdNotFound) {
		return nil
	}
	return err
}

// waitUntilLeft waits for the end of the last group generation. It gives up when the drain timeout is over, which has
// begun with the end of the membership: a member that is joining waits for the other members, a broker that hangs
// answers nothing, and the process must not wait for them when it stops.
func (c *Consumer) waitUntilLeft(left <-chan struct{}) {
	timer := time.NewTimer(c.cfg.DrainTimeout)
	defer timer.Stop()
	select {
	case <-left:
	case <-timer.C:
		c.log.Warn("could not leave the group in time, its other members will notice after the session timeout",
			"group", c.cfg.Group)
	}
}

// heartbeatInterval is a second, or less for short sessions: ten heartbeats in a session, so that a few may be late.
func heartbeatInterval(session time.Duration) time.Duration { return min(time.Second, session/10) }

func (c *Consumer) groupConfig() kafka.ConsumerGroupConfig {
	return kafka.ConsumerGroupConfig{
		ID:                c.cfg.Group,
		Brokers:           c.cfg.Brokers,
		Dialer:            c.cluster.Dialer,
		Topics:            c.cfg.Topics.Inputs,
		GroupBalancers:    []kafka.GroupBalancer{balancer{assigned: &c.assigned, topics: c.cfg.Topics.Inputs}},
		HeartbeatInterval: heartbeatInterval(c.cfg.SessionTimeout),
		SessionTimeout:    c.cfg.SessionTimeout,
		// members drain and commit before they join again: DrainTimeout is at most half of it
		RebalanceTimeout: c.cfg.SessionTimeout,
		JoinGroupBackoff: time.Second,
		StartOffset:      kafka.FirstOffset,
		ErrorLogger: kafka.LoggerFunc(func(format string, args ...any) {
			c.log.Debug("kafka-go reports", "detail", fmt.Sprintf(format, args...))
		}),
	}
}

// balancer gives each partition to the member with the fewest, among those that read its topic: while a restart changes
// the topics, members read different ones. kafka-go's balancers begin again with the first member at each topic, so
// topics of few partitions would all be the first member's.
type balancer struct {
	topics   []string      // of this member
	assigned *atomic.Int64 // stores how many partitions of topics were assigned
}

// ProtocolName implements kafka.GroupBalancer. Members only need one name in common: the leader alone assigns.
func (balancer) ProtocolName() string { return "range" }

// UserData implements kafka.GroupBalancer.
func (balancer) UserData() ([]byte, error) { return nil, nil }

// AssignGroups implements kafka.GroupBalancer. Only the leader of a group generation calls it.
func (b balancer) AssignGroups(members []kafka.GroupMember, partitions []kafka.Partition) kafka.GroupMemberAssignments {
	slices.SortFunc(members, func(x, y kafka.GroupMember) int { return strings.Compare(x.ID, y.ID) })
	slices.SortFunc(partitions, func(x, y kafka.Partition) int {
		return cmp.Or(strings.Compare(x.Topic, y.Topic), cmp.Compare(x.ID, y.ID))
	})
	given := kafka.GroupMemberAssignments{}
	for _, m := range members {
		given[m.ID] = map[string][]int{}
	}
	held, n := map[string]int{}, int64(0)
	for _, p := range partitions {
		if slices.Contains(b.topics, p.Topic) {
			n++
		}
		to := ""
		for _, m := range members {
			if slices.Contains(m.Topics, p.Topic) && (to == "" || held[m.ID] < held[to]) {
				to = m.ID
			}
		}
		if to != "" {
			held[to]++
			given[to][p.Topic] = append(given[to][p.Topic], p.ID)
		}
	}
	b.assigned.Store(n)
	return given
}
