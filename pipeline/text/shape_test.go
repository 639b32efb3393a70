package text

import (
	"testing"

	"echosieve/simhash"

	"github.com/stretchr/testify/require"
)

func TestWordsOfOneShape(t *testing.T) {
	s := testTerms().shapes
	for misread, word := range map[string]string{
		"rnoclern": "modern", "thc": "the", "vvifh": "with", "legis1afion": "legislation", "hiidgef": "budget",
		"ol1": "all", "oll": "all",
		"sriovve": "snowe", // a name that no table has
	} {
		require.Equal(t, s.hash(word), s.hash(misread), misread)
	}
	for one, other := range map[string]string{"oil": "all", "past": "post", "far": "for", "of": "at",
		"merriford": "dunholt"} {
		require.NotEqual(t, s.hash(one), s.hash(other), one)
	}
	for _, word := range []string{"教育", "5g", "новости"} {
		require.Equal(t, simhash.Hash(word), s.hash(word))
	}
}

// A stop word of the user leaves known words of its shape alone.
func TestShapesOfStopWords(t *testing.T) {
	s := newShapes([]byte("acrne\n"), []byte("acme 5\n"))
	require.NotEqual(t, s.hash("acrne"), s.hash("acme"))
	require.Equal(t, s.hash("acrne"), s.hash("ocrnc"), "the most frequent word of the shape")
}
