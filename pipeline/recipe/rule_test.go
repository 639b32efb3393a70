package recipe

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/simhash"
)

// judgeTexts returns the judgement of a later article on an earlier one.
func judgeTexts(r *Recipe, earlier, later string) article.Judgement {
	x, _ := r.Fingerprint(earlier, article.Origin{})
	y, _ := r.Fingerprint(later, article.Origin{})
	search := r.Search()
	return search.Compare(&y, &x)
}

// A later version of a report has more text, and other numbers where the version is numbered.
func TestVersions(t *testing.T) {
	r := testRecipe(t)
	for name, c := range map[string]struct{ first, second, whole string }{
		"en": {"(1st lead, 14:05) LARKFIELD, 3 May - ", "(2nd lead, 16:40) LARKFIELD, 4 May - ", enArticle + "\n" +
			enOther},
		"zh": {"（第1稿）本社青溪5月3日电 ", "（第2稿）本社青溪5月4日电 ", zhArticle + zhOther},
	} {
		part := []rune(c.whole)[:len([]rune(c.whole))*2/3]
		j := judgeTexts(r, c.first+string(part), c.second+c.whole)
		require.Equal(t, article.Near, j.Kind, "%s: %s", name, j.Reason)
		require.Equal(t, article.Extends, j.Relation, name)
		require.Equal(t, article.Near, judgeTexts(r, c.first+c.whole, c.second+c.whole).Kind, name)
	}
}

// Beyond 12 bits an article and its copy must share the values of two blocks, or an anchor, and beyond 21
// bits no articles are candidates. Without anchors only max_distance counts.
func TestReach(t *testing.T) {
	r := testRecipe(t)
	search := r.Search()
	plan := lookup.New(search, 0)
	whole, _ := r.Fingerprint(zhArticle+zhOther, article.Origin{})
	part, _ := r.Fingerprint(zhArticle, article.Origin{})
	// of the lists of one block, of two blocks, of one block and of an anchor
	for bits, want := range map[int][3]article.Kind{
		12: {article.Near, article.Near, article.Near}, 13: {0, article.Near, article.Near},
		21: {0, article.Near, article.Near}, 22: {0, 0, 0},
	} {
		for lists, kind := range want {
			part.Fingerprint = whole.Fingerprint
			// of the three blocks, which begin at bits 0, 22 and 43: the last stays equal, and if wanted the second
			differ := 2
			if lists == 1 {
				differ = 1
			}
			for bit := range bits {
				part.Fingerprint ^= 1 << (63 - 22*(bit%differ) - bit/differ)
			}
			anchor := uint64(lists/2) << 63 // the first anchor of both, or not
			whole.Anchors, part.Anchors = []uint64{1 << 63, 5 << 60}, []uint64{3 << 62, 7 << 61, 3 << 61, anchor}
			j := plan.Judge(&search.Rule, &part, &whole)
			require.Equal(t, kind, j.Kind, "%d bits, lists %d", bits, lists)
			require.Equal(t, kind == 0, j.Reason == article.ReasonDistance)
			if lists != 1 {
				require.Equal(t, want[0], plan.Judge(&search.Rule, &whole, &part).Kind,
					"the part is not stored under its fourth anchor")
			}
		}
	}
	for name, c := range map[string]struct {
		change        func(*Config)
		block, anchor int
	}{
		"news":             {func(*Config) {}, 12, 21},
		"news, 25 bits":    {func(c *Config) { c.MaxDistance = 25 }, 12, 25},
		"news, 10 bits":    {func(c *Config) { c.MaxDistance = 10 }, 10, 10},
		"news, no anchors": {func(c *Config) { c.Anchors = 0 }, 21, 21},
		"classic":          {func(c *Config) { c.Name = Names()[1] }, 3, 3},
		"classic, 20 bits": {func(c *Config) { c.Name, c.MaxDistance = Names()[1], 20 }, 20, 20},
	} {
		cfg := DefaultConfig()
		c.change(&cfg)
		plan := lookup.New(cfg.Search(), 0)
		require.Equal(t, c.block, plan.Reach(0), name)
		require.Equal(t, c.anchor, plan.Reach(plan.Layout.Count), name)
	}
}

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
