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
	"echosieve/consumer/internal/wire"
	"echosieve/internal/stopping"

	"github.com/segmentio/kafka-go"
)

// groupMember is this process as a member of its consumer group. It joins by kafka-go, again after each rebalance, and
// leaves the group when its membership ends.
type groupMember struct {
	*env
	joining     *joinWatch
	entry       *entry
	inputs      *inputs
	generations *generations
	// assigned are the partitions that this member has assigned, as leader, for the next group generation; -1: it is not
	// the leader
	assigned atomic.Int64
	joined   atomic.Bool // see Consumer.Joined
}

// run joins the group and serves partitions until ctx ends, or until this process must wait for another index:
// then it returns errOtherIndex.
func (g *groupMember) run(ctx context.Context) error {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	g.entry.stepBack = func() { leave(errOtherIndex) }
	members, err := kafka.NewConsumerGroup(g.config())
	if err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	left := make(chan struct{})
	context.AfterFunc(ctx, func() {
		// Close ends the group generation, waits until it is drained and committed, and leaves the group.
		_ = members.Close()
		close(left)
	})
	g.joining.waits.Store(true)
	defer g.joining.waits.Store(false)
	err = g.serveGenerations(ctx, members)
	leave(err)
	g.waitUntilLeft(left)
	if errors.Is(context.Cause(ctx), errOtherIndex) {
		return errOtherIndex
	}
	return err
}

// serveGenerations serves one group generation after another until ctx ends. It returns an error only if the
// group refuses this member permanently before the member was ever in the group.
func (g *groupMember) serveGenerations(ctx context.Context, members *kafka.ConsumerGroup) error {
	joined := false
	member := "" // the id of this member in the latest group generation
	rejoined := func() {}
	defer func() { rejoined() }()
	for ctx.Err() == nil {
		gen, err := members.Next(ctx)
		switch {
		case err == nil:
			rejoined()
			joined, member = true, gen.MemberID
			g.joined.Store(true)
			g.reporter.OK(broker.OpJoin, g.cfg.Group)
			g.joining.waits.Store(false)
			assigned := g.assigned.Swap(-1)
			gen.Start(func(generation context.Context) { g.serve(generation, ctx, gen, assigned) })
		case ctx.Err() != nil: // Run has closed the group
		case !joined && broker.Permanent(err):
			return fmt.Errorf("consumer: join group %s: %w", g.cfg.Group, broker.Explain(err))
		default:
			// kafka-go itself waits before it tries again.
			g.reporter.Failed(broker.OpJoin, g.cfg.Group, fmt.Errorf("consumer: join group %s: %w", g.cfg.Group, err))
			if member != "" && !errors.Is(err, kafka.RebalanceInProgress) {
				former := member
				member = ""
				watch, stop := context.WithCancel(ctx)
				rejoined = stop
				go g.leaveAs(watch, former)
			}
		}
	}
	return nil
}

// serve takes part in one group generation until ctx, the generation, ends. assignedInAll is the number of partitions
// of all input topics that this member has assigned to members as the group's leader; negative if it is not the leader.
func (g *groupMember) serve(ctx, process context.Context, gen *kafka.Generation, assignedInAll int64) {
	defer g.joining.waits.Store(true)
	assigned := 0
	for _, input := range g.inputs.topics {
		assigned += len(gen.Assignments[input.name])
	}
	g.metrics.Rebalances.Inc()
	g.metrics.Assigned.Set(float64(assigned))
	defer g.metrics.Assigned.Set(0)
	g.log.Info("joined group generation", "group", g.cfg.Group, "generation", gen.ID, "partitions", assigned)

	gen.Start(func(ctx context.Context) { g.inputs.endOnTopicChange(ctx, assignedInAll) })
	if starts, err := g.startPositions(ctx, gen.Assignments); err == nil { // else the group generation has ended
		g.generations.serve(ctx, process, gen, starts)
	}
}

// startPositions asks brokers for the topics' ids and for the group's offsets in the assigned partitions, until they
// answer. It returns an error when ctx ends, and if this process must not decide.
func (g *groupMember) startPositions(ctx context.Context, assigned map[string][]kafka.PartitionAssignment) (
	starts []startPosition, err error,
) {
	err = g.reporter.Until(ctx, broker.OpJoin, g.cfg.Group, func(ctx context.Context) error {
		var committed []broker.Commit
		var err error
		committed, starts, err = g.inputs.starts(ctx, assigned)
		if err == nil {
			err = g.entry.checkMembers(ctx, committed)
		}
		switch {
		case errors.Is(err, errOtherIndex):
			return stopping.Final(err)
		case err != nil:
			return fmt.Errorf("consumer: positions of group %s: %w", g.cfg.Group, err)
		}
		g.entry.labels.recall(committed)
		return nil
	})
	return starts, err
}

