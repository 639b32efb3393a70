package figures

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPairParser(t *testing.T) {
	for _, c := range []struct {
		header, line string
		families     []string
	}{
		{"", "x\ty\t-1\tdigest", nil},
		{"id_a\tid_b\tlabel\tkind", "x\ty\t-1\tdigest\t.5", nil},
		{"id_a\tid_b\tlabel\tkind\tedit_rate\tjaccard\tcontainment", "x\ty\t-1\tdigest\t.1\t.2\t.3", nil},
		{"id_a\tid_b\tlabel\tkind\tnote\tbase", "x\ty\t-1\tdigest\t\tb1, b2,", []string{"b1", "b2"}},
		{"id_a\tid_b\tlabel\tkind\tcluster", "x\ty\t-1\tdigest\tc1", []string{"c1"}},
		{"id_a\tid_b\tlabel\tkind\tcluster\tbase", "x\ty\t-1\tdigest\tc1\tb1", []string{"b1"}},
		{"id_a\tid_b\tlabel\tkind\tcluster\tbase", "x\ty\t-1\tdigest\tc1", []string{"c1"}},
	} {
		parser := PairParser{Labelled: true}
		if c.header != "" {
			_, header, err := parser.Parse(c.header)
			require.NoError(t, err)
			require.True(t, header)
		}
		p, header, err := parser.Parse(c.line)
		require.NoError(t, err, c.header)
		require.False(t, header)
		require.Equal(t, Pair{A: "x", B: "y", Label: Partial, Kind: "digest", Families: c.families}, p, c.header)
	}
	var unlabelled PairParser
	p, _, err := unlabelled.Parse("x\ty")
	require.NoError(t, err)
	require.Equal(t, Pair{A: "x", B: "y"}, p)
	labelled := PairParser{Labelled: true}
	for _, bad := range []string{"x", "x\ty", "x\ty\t2\tk", "x\ty\tyes\tk"} {
		_, _, err := labelled.Parse(bad)
		require.Error(t, err, bad)
	}
}
