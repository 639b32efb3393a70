package text

import (
	"strings"
	"testing"
	"time"

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
		"...\n。\nA":        {"...", "。", "a"},
		"a...b. c":         {"a...b.", "c"},
		`a.".b!.c d.'.) e`: {`a.".b!.`, `c d.'.)`, "e"},
	} {
		var got []string
		clean := Clean(text)
		for start, end := range Sentences(clean) {
			got = append(got, clean[start:end])
		}
		require.Equal(t, want, got, text)
	}
}

// If each full stop of a run were followed to the end of the run, these texts would take more than 15 seconds.
func TestSentencesAreCutInLinearTime(t *testing.T) {
	for _, run := range []string{".", ".'"} {
		took := func(n int) time.Duration {
			text, start := strings.Repeat(run, n)+"x", time.Now()
			require.Equal(t, len(text), CutSentence(text))
			return time.Since(start)
		}
		require.Less(t, took(100_000), 5*time.Second, run)
	}
}
