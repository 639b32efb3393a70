package recipe

import (
	"strings"
	"testing"

	"echosieve/pipeline/article"
	"echosieve/simhash"

	"github.com/stretchr/testify/require"
)

func TestWordsOfOneShape(t *testing.T) {
	s := testRecipe(t).terms.shapes
	for misread, word := range map[string]string{
		"rnoclern": "modern", "thc": "the", "vvifh": "with", "legis1afion": "legislation", "hiidgef": "budget", "ol1": "all", "oll": "all",
		"sriovve": "snowe", // a name that no table has
	} {
		require.Equal(t, s.hash(word), s.hash(misread), misread)
	}
	for one, other := range map[string]string{"oil": "all", "past": "post", "far": "for", "of": "at", "merriford": "dunholt"} {
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

// A scan of a page is a copy of it. Every 25th letter is misread, so one word in five is damaged.
func TestScannedText(t *testing.T) {
	r := testRecipe(t)
	misread := strings.NewReplacer("e", "c", "a", "o", "t", "f", "n", "ri", "m", "rn", "d", "cl", "h", "b", "u", "ii", "w", "vv", "i", "l")
	text := enArticle + "\n" + enOther
	var scan strings.Builder
	for i, letter := range strings.Split(text, "") {
		if i%25 == 0 {
			letter = misread.Replace(letter)
		}
		scan.WriteString(letter)
	}
	require.Equal(t, article.Near, judgeTexts(r, scan.String(), text).Kind)
	a, _ := r.Fingerprint(text, article.Origin{})
	b, _ := r.Fingerprint(scan.String(), article.Origin{})
	require.LessOrEqual(t, simhash.Distance(a.Fingerprint, b.Fingerprint), 4)
}
