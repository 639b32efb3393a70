package text

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/limits"
	"echosieve/simhash"
	"echosieve/test/newstext"
)

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

// Long texts are cut in pieces, at separators. Their words are the same as in one piece.
func TestLongTextIsCutAtSeparators(t *testing.T) {
	s := testSegmenter(t)
	long := strings.Repeat("我来到北京清华大学。他来到了网易杭研大厦。\n", 1000)
	require.Greater(t, len(long), 3*maxCut)
	require.Equal(t, s.cutter.Cut(nil, long), s.cut(nil, long, nil))

	unbroken := strings.Repeat("长", maxCut)
	require.Equal(t, unbroken, strings.Join(s.cut(nil, unbroken, nil), ""))
}

// plainTexts are texts with long fields in ASCII, beside text in other scripts.
var plainTexts = []string{
	strings.Repeat("the senate's 51st vote on h.r.5631 passed 98-0, at 3.5. percent... ", 3),
	strings.Repeat("“quoted” words – with dashes — and don’t ", 5) + "股市上涨 " +
		strings.Repeat("plain again ", 10),
	"北京 " + strings.Repeat("a1b2 22nd 3d 4.4.4 x ", 9) + "c++ and c# are not plain, " + strings.Repeat("but this is ",
		9),
	strings.Repeat("x", 300) + " " + strings.Repeat("9.", 200) + "大" + strings.Repeat(" y", 99),
	strings.Repeat("\u2012\u201e ", 40) + "café naïve",
}

// Plain text is not cut in pieces: a cut within a word would change the fingerprint.
func TestLongPlainText(t *testing.T) {
	s := testSegmenter(t)
	require.True(t, s.plain)
	for _, text := range append(plainTexts, "前 "+strings.Repeat("x", 3*maxCut)+" 后 "+
		strings.Repeat("https://a.example/1.5?q=“z”&", maxCut/10)) {
		require.Equal(t, termsOf(s.cutter.Cut(nil, text)), termsOf(s.cut(nil, text, nil)), text)
	}
	torn := strings.Repeat("d", 2*maxCut) + "#"
	require.Greater(t, len(termsOf(s.cut(nil, torn, nil))), len(termsOf(s.cutter.Cut(nil, torn))),
		"text that is not plain has seams")
}

// A plain user word is found in long plain text.
func TestLongPlainTextWithUserWords(t *testing.T) {
	s, err := LoadSegmenter([]byte("at&t 5 nz\n"))
	require.NoError(t, err)
	require.False(t, s.plain)
	require.Contains(t, s.Cut(nil, strings.Repeat("x", maxCut)+" at&t", nil), "at&t")
}

// Words are spilled in their order and once each.
func TestLongTextIsSpilled(t *testing.T) {
	s := testSegmenter(t)
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
		"all forms": {"网络安全局\nＡＢ股 nz\n國家隊 20\n杭研大厦 100 nz\n\n# remark\n",
			"网络安全局 x\nab股 nz\n国家队 20 x\n杭研大厦 100 nz\n"},
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
			got, err := ReadUserWords(path)
			if part, bad := strings.CutPrefix(c.want, "!"); bad {
				require.ErrorContains(t, err, part)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, string(got))
		})
	}
	_, err := ReadUserWords("/nonexistent")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestStopWordFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stop.txt")
	require.NoError(t, os.WriteFile(path, []byte("# mine\nReuters\n臺灣\n"), 0o600))
	got, err := ReadStopWords(path)
	require.NoError(t, err)
	require.Equal(t, "reuters\n台湾\n", string(got))
	require.NoError(t, os.WriteFile(path, []byte("two words\n"), 0o600))
	_, err = ReadStopWords(path)
	require.ErrorContains(t, err, ":1:")
}

func TestWeights(t *testing.T) {
	table := weigh(t, "新华社新华社新华社新华社 Qwertyuiop 强哥说 the of 1234567 记者")
	require.Equal(t, 4, table["新华社"].Count)
	require.InDelta(t, 4*table["新华社"].IDF, table["新华社"].Weight, 1e-9)
	require.InDelta(t, 11.7392, table["强哥"].IDF, 1e-4, "unknown words have the average IDF")
	require.InDelta(t, limits.RareIDF, table["qwertyuiop"].IDF, 1e-4)
	require.InDelta(t, limits.WeakIDF, table["1234567"].IDF, 1e-4)
	require.NotContains(t, table, "the")
}

