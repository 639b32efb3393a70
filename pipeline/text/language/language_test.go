package language

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/simhash"
)

func TestWords(t *testing.T) {
	w := New([]byte("de der und in\nen the in and\nes que de la\n"), simhash.Hash)
	de, en, es := w.Named("de"), w.Named("en"), w.Named("es")
	require.Equal(t, []Set{1, 2, 4, 0}, []Set{de, en, es, w.Named("xx")})
	for word, want := range map[string]Set{"der": de, "the": en, "in": de | en, "que": es, "other": 0} {
		require.Equal(t, want, w.Of(simhash.Hash(word)), word)
	}
	var counts Counts
	counts.Add(w.Of(simhash.Hash("in")), 3)
	counts.Add(w.Of(simhash.Hash("the")), 2)
	counts.Add(w.Of(simhash.Hash("other")), 9)
	most, n := counts.Most()
	require.Equal(t, en, most)
	require.EqualValues(t, 5, n)
	most, n = new(Counts).Most()
	require.Zero(t, n)
	require.Equal(t, de, most)
}
