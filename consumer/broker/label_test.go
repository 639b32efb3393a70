package broker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A broker refuses the commit of a label that is too long.
func TestLabelsFit(t *testing.T) {
	long := strings.Repeat("x", maxLabelBytes-len("index: topic-id:AQ"))
	l := makeLabel(word{wordIndex, long}, word{wordTopicID, "AQ"})
	require.Len(t, l, maxLabelBytes)
	require.Equal(t, long, valueOf(l, wordIndex))
	require.Empty(t, valueOf(l, "later"))
	require.Equal(t, "topic-id:AQ", makeLabel(word{wordIndex, long + "x"}, word{wordTopicID, "AQ"}))
	require.Equal(t, "index:y topic-id:AQ", makeLabel(word{wordIndex, "y"}, word{"later", long}, word{wordTopicID, "AQ"}))
}
