package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A line of megabytes is broken as a short one is: the memory that it takes, and so the time, is proportional
// to its length.
func TestFitOfALongLine(t *testing.T) {
	line := strings.Repeat("word ", 200_000)
	var fitted string
	bytes := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			fitted = Fit(line)
			if b.N == 1 {
				break
			}
		}
	}).AllocedBytesPerOp()
	require.Less(t, bytes, int64(100*len(line)))
	for l := range strings.Lines(fitted) {
		require.LessOrEqual(t, len(l), Columns+1)
	}
	require.Equal(t, strings.Fields(line), strings.Fields(fitted))
	require.Equal(t, "a  "+strings.Repeat("b ", 38)+"b\n   b b", Fit("a  "+strings.Repeat("b ", 38)+"b b b"))
}
