package recipe

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSentencesAreCut(t *testing.T) {
	for text, want := range map[string][]string{
		"":                       nil,
		"One. Two! Three?\nFour": {"one.", "two!", "three?", "four"},
		"It rose 3.5 % at example.com. So be it.": {"it rose 3.5 % at example.com.", "so be it."},
		`"We won." She left (at once.) Then...`:   {`"we won."`, "she left (at once.)", "then..."},
		"第一句。第二句！“第三句？”第四句":                       {"第一句。", "第二句!", "“第三句?”", "第四句"},
		"यह पहला है। यह दूसरा है।":                {"यह पहला है।", "यह दूसरा है।"},
		"...\n。\nA": {"...", "。", "a"},
	} {
		var got []string
		clean := Clean(text)
		for start, end := range sentencesOf(clean) {
			got = append(got, clean[start:end])
		}
		require.Equal(t, want, got, text)
	}
}
