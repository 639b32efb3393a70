package recipe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"echosieve/pipeline/article"

	"github.com/stretchr/testify/require"
)

// testRecipe returns the default recipe. Its dictionaries are loaded once for all tests.
func testRecipe(t testing.TB) *Recipe {
	t.Helper()
	r, err := Load(DefaultConfig())
	require.NoError(t, err)
	return r
}

// termsOf returns the words of a text that may become features.
func termsOf(cut []string) []string {
	out := []string{}
	for _, w := range cut {
		if isWord(w) && !isSingle(w) {
			out = append(out, w)
		}
	}
	return out
}

func TestCut(t *testing.T) {
	s := testRecipe(t).segmenter
	for text, want := range map[string]string{
		"我来到北京清华大学":      "我/来到/北京/清华大学",
		"他来到了网易杭研大厦":     "他/来到/了/网易/杭研/大厦",
		"gdp增长3.5%，高于预期": "gdp/增长/3.5/%/，/高于/预期",
		"":               "",
	} {
		require.Equal(t, want, strings.Join(s.cut(nil, text, nil), "/"), text)
	}
}

var plainTexts = []string{
	strings.Repeat("the senate's 51st vote on h.r.5631 passed 98-0, at 3.5. percent... ", 3),
	strings.Repeat("“quoted” words – with dashes — and don’t ", 5) + "股市上涨 " + strings.Repeat("plain again ", 10),
	"北京 " + strings.Repeat("a1b2 22nd 3d 4.4.4 x ", 9) + "c++ and c# are not plain, " + strings.Repeat("but this is ", 9),
	strings.Repeat("x", 300) + " " + strings.Repeat("9.", 200) + "大" + strings.Repeat(" y", 99),
	strings.Repeat("\u2012\u201e ", 40) + "café naïve",
}

// Long texts are cut in pieces, at separators. Their words are the same as in one piece.
func TestLongTextIsCutAtSeparators(t *testing.T) {
	s := testRecipe(t).segmenter
	long := strings.Repeat("我来到北京清华大学。他来到了网易杭研大厦。\n", 1000)
	require.Greater(t, len(long), 3*maxCut)
	require.Equal(t, s.Cut(nil, long), s.cut(nil, long, nil))

	unbroken := strings.Repeat("长", maxCut)
	require.Equal(t, unbroken, strings.Join(s.cut(nil, unbroken, nil), ""))
}

// Plain text is not cut in pieces: a cut within a word would change the fingerprint.
func TestLongPlainText(t *testing.T) {
	s := testRecipe(t).segmenter
	require.True(t, s.plain)
	for _, text := range append(plainTexts, "前 "+strings.Repeat("x", 3*maxCut)+" 后 "+strings.Repeat("https://a.example/1.5?q=“z”&", maxCut/10)) {
		require.Equal(t, termsOf(s.Cut(nil, text)), termsOf(s.cut(nil, text, nil)), text)
	}
	torn := strings.Repeat("d", 2*maxCut) + "#"
	require.Greater(t, len(termsOf(s.cut(nil, torn, nil))), len(termsOf(s.Cut(nil, torn))), "text that is not plain has seams")
}

// Words are spilled in their order and once each.
func TestLongTextIsSpilled(t *testing.T) {
	s := testRecipe(t).segmenter
	for _, text := range []string{strings.Repeat("我来到北京。", 3*spillAt), strings.Repeat("a.", 3*spillAt)} {
		most, words := 0, []string{}
		rest := s.cut(nil, text, func(cut []string) []string {
			most = max(most, len(cut))
			words = append(words, cut...)
			return cut[:0]
		})
		require.Equal(t, s.cut(nil, text, nil), append(words, rest...))
		require.LessOrEqual(t, most, spillAt+maxCut)
		require.Positive(t, most)
	}
}

func TestUserDictionary(t *testing.T) {
	for name, c := range map[string]struct {
		content, want string // want: the lines for jieba, or "!" and a part of the error
	}{
		"all forms":         {"网络安全局\nＡＢ股 nz\n國家隊 20\n杭研大厦 100 nz\n\n# remark\n", "网络安全局 x\nab股 nz\n国家队 20 x\n杭研大厦 100 nz\n"},
		"byte order mark":   {"\ufeff杭研大厦\r\n", "杭研大厦 x\n"},
		"empty":             {"", ""},
		"too many fields":   {"杭研大厦 100 nz 5\n", "!:1: 4 fields"},
		"frequency no int":  {"a\n杭研 many nz\n", "!:2: frequency \"many\""},
		"frequency zero":    {"杭研 0\n", "!:1: frequency \"0\""},
		"frequency too big": {"杭研 99999999999 n\n", "!:1: frequency"},
		"nothing left":      {"\u200b 5\n", "!:1: \"\\u200b\" is not a word"},
		"not UTF-8":         {"\xff\xfe\n", "!is not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "user.txt")
			require.NoError(t, os.WriteFile(path, []byte(c.content), 0o600))
			got, err := readUserWords(path)
			if part, bad := strings.CutPrefix(c.want, "!"); bad {
				require.ErrorContains(t, err, part)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
		})
	}
	_, err := readUserWords("/nonexistent")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestStopWordFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stop.txt")
	require.NoError(t, os.WriteFile(path, []byte("# mine\nReuters\n臺灣\n"), 0o600))
	got, err := readStopWords(path)
	require.NoError(t, err)
	require.Equal(t, "reuters\n台湾\n", string(got))
	require.NoError(t, os.WriteFile(path, []byte("two words\n"), 0o600))
	_, err = readStopWords(path)
	require.ErrorContains(t, err, ":1:")
}

func TestUserWordsCount(t *testing.T) {
	dir := t.TempDir()
	cfg := DefaultConfig()
	cfg.UserDictionary, cfg.StopWords = filepath.Join(dir, "user.txt"), filepath.Join(dir, "stop.txt")
	require.NoError(t, os.WriteFile(cfg.UserDictionary, []byte("牛肉丸子汤面\nat&t 5 nz\n"), 0o600))
	require.NoError(t, os.WriteFile(cfg.StopWords, []byte("北京\n"), 0o600))
	r, err := Load(cfg)
	require.NoError(t, err)
	require.False(t, r.segmenter.plain, "a plain user word is found in long plain text")
	require.NotEqual(t, testRecipe(t).ID(), r.ID())

	var words []string
	for _, w := range r.Weights("AT&T在北京吃牛肉丸子湯麵", article.Origin{}) {
		words = append(words, w.Word)
	}
	require.ElementsMatch(t, []string{"at&t", "牛肉丸子汤面"}, words)
	base, _ := testRecipe(t).Fingerprint("AT&T在北京吃牛肉丸子湯麵", article.Origin{})
	other, _ := r.Fingerprint("AT&T在北京吃牛肉丸子湯麵", article.Origin{})
	require.NotEqual(t, base.SimHash, other.SimHash)
}
