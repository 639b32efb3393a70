package recipe

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
)

func weightedWords(t *testing.T, text string) map[string]float64 {
	t.Helper()
	words := map[string]float64{}
	for _, w := range testRecipe(t).Weights(text, article.Origin{}) {
		words[w.Word] = w.Weight
	}
	return words
}

// Words that any text of a language has say nothing about an article.
func TestFunctionWordsAreDropped(t *testing.T) {
	for text, want := range map[string]string{
		"Der Rat und die Stadt haben nach der Sitzung über die Brücke beraten": "beraten brucke rat sitzung stadt",
		"La ministra dijo que los puentes de la ciudad no son para los coches": "ciudad coches ministra puentes",
		"Министр сказал, что мост был построен для города " +
			"и ещё не открыт": "города министр мост открыт построен",
		"وقال الوزير إن الجسر الجديد في المدينة لم يفتح بعد " +
			"على الرغم من ذلك": "الجديد الجسر الرغم المدينه الوزير يفتح",
		"Tsohon gadar garin ta Kano": "gadar garin kano tsohon",
	} {
		assert.Equal(t, want, strings.Join(slices.Sorted(maps.Keys(weightedWords(t, text))), " "), text)
	}
}

// Text in which writers left out marks is a copy, exact where no word changes. Package text has the marks.
func TestMarksFolded(t *testing.T) {
	r := testRecipe(t)
	search := r.Search()
	for name, c := range map[string]struct {
		language string
		lost     *strings.Replacer
		kind     article.Kind
	}{
		"points": {"ar", strings.NewReplacer("م", "مَ", "ل", "لِ", "ن", "نْ"), article.Exact},
		"Vietnamese": {
			"vi", strings.NewReplacer("đ", "d", "ạ", "a", "á", "a", "à", "a", "ã", "a", "ư", "u", "ế", "e", "ề", "e",
				"ể", "e", "ố", "o", "ộ", "o", "ơ", "o"),
			article.Near,
		},
	} {
		text := languageText(t, c.language)
		edited := c.lost.Replace(text)
		require.NotEqual(t, text, edited, name)
		original, _ := r.Fingerprint(text, article.Origin{})
		later, _ := r.Fingerprint(edited, article.Origin{})
		require.Equal(t, original.Fingerprint, later.Fingerprint, name)
		require.Equal(t, c.kind.String(), search.Compare(&later, &original).Kind.String(), name)
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

// edits are changes that re-publishers make to an article: a line put before or after it, a sentence left
// out, 5 % of its words left out. In scripts without spaces it is 5 % of the characters other than numerals.
func edits(text string, spaced bool, r *rand.Rand) []string {
	out := []string{"(Agence Presse 24)\n" + text, text + "\n© 2026 Presse 24"}
	sentences := pieces(text, func(r rune) bool {
		return r == '\n' || unicode.Is(unicode.STerm, r) && r != '.' ||
			r == '.'
	})
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

// Long texts in a small alphabet have most sequences of three characters in common. That does not make them
// copies of each other.
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
