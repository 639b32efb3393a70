package learnt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inOrder counts an article of sentences, and returns the publishers of the rows that are learnt from it.
func inOrder(o *InOrder, publisher string, at time.Time, sentences ...uint64) (learnt []string) {
	slices.Sort(sentences)
	o.Count(publisher, at, sentences, func(publisher string, hash uint64) {
		learnt = append(learnt, publisher)
		o.Learn(Row{Publisher: publisher, Hash: hash, Articles: Least, End: at.Add(Life)})
	})
	return learnt
}

// What was learnt is the same after a State and a Restore at any point.
func TestState(t *testing.T) {
	whole, random := NewInOrder(), rand.New(rand.NewPCG(1, 2))
	parts := NewInOrder()
	for i := range 2000 {
		publisher, at := fmt.Sprint("p", random.IntN(9)), start.Add(time.Duration(i)*time.Hour)
		sentences := []uint64{own(i), own(-2 - random.IntN(60)), own(-99 - random.IntN(60))}
		require.Equal(t, inOrder(whole, publisher, at, sentences...), inOrder(parts, publisher, at, sentences...))
		if i%500 == 499 {
			data, err := parts.State()
			require.NoError(t, err)
			parts = NewInOrder()
			require.NoError(t, parts.Restore(data))
		}
	}
	require.NotEmpty(t, whole.Rows.All())
	require.Equal(t, whole.Rows.All(), parts.Rows.All())
	require.ErrorContains(t, NewInOrder().Restore([]byte("x")), "")
}
