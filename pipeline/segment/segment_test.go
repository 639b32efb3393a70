package segment_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/segment"
)

func native(t testing.TB, words ...segment.Word) *segment.Segmenter {
	t.Helper()
	s, err := segment.New(words)
	require.NoError(t, err)
	return s
}

// The expected words are those of gojieba 1.4.7. They are written down, so that the test needs no cgo.
func TestCut(t *testing.T) {
	s := native(t)
	for text, want := range map[string]string{
		"我来到北京清华大学":              "我/来到/北京/清华大学",
		"他来到了网易杭研大厦":             "他/来到/了/网易/杭研/大厦",
		"小明硕士毕业于中国科学院计算所":        "小明/硕士/毕业/于/中国科学院/计算所",
		"GDP增长3.5%，高于预期":         "GDP/增长/3.5/%/，/高于/预期",
		"C++和c#，AT&T x86 4.4.4.": "C++/和/c#/，/AT&T/ /x86/ /4.4.4.",
		"don’t “stop” 22nd":      "don/’/t/ /“/stop/”/ /22/nd",
		"\t \r\n。":               "\t/ /\r/\n/。",
		"":                       "",
		"a\x00b":                 "a",
		"北京\xe4\xb8":             "",
		"北京\xff清华":               "",
		"\xc1\xa1b1\xc0\xae\xc0": "",
		"\xc1\xa1b1 \xb1\x31":    "\xc1\xa1b1/ /\xb1\x31",
	} {
		require.Equal(t, want, strings.Join(s.Cut(nil, text), "/"), text)
	}
	require.Equal(t, []string{"x", "北京"}, s.Cut([]string{"x"}, "北京"))
	require.Equal(t, []string{"x"}, s.Cut([]string{"x"}, "北京 清华\xff"), "nothing is left of a text that is refused")
}

func TestUserWords(t *testing.T) {
	s := native(t, segment.Word{Text: "牛肉丸子汤面"}, segment.Word{Text: "AT&T", Frequency: 5},
		segment.Word{Text: "的"}, segment.Word{Text: "b"}, segment.Word{Text: "𰀀𰀁"}, segment.Word{Text: "北京"},
		segment.Word{Text: "京清", Frequency: 9_000_000},
		segment.Word{Text: "x，y"}, segment.Word{})
	for text, want := range map[string]string{
		"吃牛肉丸子汤面":  "吃/牛肉丸子汤面",
		"AT&T":     "AT&T",
		"abc b2":   "a/b/c/ /b/2",
		"字𰀀𰀁𰀀":     "字/𰀀𰀁/𰀀",
		"北京清华":     "北/京清/华",
		"x，y":      "x/，/y",
		"我来到清华大学。": "我/来到/清华大学/。",
	} {
		require.Equal(t, want, strings.Join(s.Cut(nil, text), "/"), text)
	}
}

func TestManyUserCharacters(t *testing.T) {
	var words []segment.Word
	for r := rune(0x30000); r < 0x34000; r += 2 {
		words = append(words, segment.Word{Text: string(r) + "国"})
	}
	s := native(t, words...)
	require.Equal(t, []string{"\U00030000国", "\U00031000国"}, s.Cut(nil, "\U00030000国\U00031000国"))

	for r := rune(0x34000); r < 0x40000; r++ {
		words = append(words, segment.Word{Text: string(r)})
	}
	_, err := segment.New(words)
	require.ErrorContains(t, err, "different characters")
}

func TestNothingIsAllocated(t *testing.T) {
	s := native(t)
	text := strings.Repeat("我来到北京清华大学，他来到了网易杭研大厦。"+
		"plain text, 3.5% “quoted”\n", 50)
	words := s.Cut(nil, text)
	require.Zero(t, testing.AllocsPerRun(100, func() { words = s.Cut(words[:0], text) }))
}
