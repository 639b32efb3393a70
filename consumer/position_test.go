package consumer

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"echosieve/consumer/internal/label"
	"echosieve/consumer/internal/wire"
	"echosieve/pipeline/article"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
)

// labeler implements Labels and stores the recalled labels.
type labeler struct {
	label string

	mu       sync.Mutex
	recalled [][]string
}

func (n *labeler) Label() string { return n.label }

func (n *labeler) Recall(labels map[article.Coordinates]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.recalled = append(n.recalled, slices.Collect(maps.Values(labels)))
}

func (n *labeler) calls() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.recalled)
}

// last returns the labels of the last call of Recall, sorted, and whether there was one.
func (n *labeler) last() ([]string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.recalled) == 0 {
		return nil, false
	}
	return slices.Sorted(slices.Values(n.recalled[len(n.recalled)-1])), true
}

// TestLabelsAreRecalled: every member is given the committed labels at its next start, also labels of
// partitions that are assigned to other members. The offsets do not change.
func TestLabelsAreRecalled(t *testing.T) {
	_, cfg := fake(t)
	ensureTopics(t, cfg)
	cl := client(t, cfg)
	produce(t, cl, numbered(cfg.Topics.Input, "u", 30, 3)...)
	first := &labeler{label: "index.1.2"}
	m := startMember(t, cfg, &router{}, func(c *Consumer) { c.KeepLabels(first) })
	require.Eventually(t, func() bool {
		n, err := askCommitted(cl, cfg)
		return err == nil && n == 30
	}, patience, 20*time.Millisecond)
	m.stop(t)
	recalled, ok := first.last()
	require.True(t, ok, "a first start is told that nothing is remembered")
	require.Empty(t, recalled)

	labelers := []*labeler{{}, {label: strings.Repeat("x", maxLabelBytes+1)}} // no label, and one that is too long
	var members []*member
	for _, l := range labelers {
		members = append(members, startMember(t, cfg, &router{}, func(c *Consumer) { c.KeepLabels(l) }))
	}
	for _, l := range labelers {
		require.Eventually(t, func() bool {
			recalled, ok := l.last()
			return ok && slices.Equal(recalled, []string{"index.1.2", "index.1.2", "index.1.2"})
		}, patience, 20*time.Millisecond)
	}
	more := numbered(cfg.Topics.Input, "more", 30, 3)
	produce(t, cl, more...)
	all := inUnique(t, cfg, more)
	require.Len(t, all, 60, "members went on where the group stood")
	for _, m := range members {
		m.stop(t)
	}
	offsets, err := kadm.NewClient(cl).FetchOffsets(context.Background(), cfg.Group)
	require.NoError(t, err)
	offsets.Each(func(o kadm.OffsetResponse) { require.NotContains(t, o.Metadata, label.Index+":") })
}

// Members see the labels that others commit while they run: a member that stands by is told where the group is.
func TestLabelsAreWatched(t *testing.T) {
	_, cfg := fake(t)
	cfg.Partitions = 1
	ensureTopics(t, cfg)
	cl := client(t, cfg)
	labelers := []*labeler{{label: "first"}, {label: "second"}}
	for _, l := range labelers {
		startMember(t, cfg, &router{}, func(c *Consumer) {
			c.KeepLabels(l)
			c.labelsInterval = 20 * time.Millisecond
		})
	}
	produce(t, cl, numbered(cfg.Topics.Input, "u", 1, 1)...)
	require.Eventually(t, func() bool {
		a, _ := labelers[0].last()
		b, _ := labelers[1].last()
		// far fewer generations begin
		return len(a) == 1 && slices.Equal(a, b) && labelers[0].calls() > 5 && labelers[1].calls() > 5
	}, patience, 20*time.Millisecond)
}

// A label with words of the index does not begin with the topic's id: versions without such words compare a
// label that does as a whole.
func TestLabels(t *testing.T) {
	id, other := wire.TopicID{1}, wire.TopicID{2}
	c := &Consumer{}
	require.Equal(t, "topic-id:AQAAAAAAAAAAAAAAAAAAAA", c.label(id), "without words of the index")
	require.Empty(t, c.label(wire.TopicID{}))
	c.KeepLabels(&labeler{label: "x=1&y=2"})
	require.Equal(t, "index:x=1&y=2 topic-id:AQAAAAAAAAAAAAAAAAAAAA", c.label(id))
	for _, l := range []string{c.label(id), (&Consumer{}).label(id), "later:x topic-id:AQAAAAAAAAAAAAAAAAAAAA"} {
		require.False(t, ofOtherTopic(l, id))
		require.True(t, ofOtherTopic(l, other))
		require.False(t, ofOtherTopic(l, wire.TopicID{}), "a broker without ids")
	}
	for _, l := range []string{"", "a tool's", c.label(wire.TopicID{})} {
		require.False(t, ofOtherTopic(l, id), l)
	}
}

// A group has offsets that other tools have committed, and offsets with words that this version does not know.
func TestLabelsOfOthers(t *testing.T) {
	require.Equal(t, map[article.Coordinates]string{
		{Topic: "in", Partition: 2, Offset: 7}: "x=1",
	}, labelsOf("in", []kafka.OffsetFetchPartition{
		{Partition: 0, CommittedOffset: 5, Metadata: "topic-id:AQ"},
		{Partition: 1, CommittedOffset: 6, Metadata: "a tool's"},
		{Partition: 2, CommittedOffset: 7, Metadata: "later:y index:x=1 topic-id:AQ"},
		{Partition: 3, CommittedOffset: -1},
	}))
}
