package recipe

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
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
		"Министр сказал, что мост был построен для города и ещё не открыт":     "города министр мост открыт построен",
		"وقال الوزير إن الجسر الجديد في المدينة لم يفتح بعد على الرغم من ذلك":  "الجديد الجسر الرغم المدينه الوزير يفتح",
		"Tsohon gadar garin ta Kano": "gadar garin kano tsohon",
	} {
		assert.Equal(t, want, strings.Join(slices.Sorted(maps.Keys(weightedWords(t, text))), " "), text)
	}
}

// Of a text in two languages, the function words of both count for nothing.
func TestMixedLanguages(t *testing.T) {
	words := weightedWords(t, "Der Rat und die Stadt haben nach der Sitzung über die Brücke beraten. "+
		"La ministra dijo que los puentes de la ciudad no son para los coches, pero la carretera es para los camiones.")
	require.Contains(t, words, "brucke")
	require.Contains(t, words, "ministra")
	for _, function := range []string{"der", "und", "que", "los", "la"} {
		require.NotContains(t, words, function)
	}
}

// Text in which writers left out marks is a copy, exact where no word changes.
func TestMarksFolded(t *testing.T) {
	r := testRecipe(t)
	search := r.Search()
	for name, c := range map[string]struct {
		language string
		lost     *strings.Replacer
		kind     article.Kind
	}{
		"Arabic letters": {"ar", strings.NewReplacer("أ", "ا", "إ", "ا", "ة", "ه", "ى", "ي"), article.Exact},
		"Persian keys":   {"ar", strings.NewReplacer("ي", "ی", "ك", "ک"), article.Exact},
		"points":         {"ar", strings.NewReplacer("م", "مَ", "ل", "لِ", "ن", "نْ"), article.Exact},
		"tonos": {"el", strings.NewReplacer("ά", "α", "έ", "ε", "ή", "η", "ί", "ι", "ό", "ο", "ύ", "υ", "ώ",
			"ω"), article.Near},
		"yo": {"ru", strings.NewReplacer("е", "ё"), article.Near},
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
