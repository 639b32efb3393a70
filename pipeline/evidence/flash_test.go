package evidence

import (
	"encoding/hex"
	"testing"

	"echosieve/pipeline/article"

	"github.com/stretchr/testify/require"
)

func buildFlash(b *Builder, text string) []byte {
	list := words(text)
	b.Add(list)
	return b.AppendFlash(nil, text, list)
}

func ofFlash(t testing.TB, text string) Signature {
	var b Builder
	s, ok := Decode(buildFlash(&b, text))
	require.True(t, ok)
	return s
}

const goldenFlash = "082d02a00008000400000020050808120080041104000106000000004000c0800000" +
	"00000010000000000000000000b00000d000000000d0000002000080000000000000000000000000000000000000"

// See TestGolden.
func TestGoldenFlash(t *testing.T) {
	var b Builder
	require.Equal(t, goldenFlash, hex.EncodeToString(buildFlash(&b, "the port handled 1,200 ships in 2025")))
}

func TestJudgeFlash(t *testing.T) {
	flash := Comparison{Known: true, Flash: true, J: .6, Containment: 1, Bigrams: 10, SharedContexts: 1,
		LeastValues: 2, CommonValues: 2}
	checkJudge(t, flash, map[string]judged{
		"contained":      {func(*Comparison) {}, article.Near, article.ReasonOverlap},
		"much added":     {func(c *Comparison) { c.J = .3 }, article.Near, article.ReasonOverlap},
		"too much added": {func(c *Comparison) { c.J = .29 }, 0, article.ReasonOverlap},
		"a word in between": {func(c *Comparison) { c.J, c.Containment = .9, .99 }, article.Possible,
			article.ReasonOverlap},
		"another number": {func(c *Comparison) { c.J, c.Contradictions = .9, 1 }, 0, article.ReasonNumbers},
		"a number less": {func(c *Comparison) { c.J, c.CommonValues = .9, 1 }, article.Possible,
			article.ReasonValues},
		"no numbers": {func(c *Comparison) { c.SharedContexts, c.LeastValues, c.CommonValues = 0, 0, 0 },
			article.Near, article.ReasonOverlap},
		"one is no flash": {func(c *Comparison) { *c = Comparison{Flash: true} }, 0, article.ReasonLittle},
	})
}

func TestFlashAndArticle(t *testing.T) {
	text := "the port handled 1,200 ships in 2025"
	a, b := ofFlash(t, text), of(t, text)
	require.Equal(t, Comparison{Flash: true}, Compare(&a, &b))
	require.Equal(t, Comparison{Flash: true}, Compare(&b, &a))
	var nothing Signature
	require.False(t, Compare(&a, &nothing).Known)
}
