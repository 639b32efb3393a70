package label

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A broker refuses the commit of a label that is too long.
func TestLabelsFit(t *testing.T) {
	long := strings.Repeat("x", maxBytes-len("index: topic-id:AQ"))
	l := Make(Word{Index, long}, Word{TopicID, "AQ"})
	require.Len(t, l, maxBytes)
	require.Equal(t, long, Value(l, Index))
	require.Empty(t, Value(l, "later"))
	require.Equal(t, "topic-id:AQ", Make(Word{Index, long + "x"}, Word{TopicID, "AQ"}))
	require.Equal(t, "index:y topic-id:AQ", Make(Word{Index, "y"}, Word{"later", long}, Word{TopicID, "AQ"}))
}