// leaveAs takes a former id of this member out of the group, as soon as the coordinator answers. It returns
// when that is done, or when ctx ends because this member has joined again.
//
// kafka-go v0.4.51 forgets its member id after every error, except if the group rebalances. It sends
// LeaveGroup once, which fails while the coordinator is away. Afterwards the group would wait a session
// timeout for the forgotten member, and this process with it.
func (g *groupMember) leaveAs(ctx context.Context, member string) {
	err := stopping.Until(ctx, 0, func(ctx context.Context) error { return broker.Final(g.group.TakeOut(ctx, member)) })
	g.log.Debug("left the group as its former member", "group", g.cfg.Group, "member", member, "err", err)
}

// waitUntilLeft waits for the end of the last group generation. It gives up when the drain timeout is over, which has
// begun with the end of the membership: a member that is joining waits for the other members, a broker that hangs
// answers nothing, and the process must not wait for them when it stops.
func (g *groupMember) waitUntilLeft(left <-chan struct{}) {
	select {
	case <-left:
	case <-time.After(g.cfg.DrainTimeout):
		g.log.Warn("could not leave the group in time, its other members will notice after the session timeout",
			"group", g.cfg.Group)
	}
}

func (g *groupMember) config() kafka.ConsumerGroupConfig {
	return kafka.ConsumerGroupConfig{
		ID:                g.cfg.Group,
		Brokers:           g.cfg.Brokers,
		Dialer:            g.cluster.Dialer,
		Topics:            g.cfg.Topics.Inputs,
		GroupBalancers:    []kafka.GroupBalancer{balancer{assigned: &g.assigned, topics: g.cfg.Topics.Inputs}},
		HeartbeatInterval: min(time.Second, g.cfg.SessionTimeout/10), // ten in a session, so that a few may be late
		SessionTimeout:    g.cfg.SessionTimeout,
		// members drain and commit before they join again: DrainTimeout is at most half of it
		RebalanceTimeout: g.cfg.SessionTimeout,
		JoinGroupBackoff: time.Second,
		StartOffset:      kafka.FirstOffset,
		ErrorLogger: kafka.LoggerFunc(func(format string, args ...any) {
			g.log.Debug("kafka-go reports", "detail", fmt.Sprintf(format, args...))
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

// joinWatch watches this process while the group has given it no partitions.
type joinWatch struct {
	*env
	waits atomic.Bool // it is about to join the group, and has no partitions
}

const (
	// joinInterval is the time between two looks at a group that this process joins.
	joinInterval = 200 * time.Millisecond
	// joinPatience is how long a group may take to assign partitions before the process says that it waits.
	joinPatience = time.Second
	warnJoin     = "join"
)

// watch says what this process waits for while it has no partitions, and takes former members of its name out
// of the group at the start, until ctx ends.
//
// It does so only when the group has the new member: brokers make the first member of an empty group wait for others
// (group.initial.rebalance.delay.ms, 3 s by default).
func (j *joinWatch) watch(ctx context.Context) {
	var since time.Time // zero: this process is not joining
	_, named := nameOf(j.clientID)
	replaced, said := !named, false
	for stopping.Wait(ctx, joinInterval) == nil {
		if !j.waits.Load() {
			if said {
				j.warn(warnJoin, "")
			}
			since, replaced, said = time.Time{}, !named, false
			continue
		}
		if since.IsZero() {
			since = time.Now()
		}
		late := time.Since(since) >= joinPatience
		if replaced && (said || !late) {
			continue
		}
		members, err := j.group.Members(ctx)
		if err != nil {
			continue // joining reports it
		}
		if !replaced && indexOf(j.clientID, members) >= 0 {
			replaced = j.replace(ctx, members)
		}
		if late && !said {
			said = true
			j.sayAwaited(members, since)
		}
	}
}

// replace takes former members of this process' name out of the group, and says whether that is done.
func (j *joinWatch) replace(ctx context.Context, members []wire.Member) bool {
	for _, m := range formerOf(j.clientID, members) {
		if err := j.group.TakeOut(ctx, m.ID); err != nil {
			j.log.Debug("a former member of this name could not be taken out", "group", j.cfg.Group, "err", err)
			return false
		}
		j.log.Info("took the former process of this name out of the group", "group", j.cfg.Group, "member", m.ID,
			"host", m.Host)
	}
	return true
}

func (j *joinWatch) sayAwaited(members []wire.Member, since time.Time) {
	others := make([]string, 0, len(members))
	for _, m := range members {
		if m.ClientID != j.clientID {
			others = append(others, m.ID)
		}
	}
	const shown = 5
	text := fmt.Sprintf("no partitions since %s: group %s waits for its other members, and leaves out one that is silent "+
		"for its session timeout (%s here); it has %d: %s", since.UTC().Format(time.RFC3339), j.cfg.Group,
		j.cfg.SessionTimeout, len(others), strings.Join(others[:min(shown, len(others))], ", "))
	j.log.Info("waiting for partitions", "why", text)
	j.warn(warnJoin, text)
}
