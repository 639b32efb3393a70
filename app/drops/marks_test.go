package drops

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadMarks(t *testing.T) {
	name := filepath.Join(t.TempDir(), "marks.tsv")
	read := func(text string) ([]Mark, error) {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return ReadMarks(name)
	}
	const head = "id_a\tid_b\tlabel\tkind\trecord_a\trecord_b\n"
	marks, err := read(head + "a\tb\t0\tnear\tt/0/1\tt/0/2\r\n" +
		"a\tc\tversion\tnear\tt/0/1\tt/0/3\na\td\t1\texact\tt/0/1\tt/0/4")
	require.NoError(t, err)
	require.Equal(t, []Mark{{"b", "t/0/2", LabelWrong}, {"c", "t/0/3", LabelVersion}, {"d", "t/0/4", LabelRight}}, marks)
	require.True(t, marks[1].Wrong())
	require.False(t, marks[2].Wrong())
	for text, want := range map[string]string{
		"id_a\tid_b\tlabel\tkind\n": "must name the columns",
		head + "a\tb\t0\n":          "line 2 has 3 columns",
		head + "a\tb\t-1\tk\tr\ts":  `the label "-1"`,
	} {
		_, err := read(text)
		require.ErrorContains(t, err, want)
	}
}
