package evidence

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The id of a recipe names each row, in order.
func TestFormat(t *testing.T) {
	require.Len(t, strings.Split(Format(), "/"), len(rows)+1)
	require.Contains(t, Format(), "rows none/distance none/overlap none/numbers possible/values")
}
