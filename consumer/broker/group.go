package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"echosieve/consumer/internal/wire"

	"github.com/segmentio/kafka-go"
)

// ConsumerGroup is a consumer group, as its coordinator knows it.
type ConsumerGroup struct {
	cluster *Cluster
	name    string
}

// Group returns a consumer group.
func (c *Cluster) Group(name string) *ConsumerGroup { return &ConsumerGroup{c, name} }

// Strangers says which members of the group are no Echosieve, or read none of the input topics, at most five, and what
// to do; both are empty if there are none.
func (g *ConsumerGroup) Strangers(members []wire.Member) (problem, remedy string) {
	var names []string
	for _, m := range members {
		foreign := m.ClientID != ClientID && !strings.HasPrefix(m.ClientID, ClientID+"/")
		other := m.Topics != "" && !slices.ContainsFunc(strings.Fields(m.Topics),
			func(t string) bool { return slices.Contains(g.cluster.Config.Topics.Inputs, t) })
		name := m.ClientID + " at " + m.Host
		if other {
			name += ", which reads " + m.Topics
		}
		if (foreign || other) && len(names) < 5 {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", ""
	}
	return fmt.Sprintf("programs other than Echosieve, or with other topics, use group %s: %s", g.name,
		strings.Join(names, "; ")), "give them, or kafka.group here, a group of its own"
}

// Members returns the members.
func (g *ConsumerGroup) Members(ctx context.Context) ([]wire.Member, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return g.cluster.Wire.Members(ctx, g.name)
}

// TakeOut takes a member out of the group. It is no error if the group does not know the member.
func (g *ConsumerGroup) TakeOut(ctx context.Context, member string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err := g.cluster.Wire.LeaveGroup(ctx, g.name, member)
	if errors.Is(err, kafka.UnknownMemberId) || errors.Is(err, kafka.GroupIdNotFound) {
		return nil
	}
	return err
}

// Committed returns the committed offsets with their labels, for the given partitions. A group that does not exist has
// committed none: its offsets are -1.
func (g *ConsumerGroup) Committed(ctx context.Context, topic string, partitions []int) ([]Commit, error) {
	if len(partitions) == 0 {
		return nil, nil // an empty list in the request would mean all partitions
	}
	known, err := g.offsets(ctx, map[string][]int{topic: partitions})
	if err != nil {
		return nil, err
	}
	commits := make([]Commit, 0, len(partitions))
	if known == nil {
		for _, p := range partitions {
			commits = append(commits, parseCommit(topic, p, -1, ""))
		}
	}
	for _, p := range known[topic] {
		if p.Error != nil {
			return nil, fmt.Errorf("partition %d: %w", p.Partition, p.Error)
		}
		commits = append(commits, parseCommit(topic, p.Partition, p.CommittedOffset, p.Metadata))
	}
	if len(commits) != len(partitions) {
		return nil, fmt.Errorf("the broker sent offsets of %d partitions, %d were requested", len(commits),
			len(partitions))
	}
	return commits, nil
}

// CommittedTopics returns the topics in which the group has committed offsets.
func (g *ConsumerGroup) CommittedTopics(ctx context.Context) ([]string, error) {
	known, err := g.offsets(ctx, nil)
	return slices.Sorted(maps.Keys(known)), err
}

// offsets returns what the coordinator knows of the topics' partitions, without topics of all; nil if the group does
// not exist.
func (g *ConsumerGroup) offsets(ctx context.Context, topics map[string][]int) (
	known map[string][]kafka.OffsetFetchPartition, err error,
) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	res, err := g.cluster.Client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: g.name, Topics: topics})
	if err == nil {
		known, err = res.Topics, res.Error
	}
	if errors.Is(err, kafka.GroupIdNotFound) {
		return nil, nil
	}
	return known, err
}

// Commit stores commits for a member of the group, with the ids of their topics. kafka-go's own commit has no
// labels. After an error the offsets may be stored or not.
func (g *ConsumerGroup) Commit(ctx context.Context, gen *kafka.Generation, ids map[string]wire.TopicID,
	commits ...Commit,
) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	offsets := map[string][]kafka.OffsetCommit{}
	for _, c := range commits {
		offsets[c.Topic] = append(offsets[c.Topic],
			kafka.OffsetCommit{Partition: int(c.Partition), Offset: c.Next, Metadata: c.metadata(ids[c.Topic])})
	}
	res, err := g.cluster.Client.OffsetCommit(ctx, &kafka.OffsetCommitRequest{
		GroupID: g.name, GenerationID: int(gen.ID), MemberID: gen.MemberID, Topics: offsets,
	})
	if err != nil {
		return err
	}
	for topic, partitions := range res.Topics {
		for _, p := range partitions {
			if p.Error != nil {
				return fmt.Errorf("%s/%d: %w", topic, p.Partition, p.Error)
			}
		}
	}
	return nil
}

// FirstPartitions returns the ids of the partitions of a topic with n partitions.
func FirstPartitions(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}
