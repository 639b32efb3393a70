package recipe

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"

	"github.com/stretchr/testify/require"
)

func TestCutScripts(t *testing.T) {
	s := testRecipe(t).segmenter
	for text, want := range map[string]string{
		"Ο δήμος της Αλμυρής":          "ο/δημοσ/τησ/αλμυρησ",
		"Der Bürgermeister, 42 Jahre":  "der/ /bürgermeister/42/jahre",
		"l’été d’Étienne 3.5 aujourd’": "l/’/été/d/étienne/3.5/aujourd",
		"오래된 항구 다리를":                   "오래된/항구/다리를",
		"みなと大橋":                        "みな/なと/大桥",
		"て":                            "て",
		"สะพาน":                        "สะ/ะพ/พา/าน",
		"北京 кошка 大学 zr":               "北京/ /кошка/大学/ /zr",
		"٤٫٢ مليون":                    "4.2/ /مليون",
		"नगर परिषद ने":                 "नगर/परिषद/ने",
	} {
		cut := s.cutScripts(nil, strings.ReplaceAll(strings.ReplaceAll(Clean(text), "ή", "η"), "ί", "ι"), nil)
		require.Equal(t, want, strings.Join(cut, "/"), text)
	}
}

// Cutting other scripts does not change the words of Chinese and English articles.
func TestOtherScriptsDoNotChangeTheRest(t *testing.T) {
	s := testRecipe(t).segmenter
	for _, text := range []string{Clean(zhArticle), Clean(enArticle)} {
		require.Equal(t, s.cut(nil, text, nil), s.cutScripts(nil, text, nil))
		with := s.cutScripts(nil, text+"\nпёс", nil)
		require.Equal(t, termsOf(append(s.cut(nil, text, nil), "пёс")), termsOf(with))
	}
}

// pieces cuts a text after each character for which ends returns true.
func pieces(text string, ends func(rune) bool) []string {
	var list []string
	start := 0
	for i, r := range text {
		if ends(r) {
			end := i + len(string(r))
			list, start = append(list, text[start:end]), end
		}
	}
	return append(list, text[start:])
}

// edits are changes that re-publishers make to an article: a line put before or after it, a sentence left out, 5 % of its words left out. In
// scripts without spaces it is 5 % of the characters other than numerals.
func edits(text string, spaced bool, r *rand.Rand) []string {
	out := []string{"(Agence Presse 24)\n" + text, text + "\n© 2026 Presse 24"}
	sentences := pieces(text, func(r rune) bool { return r == '\n' || unicode.Is(unicode.STerm, r) && r != '.' || r == '.' })
	for i := range sentences {
		if len(sentences[i]) > 20 {
			out = append(out, strings.Join(append(append([]string{}, sentences[:i]...), sentences[i+1:]...), ""))
		}
	}
	for range 20 {
		words := pieces(text, func(r rune) bool { return spaced && r == ' ' || !spaced && r != '\n' })
		kept := words[:0:0]
		for i := 0; i < len(words); i++ {
			if r.IntN(20) > 0 || !spaced && strings.ContainsAny(words[i], "0123456789一二三四十億") {
				kept = append(kept, words[i])
			}
		}
		out = append(out, strings.Join(kept, ""))
	}
	return out
}

// languageText reads the article of testdata/languages in a language.
func languageText(t *testing.T, language string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "languages", language+".txt"))
	require.NoError(t, err)
	return string(data)
}

// In scripts without a table, copies with small edits are found and are near copies. Other articles are not.
func TestLanguages(t *testing.T) {
	recipe := testRecipe(t)
	search := recipe.Search()
	plan := lookup.New(search, 0)
	files, err := filepath.Glob("testdata/languages/*.txt")
	require.NoError(t, err)
	require.Len(t, files, 12)
	for _, file := range files {
		language := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(language, func(t *testing.T) {
			text := languageText(t, language)
			original, _ := recipe.Fingerprint(text, article.Origin{})
			require.Greater(t, original.Features, 60)
			list := edits(text, language != "ja" && language != "th", rand.New(rand.NewPCG(1, 2)))
			caught := 0
			for _, edited := range list {
				later, _ := recipe.Fingerprint(edited, article.Origin{})
				if plan.Finds(&later, &original) && search.Compare(&later, &original).Kind.IsCopy() {
					caught++
				}
			}
			require.GreaterOrEqual(t, float64(caught)/float64(len(list)), 0.95, "%d of %d", caught, len(list))

			paragraphs := strings.SplitAfter(text, "\n")
			first, _ := recipe.Fingerprint(strings.Join(paragraphs[:2], ""), article.Origin{})
			second, _ := recipe.Fingerprint(strings.Join(paragraphs[2:], ""), article.Origin{})
			require.Zero(t, search.Compare(&second, &first).Kind, "other news in the same language")
		})
	}
}

// Words that no table has weigh by their length and by the square root of their count.
func TestWeightsWithoutTable(t *testing.T) {
	weights := map[string]WeightedWord{}
	for _, w := range testRecipe(t).Weights("γάτα γάτα γάτα γάτα ο δήμος κυβερνητικός 다리 кот สะพาน みなと カタログ", article.Origin{}) {
		weights[w.Word] = w
	}
	for word, want := range map[string]float64{
		"γατα": 2 * 5, "δημοσ": 6.5, "κυβερνητικοσ": maxUnlisted, "다리": 5, "кот": 3.5, "สะ": pairWeight, "みな": hiraganaPair, "カタ": pairWeight,
	} {
		require.InDelta(t, want, weights[word].Weight, 1e-6, word)
	}
}

// Long texts in a small alphabet have most sequences of three characters in common. That does not make them copies of each other.
func TestLongTextsInSmallAlphabets(t *testing.T) {
	recipe, err := Load(DefaultConfig())
	require.NoError(t, err)
	search := recipe.Search()
	for name, alphabet := range map[string]string{
		"kana": "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほ",
		"Thai": "กขคฆงจฉชซญดตถทธนบปผพฟภมยรลวสหอ",
	} {
		r := rand.New(rand.NewPCG(1, 2))
		letters := []rune(alphabet)
		texts := make([]article.Article, 2)
		for i := range texts {
			text := make([]rune, 50_000)
			for j := range text {
				text[j] = letters[r.IntN(len(letters))]
			}
			texts[i], _ = recipe.Fingerprint(string(text), article.Origin{})
		}
		require.Zero(t, search.Compare(&texts[1], &texts[0]).Kind, name)
	}
}

func TestMainScript(t *testing.T) {
	for text, want := range map[string]article.Script{
		"": article.NoScript, "12.5 % (3)": article.NoScript,
		enArticle: article.Latin, "L’été à Łódź": article.Latin, zhArticle: article.Han,
		"港の新しい桥が完成した": article.Kana, "국제 항만이 열렸다": article.Hangul, "Новый мост открыт": article.Cyrillic,
		"Η νέα γέφυρα": article.Greek, "افتتاح الجسر الجديد": article.Arabic, "הגשר החדש נפתח": article.Hebrew,
		"नया पुल खुल गया": article.Devanagari, "สะพานใหม่เปิดแล้ว": article.Thai, "նոր կամուրջ": article.OtherScript,
		"iPhone 15 在北京发布，售价公布之后排队的人很多": article.Han,
	} {
		require.Equal(t, want.String(), mainScript(Clean(text)).String(), text)
	}
	a, _ := testRecipe(t).Fingerprint(strings.Repeat("港", 700)+enArticle, article.Origin{})
	require.Equal(t, article.Han, a.Script)
}
