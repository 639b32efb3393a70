package recipe

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

// A scan of a page is a copy of it. Every 25th letter is misread, so one word in five is damaged.
func TestScannedText(t *testing.T) {
	r := testRecipe(t)
	misread := strings.NewReplacer("e", "c", "a", "o", "t", "f", "n", "ri", "m", "rn", "d", "cl", "h", "b", "u", "ii",
		"w", "vv", "i", "l")
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
