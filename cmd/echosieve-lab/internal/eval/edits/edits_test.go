package edits

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func article(n int) string {
	return fmt.Sprintf("Die Stadt Nr. %d baut %d Häuser am Fluß. „Wir beginnen im März“, sagt Bürgermeisterin "+
		"%s. Der Rat stimmte zu! "+
		"Die Kosten liegen bei 1.2%02d.500 Euro und 3,%d Prozent. Kommt Straße %s dazu? Am Ende zählen %d Stimmen.\n",
		n, n*7+12, name(n), n, n+10, name(n+1), n+90)
}

func name(n int) string {
	return strings.Repeat(string(rune('a'+n%26)), 3+n%4) + string(rune('ä'+n%3))
}

// corpus returns article 0 with numbers and accents, and articles of other words.
func corpus() *Corpus {
	articles := []string{article(0) + article(1) + article(2)}
	for i := range 20 {
		var text strings.Builder
		for j := range 90 {
			fmt.Fprintf(&text, "%s%s", name(i*j), name(j*j+i))
			text.WriteString(map[bool]string{true: ". ", false: " "}[j%8 == 7])
		}
		articles = append(articles, text.String())
	}
	return NewCorpus("de", articles)
}

func TestEdits(t *testing.T) {
	c := corpus()
	kinds := map[string]Edit{}
	for _, e := range c.Edits(0, 1) {
		kinds[e.Kind] = e
		require.NotEqual(t, e.Earlier, e.Later, e.Kind)
		if e.Copy {
			require.Equal(t, c.articles[0], e.Earlier, e.Kind)
		}
	}
	text := c.articles[0]
	require.True(t, kinds["words_05"].Copy)
	require.False(t, kinds["numbers_changed"].Copy)
	require.True(t, strings.HasPrefix(text, kinds["truncated_50"].Later))
	require.InDelta(t, len(text)/2, len(kinds["truncated_50"].Later), 20)
	require.Contains(t, kinds["accents_lost"].Later, "Hauser am Fluß")
	require.Contains(t, kinds["letters_plain"].Later, "Hauser am Fluss")
	require.Contains(t, kinds["separators_lost"].Later, "1200500 Euro und 3,10 Prozent")
	require.NotContains(t, kinds, "yo_lost", "no German text has the letter")
	require.NotContains(t, kinds["numbers_changed"].Later, "1.200.500")
	require.Equal(t, c.Edits(0, 1), c.Edits(0, 1))
	require.NotEqual(t, c.Edits(0, 1), c.Edits(0, 2))
}

func TestLosses(t *testing.T) {
	for kind, texts := range map[string][2]string{
		"accents_lost":  {"Żółw é ά ấ", "Zołw e α a"},
		"letters_plain": {"łódź ılık đi", "lodz ilik di"},
		"yo_lost":       {"Ещё ґанок", "Еще ганок"},
		"nukta_lost":    {"सड़क", "सडक"},
		"alef_taa":      {"أحمد مدرسة على", "احمد مدرسه علي"},
		"yeh_kaf":       {"كتاب ی", "کتاب ي"},
		"upper_case":    {"ılık iki", "ILIK İKİ"},
		"native_digits": {"سنة 1987", "سنة ۱۹۸۷"},
	} {
		language := map[string]string{"upper_case": "tr", "native_digits": "fa"}[kind]
		d := draws{Corpus: NewCorpus(language, []string{""})}
		applied := ""
		for _, loss := range losses {
			if loss.kind == kind {
				applied = loss.apply(d, texts[0])
			}
		}
		require.Equal(t, texts[1], applied, kind)
	}
}
