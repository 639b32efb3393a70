package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each byte is found at each place among those that are read at once, if it may end a sentence, and no other byte is.
func TestNextEnd(t *testing.T) {
	for c := range 256 {
		for place := range 9 {
			clean := strings.Repeat("a", place) + string([]byte{byte(c)}) + "号字"
			want := len(clean)
			if strings.ContainsRune("\n.!?", rune(c)) || c >= 0xd8 && (c < 0xe4 || c > 0xed) {
				want = place
			}
			require.Equal(t, want, nextEnd(clean, 0), "%x at %d", c, place)
		}
	}
}
