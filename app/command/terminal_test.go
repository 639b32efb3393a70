package command

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/host"
)

func TestFit(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"short lines stay": {"a  b\n\nc", "a  b\n\nc"},
		"at words":         {strings.Repeat("word ", 17) + "end\n", strings.Repeat("word ", 15) + "word\n  word end\n"},
		"below the label": {"only in A     " + strings.Repeat("word ", 14), "only in A     " +
			strings.TrimSpace(strings.Repeat("word ", 13)) + "\n              word "},
		"words are not cut": {"see " + strings.Repeat("x", 90) + " now", "see\n  " + strings.Repeat("x", 90) +
			"\n  now"},
		"wide characters": {strings.Repeat("新闻 ", 17), strings.TrimSpace(strings.Repeat("新闻 ", 16)) + "\n  新闻 "},
		"colours have no width": {"\x1b[1m" + strings.Repeat("word ", 15) + "word\x1b[0m",
			"\x1b[1m" + strings.Repeat("word ", 15) + "word\x1b[0m"},
	} {
		require.Equal(t, c.want, Fit(c.in), name)
	}
}

func TestTable(t *testing.T) {
	w := NewTable("name", "n")
	w.AppendRow([]any{"a", 10})
	w.AppendRow([]any{"bcdef", 1})
	require.Equal(t, "name    n\na      10\nbcdef   1", w.Render())
}

func TestFitProse(t *testing.T) {
	long := strings.Repeat("word ", 30)
	require.Equal(t, strings.TrimSpace(strings.Repeat("word ", 16))+"\n"+
		strings.TrimSpace(strings.Repeat("word ", 15))+"\n\nExit codes: 0.\n  kept as\n  it is\n\nend",
		fitProse(strings.TrimSpace(long)+"\nword\n\nExit codes: 0.\n  kept as\n  it is\n\nend"))
}

// A line of megabytes is broken as a short one is: the memory that it takes, and so the time, is proportional
// to its length.
func TestFitOfALongLine(t *testing.T) {
	line := strings.Repeat("word ", 200_000)
	var fitted string
	require.Less(t, host.Allocated(func() { fitted = Fit(line) }), uint64(100*len(line)))
	for l := range strings.Lines(fitted) {
		require.LessOrEqual(t, len(l), Columns+1)
	}
	require.Equal(t, strings.Fields(line), strings.Fields(fitted))
	require.Equal(t, "a  "+strings.Repeat("b ", 38)+"b\n   b b", Fit("a  "+strings.Repeat("b ", 38)+"b b b"))
}
