package consumer

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"echosieve/consumer/internal/wire"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
)

// notebook implements Notes and stores the recalled notes.
type notebook struct {
	note string

	mu       sync.Mutex
	recalled [][]string
}

func (n *notebook) Note() string { return n.note }

func (n *notebook) Recall(notes []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.recalled = append(n.recalled, notes)
}

// last returns the notes of the last call of Recall, sorted, and whether there was one.
func (n *notebook) last() ([]string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.recalled) == 0 {
		return nil, false
	}
	return slices.Sorted(slices.Values(n.recalled[len(n.recalled)-1])), true
}

// TestNotesAreRecalled: every member is given the committed notes at its next start, also notes of partitions that are assigned to
// other members. The offsets do not change.
func TestNotesAreRecalled(t *testing.T) {
	_, cfg := fake(t)
	ensureTopics(t, cfg)
	cl := client(t, cfg)
	produce(t, cl, numbered(cfg.Topics.Input, "u", 30, 3)...)
	first := &notebook{note: "index.1.2"}
	m := startMember(t, cfg, &router{}, func(c *Consumer) { c.KeepNotes(first) })
	require.Eventually(t, func() bool {
		n, err := askCommitted(cl, cfg)
		return err == nil && n == 30
	}, patience, 20*time.Millisecond)
	m.stop(t)
	recalled, ok := first.last()
	require.True(t, ok, "a first start is told that nothing is remembered")
	require.Empty(t, recalled)

	books := []*notebook{{}, {note: strings.Repeat("x", maxNoteBytes+1)}} // no note, and one that is too long
	var members []*member
	for _, book := range books {
		members = append(members, startMember(t, cfg, &router{}, func(c *Consumer) { c.KeepNotes(book) }))
	}
	for _, book := range books {
		require.Eventually(t, func() bool {
			recalled, ok := book.last()
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
	offsets.Each(func(o kadm.OffsetResponse) { require.NotContains(t, o.Metadata, notePrefix) })
}

// Versions without notes compare a label that begins with topicIDPrefix as a whole: a label with a note must not begin with it.
func TestLabels(t *testing.T) {
	id, other := wire.TopicID{1}, wire.TopicID{2}
	c := &Consumer{}
	require.Equal(t, "topic-id:AQAAAAAAAAAAAAAAAAAAAA", c.label(id), "as versions without notes write it")
	require.Empty(t, c.label(wire.TopicID{}))
	c.KeepNotes(&notebook{note: "index.1.2"})
	label := c.label(id)
	require.False(t, strings.HasPrefix(label, topicIDPrefix))
	require.Equal(t, "index.1.2", labelWord(label, notePrefix))
	for _, l := range []string{label, (&Consumer{}).label(id)} {
		require.False(t, ofOtherTopic(l, id))
		require.True(t, ofOtherTopic(l, other))
		require.False(t, ofOtherTopic(l, wire.TopicID{}), "a broker without ids")
	}
	for _, l := range []string{"", "a tool's", c.label(wire.TopicID{})} {
		require.False(t, ofOtherTopic(l, id), l)
	}
}
