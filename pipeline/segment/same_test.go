//go:build cgo

package segment_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/cmd/echosieve-lab/gojieba"
	"echosieve/pipeline/dict"
	"echosieve/pipeline/segment"
)

func TestRandomTextsAreCutAsByGojieba(t *testing.T) {
	b, g := plainPair(t), newGenerator(t)
	for range 15_000 {
		b.requireSame(t, g.text())
	}
	for range 2_000 { // cppjieba writes a line to standard error for each text that it refuses
		b.requireSame(t, g.broken(g.text()))
		b.requireSame(t, g.bytes())
	}
}

// A user dictionary with words of one character, words of the dictionary with other frequencies, words that begin or
// continue others, words twice, words with new characters, and a very long one.
func TestUserWordsAreFoundAsByGojieba(t *testing.T) {
	g := newGenerator(t)
	words := []segment.Word{
		{Text: "的"},
		{Text: "a"},
		{Text: "7", Frequency: 3},
		{Text: "é"},
		{Text: "，"},
		{Text: "北京", Frequency: 1},
		{Text: "北京", Frequency: 7},
		{Text: "清华大学", Frequency: 1<<31 - 1},
		{Text: "x，y"},
		{Text: "𠀀𪛖", Frequency: 2},
		{Text: "at&t"},
		{Text: "10月"},
		{Text: "10", Frequency: 90},
		{Text: strings.Repeat("长", 512)},
		{Text: strings.Repeat("短", 513)},
		{Text: strings.Repeat("哈", 300), Frequency: 100},
	}
	for range 20_000 {
		// white space ends a word in the file that gojieba reads
		if word := g.word(); !strings.ContainsAny(word, " \n") {
			words = append(words, segment.Word{Text: word, Frequency: g.IntN(3) * g.IntN(5000)})
		}
	}
	b, err := load(words)
	require.NoError(t, err)
	for _, n := range []int{299, 300, 301, 511, 512, 513, 514, 700} {
		b.requireSame(t, strings.Repeat("长", n)+"a"+strings.Repeat("短", n)+strings.Repeat("哈", n))
	}
	for range 5_000 {
		text := g.text() + words[g.IntN(len(words))].Text + words[g.IntN(len(words))].Text + g.text()
		b.requireSame(t, text)
	}
}

// generator makes texts out of characters and words of the dictionary, of other scripts, of ASCII, and of broken UTF-8.
type generator struct {
	*rand.Rand
	words []string
	runes []rune
}

func newGenerator(t *testing.T) *generator {
	t.Helper()
	data, err := dict.Read(dict.Words)
	require.NoError(t, err)
	g := &generator{Rand: rand.New(rand.NewPCG(7, 7))}
	for line := range strings.Lines(string(data)) {
		word, _, _ := strings.Cut(line, " ")
		g.words = append(g.words, word)
		g.runes = append(g.runes, []rune(word)[0])
	}
	return g
}

// word is a word of the dictionary, a part of one, two of them, or two unrelated characters.
func (g *generator) word() string {
	word := []rune(g.words[g.IntN(len(g.words))])
	switch g.IntN(4) {
	case 0:
		return string(word[:1+g.IntN(len(word))])
	case 1:
		return string(word) + g.words[g.IntN(len(g.words))]
	case 2:
		return string(word[0]) + g.character()
	}
	return string(word)
}

func (g *generator) character() string {
	const ascii = "abcdefgzABCTKXZ0123456789.+#&@-_%$/()\"' \t\n\r"
	between := func(from, to int) string { return string(rune(from + g.IntN(to-from))) }
	switch g.IntN(10) {
	case 0, 1, 2, 3:
		return string(g.runes[g.IntN(len(g.runes))])
	case 4:
		return between(0x3400, 0xa000)
	case 5:
		return between(0x20000, 0x40000)
	case 6:
		return between(0x80, 0x3000)
	case 7:
		return between(0x3000, 0x3100)
	case 8:
		return between(0xff00, 0xfff0)
	}
	return string(ascii[g.IntN(len(ascii))])
}

func (g *generator) text() string {
	special := []string{"AT&T", "c++", "C#", "B超", "T恤", "，", "。", "、", "“", "é", "ß", "가", "カ", "😀",
		"👨‍👩‍👧", "\u200b", "a1.5", " 2024年"}
	var b strings.Builder
	n := 1 + g.IntN(40)
	if g.IntN(100) == 0 {
		n = 1 + g.IntN(3000)
	}
	for range n {
		switch g.IntN(6) {
		case 0:
			b.WriteString(special[g.IntN(len(special))])
		case 1:
			b.WriteString(g.character())
		default:
			b.WriteString(g.word())
		}
	}
	return b.String()
}

// broken changes bytes of a text, and may cut it short.
func (g *generator) broken(text string) string {
	raw := []byte(text)
	for range 1 + g.IntN(3) {
		raw[g.IntN(len(raw))] = byte(g.IntN(0xf9))
	}
	if g.IntN(3) == 0 {
		raw = raw[:g.IntN(len(raw))]
	}
	return string(raw)
}

func (g *generator) bytes() string {
	raw := make([]byte, 1+g.IntN(12))
	for i := range raw {
		raw[i] = byte(g.Uint32())
	}
	return string(raw)
}

// both are the native segmenter and its reference, over the same user dictionary.
type both struct {
	native  *segment.Segmenter
	jieba   *gojieba.Cutter
	scratch []string
}

func load(words []segment.Word) (*both, error) {
	native, err := segment.New(words)
	if err != nil {
		return nil, err
	}
	jieba, err := gojieba.New(words)
	return &both{native: native, jieba: jieba}, err
}

var loadPlain = sync.OnceValues(func() (*both, error) { return load(nil) })

func plainPair(t testing.TB) *both {
	t.Helper()
	b, err := loadPlain()
	require.NoError(t, err)
	return b
}

// requireSame fails unless both yield the same words.
func (b *both) requireSame(t testing.TB, text string) {
	t.Helper()
	b.scratch = b.native.Cut(b.scratch[:0], text)
	want := b.jieba.Cut(nil, text)
	if slices.Equal(want, b.scratch) {
		return
	}
	at := 0
	for at < len(want) && at < len(b.scratch) && want[at] == b.scratch[at] {
		at++
	}
	part := func(words []string) []string { return words[max(0, min(at-2, len(words))):min(at+6, len(words))] }
	t.Fatalf("%q: %q, gojieba has %q", text[:min(len(text), 200)], part(b.scratch), part(want))
}
