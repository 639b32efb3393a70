package consumer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"echosieve/consumer/broker"
	"echosieve/consumer/internal/wire"
	"echosieve/internal/stopping"

	"github.com/segmentio/kafka-go"
)

// topicCheckInterval is the longest time for which a change of an input topic can go unnoticed.
const topicCheckInterval = 2 * time.Second

// inputs are the input topics, in the order of the configuration.
type inputs struct {
	*env
	topics []*inputTopic
}

func newInputs(e *env) *inputs {
	in := &inputs{env: e}
	for _, name := range e.cfg.Topics.Inputs {
		input := &inputTopic{name: name}
		input.id.Store(&wire.TopicID{})
		in.topics = append(in.topics, input)
	}
	return in
}

// endOnTopicChange returns, which ends the group generation, when an input topic was recreated. In the
// group's leader, which has assigned the partitions, it also returns when the topics' number of partitions
// has changed; assigned is the number at the assignment, or negative in the other members. While a topic
// does not exist, it reports the failure and waits.
//
// kafka-go v0.4.51 has such a watcher (WatchPartitionChanges). It is off for three reasons: while the topic
// does not exist it forms one group generation after the other; it compares with the number of partitions
// that it sees first, not with the assigned number; and it knows no topic ids.
func (in *inputs) endOnTopicChange(ctx context.Context, assigned int64) {
	for stopping.Wait(ctx, topicCheckInterval) == nil {
		now, err := in.describeTopics(ctx)
		partitions, changed := int64(0), false
		for i, t := range now {
			if t.Err == nil {
				in.reporter.OK(broker.OpJoin, t.Name)
			} else if err = t.Err; errors.Is(err, kafka.UnknownTopicOrPartition) {
				in.reporter.Failed(broker.OpJoin, t.Name, err)
			}
			partitions += int64(len(t.Partitions))
			changed = changed || in.topics[i].differs(t.ID)
		}
		// Fetches and the health probe report other errors.
		if changed || err == nil && assigned >= 0 && partitions != assigned {
			in.log.Info("an input topic has changed, joining again", "topics", in.cfg.Topics.Inputs, "partitions", partitions)
			return
		}
	}
}

// describeTopics asks a broker about all topics and returns the input topics, in the order of in.topics. It stores the
// others, for the partitions that this process owns.
func (in *inputs) describeTopics(ctx context.Context) (inputs []wire.Topic, err error) {
	asked := time.Now()
	m, err := in.cluster.Metadata(ctx, in.cfg.Topics.All())
	if err != nil {
		return nil, err
	}
	known := map[string]wire.Topic{}
	for _, t := range m.Topics {
		known[t.Name] = t
	}
	for _, input := range in.topics {
		inputs = append(inputs, known[input.name])
		delete(known, input.name)
	}
	in.delivery.Saw(slices.Collect(maps.Values(known)), asked)
	return inputs, nil
}

// startPosition is where a group generation begins in a partition: at offset, or at the log start if offset is
// negative.
type startPosition struct {
	wire.TopicPartition
	input     *inputTopic
	offset    int64
	recreated bool // the group's offset belonged to a topic that was deleted and recreated
}

// starts returns what the group has committed in the input topics, and where this member begins. The error is that of a
// topic, but a topic that is missing is left out, unless this member has partitions of it.
func (in *inputs) starts(ctx context.Context, assigned map[string][]kafka.PartitionAssignment) (
	all []broker.Commit, starts []startPosition, err error,
) {
	for _, input := range in.topics {
		committed, its, err := in.startsIn(ctx, input, assigned[input.name])
		switch {
		case errors.Is(err, kafka.UnknownTopicOrPartition) && len(assigned[input.name]) == 0:
			in.reporter.Failed(broker.OpJoin, input.name, err) // the other topics need not wait for it
		case err != nil:
			return nil, nil, err
		}
		all, starts = append(all, committed...), append(starts, its...)
	}
	return all, starts, nil
}

// startsIn returns what the group has committed in one input topic, and where this member begins there.
func (in *inputs) startsIn(ctx context.Context, input *inputTopic, assigned []kafka.PartitionAssignment) (
	committed []broker.Commit, starts []startPosition, err error,
) {
	// The topic's id is read before anything is fetched. Otherwise the topic could be recreated in between:
	// records of the old topic would be committed under the id of the new one, and a restart would resume in
	// the new topic at an offset of the old.
	now, err := in.cluster.Topic(ctx, input.name)
	if err != nil {
		return nil, nil, err
	}
	input.id.Store(&now.ID)
	// Offsets of all partitions are read, for their labels: the members of the group must know the same
	// before one of them writes.
	partitions := broker.FirstPartitions(len(now.Partitions))
	for _, a := range assigned {
		if a.ID >= len(now.Partitions) {
			partitions = append(partitions, a.ID)
		}
	}
	if committed, err = in.group.Committed(ctx, input.name, partitions); err != nil {
		return nil, nil, err
	}
	for _, p := range committed {
		if !slices.ContainsFunc(assigned, func(a kafka.PartitionAssignment) bool { return a.ID == int(p.Partition) }) {
			continue
		}
		at := startPosition{TopicPartition: p.TopicPartition, input: input, offset: p.Next}
		if p.Next >= 0 && p.OfOtherTopic(now.ID) {
			at.recreated, at.offset = true, -1
		}
		// Brokers drop a group's offsets with the topic. Then the only evidence is that this process has
		// served the old topic. A process that has just started cannot tell this case from a group that never
		// committed.
		if p.Next < 0 && input.lastServed.Known() && now.ID.Known() && input.lastServed != now.ID {
			at.recreated = true
		}
		starts = append(starts, at)
	}
	return committed, starts, nil
}

// committed returns what the group has committed in the input topics that exist, of which there must be one.
func (in *inputs) committed(ctx context.Context) (all []broker.Commit, err error) {
	var missing error
	for _, input := range in.topics {
		n, err := in.cluster.Partitions(ctx, input.name)
		if errors.Is(err, kafka.UnknownTopicOrPartition) {
			missing = err
			continue
		}
		if err != nil {
			return nil, err
		}
		committed, err := in.group.Committed(ctx, input.name, broker.FirstPartitions(n))
		if err != nil {
			return nil, err
		}
		all = append(all, committed...)
	}
	if len(all) == 0 {
		return nil, missing
	}
	return all, nil
}

// inputTopic knows the id of an input topic that the positions of this group generation belong to. If a topic is
// deleted and recreated, an old position means another record: a member that went on from it would skip the
// records before it. The broker reports an error only if the new log is shorter.
type inputTopic struct {
	name string
	id   atomic.Pointer[wire.TopicID]

	lastServed wire.TopicID // id in the latest group generation
}

// differs says whether the id of the topic now is not that of this group generation; false if brokers have no ids.
func (t *inputTopic) differs(now wire.TopicID) bool {
	id := *t.id.Load()
	return id.Known() && now.Known() && id != now
}
