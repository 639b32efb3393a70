package simhash

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Fingerprints are stored and compared for a long time. If this test fails, stored fingerprints lose their
// meaning: a new hash or a new sum needs a new recipe version, not new numbers here.
func TestGolden(t *testing.T) {
	for word, want := range map[string]uint64{
		"":       0xefd01f60ba992926,
		"a":      0x82a2a958a9bece5b,
		"news":   0x512538bfa8bf202f,
		"新华社":    0xda2a310113b947fc,
		"foobar": 0x2c22194922d1672b,
	} {
		require.Equal(t, want, Hash(word), "%q: %#x", word, Hash(word))
	}
	words := []string{"central", "bank", "raises", "interest", "rates", "人民银行", "利率", "上调"}
	features := make([]Feature, len(words))
	for i, word := range words {
		features[i] = Feature{Hash(word), float64(i*i + 1)}
	}
	require.Equal(t, "1f2e59535e312cf5", Sum(features).String())
}
