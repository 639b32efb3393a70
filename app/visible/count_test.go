package visible

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCount(t *testing.T) {
	for want, n := range map[string]int{"0 bits": 0, "1 bit": 1, "2 bits": 2} {
		require.Equal(t, want, Count(n, "bit"))
	}
	require.Equal(t, "2 entries", Count(2, "entry"))
	require.Equal(t, "1 copy", Count(1, "copy"))
}