func TestCutScripts(t *testing.T) {
	s := testSegmenter(t)
	for text, want := range map[string]string{
		"Ο δήμος της Αλμυρής":          "ο/δημοσ/τησ/αλμυρησ",
		"Der Bürgermeister, 42 Jahre":  "der/bürgermeister/42/jahre",
		"l’été d’Étienne 3.5 aujourd’": "l/été/d/étienne/3.5/aujourd",
		"오래된 항구 다리를":                   "오래된/항구/다리를",
		"みなと大橋":                        "みな/なと/大桥",
		"て":                            "て",
		"สะพาน":                        "สะ/ะพ/พา/าน",
		"北京 кошка 大学 zr":               "北京/ /кошка/大学/ /zr",
		"नगर परिषद ने":                 "नगर/परिषद/ने",
	} {
		cut := s.Cut(nil, strings.ReplaceAll(strings.ReplaceAll(Clean(text), "ή", "η"), "ί", "ι"), nil)
		require.Equal(t, want, strings.Join(cut, "/"), text)
	}
}

// Words that no table has weigh by their length and by the square root of their count.
func TestWeightsWithoutTable(t *testing.T) {
	weights := weigh(t, "γάτα γάτα γάτα γάτα ο δήμος κυβερνητικός "+
		"다리 кот สะพาน みなと カタログ")
	for word, want := range map[string]float64{
		"γατα": 2 * 5, "δημοσ": 6.5, "κυβερνητικοσ": limits.RareIDF, "다리": 5, "кот": 3.5,
		"สะ": limits.WeakIDF, "みな": limits.WeakIDF, "カタ": limits.WeakIDF,
	} {
		require.InDelta(t, want, weights[word].Weight, 1e-6, word)
	}
}

func TestMainScript(t *testing.T) {
	for text, want := range map[string]article.Script{
		"": article.NoScript, "12.5 % (3)": article.NoScript,
		enArticle: article.Latin, "L’été à Łódź": article.Latin, zhArticle: article.Han,
		"港の新しい桥が完成した": article.Kana, "국제 항만이 열렸다": article.Hangul,
		"Новый мост открыт": article.Cyrillic, "Η νέα γέφυρα": article.Greek,
		"افتتاح الجسر الجديد": article.Arabic, "הגשר החדש נפתח": article.Hebrew,
		"नया पुल खुल गया":   article.Devanagari,
		"สะพานใหม่เปิดแล้ว": article.Thai, "նոր կամուրջ": article.OtherScript,
		"iPhone 15 在北京发布，售价公布之后排队的人很多": article.Han,
	} {
		require.Equal(t, want.String(), MainScript(Clean(text)).String(), text)
	}
	require.Equal(t, article.Han, MainScript(strings.Repeat("港", 700)+enArticle))
}

func TestWordsOfOneShape(t *testing.T) {
	s := testTerms().shapes
	for misread, word := range map[string]string{
		"rnoclern": "modern", "thc": "the", "vvifh": "with", "legis1afion": "legislation", "hiidgef": "budget",
		"ol1": "all", "oll": "all",
		"sriovve": "snowe", // a name that no table has
	} {
		require.Equal(t, s.hash(word), s.hash(misread), misread)
	}
	for one, other := range map[string]string{"oil": "all", "past": "post", "far": "for", "of": "at",
		"merriford": "dunholt"} {
		require.NotEqual(t, s.hash(one), s.hash(other), one)
	}
	for _, word := range []string{"教育", "5g", "новости"} {
		require.Equal(t, simhash.Hash(word), s.hash(word))
	}
}

// A stop word of the user leaves known words of its shape alone.
func TestShapesOfStopWords(t *testing.T) {
	s := newShapes([]byte("acrne\n"), []byte("acme 5\n"))
	require.NotEqual(t, s.hash("acrne"), s.hash("acme"))
	require.Equal(t, s.hash("acrne"), s.hash("ocrnc"), "the most frequent word of the shape")
}

var (
	zhArticle, enArticle = newstext.Zh, newstext.En
)

// testSegmenter and testTerms load the dictionaries once for all tests.
func testSegmenter(t testing.TB) *Segmenter {
	t.Helper()
	s, err := LoadSegmenter(nil)
	require.NoError(t, err)
	return s
}

var testTerms = sync.OnceValue(func() *Terms {
	terms, err := LoadTerms(nil, "")
	if err != nil {
		panic(err)
	}
	return terms
})

// weigh returns the weighed words of a text.
func weigh(t *testing.T, text string) map[string]WeightedWord {
	t.Helper()
	counter := NewCounter(testTerms())
	clean, _ := Plain(nil, Clean(text))
	counter.Add(testSegmenter(t).Cut(nil, clean, nil))
	counter.Weigh()
	words := map[string]WeightedWord{}
	for _, w := range counter.Weights() {
		words[w.Word] = w
	}
	return words
}
