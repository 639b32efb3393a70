package evidence

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func buildFlash(b *Builder, text string) []byte {
	list := words(text)
	b.Add(list)
	b.AddNumbers(text, 0)
	return b.AppendFlash(nil, list)
}

func ofFlash(t testing.TB, text string) Signature {
	var b Builder
	s, ok := Decode(buildFlash(&b, text))
	require.True(t, ok)
	return s
}

const goldenFlash = "0a2d000000000400800000000000000000000000000000000040000000000008000000" +
	"000010000000000000000000b00000d000000000d0000000000080000008002000000000600000000010008068"

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

// A teaser is the beginning of a longer text, whichever comes first. With another number or another second half, or
// above many more words, the longer text is another article.
func TestTeaser(t *testing.T) {
	r := seeded(t)
	missed, wrong := 0, 0
	for range 1000 {
		list := newArticle(r, 50)
		list[12] = "37"
		text, flash := of(t, strings.Join(list, " ")), ofFlash(t, strings.Join(list[:26], " "))
		c := Compare(&flash, &text)
		require.True(t, c.Known && c.Flash && c.Teaser)
		j, mirrored := judge(18, c), judge(18, Compare(&text, &flash))
		require.Equal(t, j.Relation.Mirrored(), mirrored.Relation)
		missed += count(j.Kind != near)

		list[12] = "38"
		other := of(t, strings.Join(list, " "))
		require.NotEqual(t, near, judge(0, Compare(&flash, &other)).Kind)
		list[12] = "37"
		other = of(t, strings.Join(append(list[:13:13], newArticle(r, 37)...), " "))
		wrong += count(judge(0, Compare(&flash, &other)).Kind == near)
		long := of(t, strings.Join(append(list, newArticle(r, 50)...), " "))
		require.Zero(t, judge(0, Compare(&flash, &long)).Kind)
	}
	require.LessOrEqual(t, missed, 60)
	require.LessOrEqual(t, wrong, 100)
}
