package broker

import (
	"math"
	"testing"

	"echosieve/consumer/internal/wire"
	"echosieve/pipeline/article"

	"github.com/stretchr/testify/require"
)

// What a commit says is read back. A label with words of the index does not begin with the topic's id: versions
// without such words compare a label that does as a whole.
func TestCommitsAreReadBack(t *testing.T) {
	id, other := wire.TopicID{1}, wire.TopicID{2}
	nobody := wire.Identity{ID: wire.NoProducerID, Epoch: -1}
	owned := Commit{
		Next: 7, Owner: wire.Identity{ID: 7, Epoch: 3}, Index: "x=1&y=2",
		Positions: []Position{{wire.TopicPartition{Topic: "unique", Partition: 2}, wire.TopicID{3}, math.MaxInt64}},
	}
	for want, c := range map[string]Commit{
		"topic-id:AQAAAAAAAAAAAAAAAAAAAA":               {Next: 7, Owner: nobody},
		"index:x=1&y=2 topic-id:AQAAAAAAAAAAAAAAAAAAAA": {Next: 7, Owner: nobody, Index: "x=1&y=2"},
		"index:x=1&y=2 producer:7/3 outputs:unique/2/AwAAAAAAAAAAAAAAAAAAAA/9223372036854775807 " +
			"topic-id:AQAAAAAAAAAAAAAAAAAAAA": owned,
	} {
		require.Equal(t, want, c.metadata(id))
		again := parseCommit("", 0, 7, want)
		require.False(t, again.OfOtherTopic(id))
		require.True(t, again.OfOtherTopic(other))
		require.False(t, again.OfOtherTopic(wire.TopicID{}), "a broker without ids")
		again.topicID = ""
		require.Equal(t, c, again)
	}
	for _, text := range []string{"", "a tool's", "producer:7 outputs:unique/0/AQ/5"} {
		c := parseCommit("", 0, 7, text)
		require.False(t, c.OfOtherTopic(id), text)
		require.Equal(t, Commit{Next: 7, Owner: nobody}, c)
	}
	half := parseCommit("", 0, 7, "producer:7/3 outputs:unique/0/AQ/5")
	require.Empty(t, half.Positions, "no topic id")
}

// A group has offsets that other tools have committed, and offsets with words that this version does not know.
func TestLabelsOfOthers(t *testing.T) {
	require.Equal(t, map[article.Coordinates]string{{Topic: "in", Partition: 2, Offset: 7}: "x=1"},
		IndexLabels([]Commit{
			parseCommit("in", 0, 5, "topic-id:AQ"), parseCommit("in", 1, 6, "a tool's"),
			parseCommit("in", 2, 7, "later:y index:x=1 topic-id:AQ"), parseCommit("in", 3, -1, ""),
		}))
}
