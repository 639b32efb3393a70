package evidence

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNever(t *testing.T) {
	never, err := ParseNever([]string{"a.example b.example", "c.example *"})
	require.NoError(t, err)
	rule := &Rule{Thresholds: DefaultThresholds(), Never: never}
	words := make([]uint64, 200)
	for i := range words {
		words[i] = uint64(i) * 0x9e3779b97f4a7c15
	}
	of := func(publisher string) *Signature {
		b := &Builder{}
		b.Add(words)
		b.SetOrigin(publisher, "", "", false)
		s, ok := Decode(b.Append(nil))
		require.True(t, ok)
		return &s
	}
	for _, pair := range [][3]string{
		{"a.example", "b.example", "apart"}, {"b.example", "a.example", "apart"}, {"a.example", "a.example"},
		{"a.example", "d.example"}, {"b.example", ""}, {"", ""}, {"d.example", "d.example"},
		{"c.example", "a.example", "apart"}, {"d.example", "c.example", "apart"}, {"c.example", "", "apart"},
		{"", "c.example", "apart"}, {"c.example", "c.example", "apart"},
	} {
		row, _, _ := rule.Explain(0, Compare(of(pair[0]), of(pair[1])))
		require.Equal(t, pair[2] != "", row.Kind == 0, pair)
	}
	for _, wrong := range []string{"", "a.example", "* a.example", "a.example b.example c.example"} {
		_, err := ParseNever([]string{wrong})
		require.ErrorContains(t, err, "name two publishers, or one and *", wrong)
	}
}
