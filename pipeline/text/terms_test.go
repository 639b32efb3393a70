package text

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/simhash"
)

func TestFunctionWords(t *testing.T) {
	w := newFunctionWords([]byte("de der und in\nen the in and\nes que de la\n"), simhash.Hash)
	const de, en, es = languages(1), languages(2), languages(4)
	require.Equal(t, en, w.english)
	for word, want := range map[string]languages{"der": de, "the": en, "in": de | en, "que": es, "other": 0} {
		require.Equal(t, want, w.of(simhash.Hash(word)), word)
	}
	var counts languageCounts
	counts.add(w.of(simhash.Hash("in")), 3)
	counts.add(w.of(simhash.Hash("the")), 2)
	counts.add(w.of(simhash.Hash("other")), 9)
	most, n := counts.most()
	require.Equal(t, en, most)
	require.EqualValues(t, 5, n)
	most, n = new(languageCounts).most()
	require.Zero(t, n)
	require.Equal(t, de, most)
}
