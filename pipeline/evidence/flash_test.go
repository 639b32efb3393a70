package evidence

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

func buildFlash(b *Builder, text string) []byte {
	list := words(text)
	b.Add(list)
	b.AddNumbers(text, 0)
	return b.AppendFlash(nil, list)
}

const goldenFlash = "0c2d000000000400000200000000000000000000000000000080000000000010000000" +
	"000010000000000000000000b00000d000000000d00000000000800000080020000000006000000000100080680000"

// See TestGolden.
func TestGoldenFlash(t *testing.T) {
	var b Builder
	require.Equal(t, goldenFlash, hex.EncodeToString(buildFlash(&b, "the port handled 1,200 ships in 2025")))
}

func TestJudgeFlash(t *testing.T) {
	flash := Comparison{Known: true, Flash: true, J: .6, Containment: 1, Bigrams: 10, SharedContexts: 1,
		LeastValues: 2, CommonValues: 2}
	checkJudge(t, flash, map[string]judged{
		"contained":         {func(*Comparison) {}, near, byOverlap},
		"much added":        {func(c *Comparison) { c.J = .3 }, near, byOverlap},
		"too much added":    {func(c *Comparison) { c.J = .29 }, 0, byOverlap},
		"a word in between": {func(c *Comparison) { c.J, c.Containment = .9, .99 }, possible, byOverlap},
		"another number":    {func(c *Comparison) { c.J, c.Contradictions = .9, 1 }, 0, byNumbers},
		"a number less":     {func(c *Comparison) { c.J, c.CommonValues = .9, 1 }, possible, byValues},
		"no numbers": {func(c *Comparison) { c.SharedContexts, c.LeastValues, c.CommonValues = 0, 0, 0 },
			near, byOverlap},
	})
}
