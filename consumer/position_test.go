package consumer

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"echosieve/pipeline/article"
	"echosieve/test/kafkatest"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
)

// labeler implements Labels and stores the recalled labels.
type labeler struct {
	label  string
	alone  bool         // it decides in an index of its own
	caught atomic.Int64 // the number of labels at the latest CatchUp

	mu       sync.Mutex
	recalled [][]string
}

func (n *labeler) Label() string { return n.label }

func (n *labeler) Decider(labels map[article.Coordinates]string) (mine bool, differs string) {
	for _, index := range labels {
		if n.alone {
			return index == n.label, "it has index " + index
		}
	}
	return !n.alone, ""
}

func (n *labeler) CatchUp(_ context.Context, labels map[article.Coordinates]string, _ func(string)) (bool, error) {
	n.caught.Store(int64(len(labels)))
	return false, nil
}

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
	_, cfg := kafkatest.Fake(t)
	cl := kafkatest.Filled(t, cfg, "u", 30)
	first := &labeler{label: "index.1.2"}
	m := startMember(t, cfg, &router{}, func(c *Consumer) { c.KeepLabels(first) })
	kafkatest.EventuallyCommitted(t, cfg)
	m.stop(t)
	recalled, ok := first.last()
	require.True(t, ok, "a first start is told that nothing is remembered")
	require.Empty(t, recalled)

	labelers := []*labeler{{}, {}}
	var members []*member
	for _, l := range labelers {
		members = append(members, startMember(t, cfg, &router{}, func(c *Consumer) { c.KeepLabels(l) }))
	}
	for _, l := range labelers {
		require.Eventually(t, func() bool {
			recalled, ok := l.last()
			return ok && slices.Equal(recalled, []string{"index.1.2", "index.1.2", "index.1.2"})
		}, kafkatest.Patience, 20*time.Millisecond)
	}
	more := kafkatest.Numbered(cfg.Topics.Inputs[0], "more", 30, 3)
	kafkatest.Produce(t, cl, more...)
	all := inUnique(t, cfg, more)
	require.Len(t, all, 60, "members went on where the group stood")
	for _, m := range members {
		m.stop(t)
	}
	offsets, err := kadm.NewClient(cl).FetchOffsets(context.Background(), cfg.Group)
	require.NoError(t, err)
	offsets.Each(func(o kadm.OffsetResponse) { require.NotContains(t, o.Metadata, "index:") })
}

// Members see the labels that others commit while they run: a member that stands by is told where the group is.
func TestLabelsAreWatched(t *testing.T) {
	_, cfg := kafkatest.Fake(t)
	cfg.Partitions = 1
	kafkatest.EnsureTopics(t, cfg)
	cl := kafkatest.Client(t, cfg)
	labelers := []*labeler{{label: "first"}, {label: "second"}}
	for _, l := range labelers {
		startMember(t, cfg, &router{}, func(c *Consumer) {
			c.KeepLabels(l)
			c.labels.interval = 20 * time.Millisecond
		})
	}
	kafkatest.Produce(t, cl, kafkatest.Numbered(cfg.Topics.Inputs[0], "u", 1, 1)...)
	require.Eventually(t, func() bool {
		a, _ := labelers[0].last()
		b, _ := labelers[1].last()
		// far fewer generations begin
		return len(a) == 1 && slices.Equal(a, b) && labelers[0].calls() > 5 && labelers[1].calls() > 5
	}, kafkatest.Patience, 20*time.Millisecond)
}
