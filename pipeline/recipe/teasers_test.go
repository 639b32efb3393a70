package recipe

import (
	"strings"
	"testing"

	"echosieve/pipeline/article"

	"github.com/stretchr/testify/require"
)

func withoutTeasers(text string) string { return newScratch(nil).withoutTeasers(Clean(text)) }

// others are beginnings of other articles.
var others = []string{
	"The lock at Mill Junction stays closed until Friday.", "A baker has won the prize of the valley for the third time.",
	"Orchard Street school reopens after the flood of last spring.",
}

// teasersOf returns lines that announce other articles.
func teasersOf(leadIn string, articles ...string) string {
	var b strings.Builder
	for _, text := range articles {
		b.WriteString(leadIn + text + "\n")
	}
	return b.String()
}

func TestTeasersAreLeftOut(t *testing.T) {
	en := teasersOf("Elsewhere on this site we report the following. ", others...)
	zh := teasersOf("本站今天还为您准备了这样一篇报道：",
		"三号桥本周末夜间封闭检修，车辆请绕行二号桥。", "老街改造完工，茶馆重新开门迎客，首日客满。", "山火已被扑灭，没有人员伤亡，道路恢复通行。")
	require.Equal(t, Clean(enArticle), strings.TrimSpace(withoutTeasers(enArticle+"\n"+en)))
	require.Equal(t, Clean(zhArticle), withoutTeasers(zh+zhArticle))

	// A notice beside the teasers goes with them; a second article stays.
	require.Equal(t, Clean(enArticle), strings.TrimSpace(withoutTeasers(notice+"\n"+en+enArticle+"\n"+en+notice)))
	require.Equal(t, Clean(enArticle+"\n"+enOther), strings.TrimSpace(withoutTeasers(enArticle+"\n"+en+enOther)))

	// Two articles above the same teasers are not alike; one article above different teasers is.
	r := testRecipe(t)
	plain, _ := r.Fingerprint(enArticle, article.Origin{})
	page, _ := r.Fingerprint(en+enArticle, article.Origin{})
	require.Equal(t, plain.SimHash, page.SimHash)
	require.Equal(t, plain.Signature, page.Signature)
	require.NotEqual(t, plain.Digest, page.Digest)
	require.Equal(t, len(Clean(en))+1, page.FurnitureBytes)
	require.Zero(t, page.BoilerplateBytes)
}

// A row of the table for the words before the teasers does not hide that they repeat.
func TestTeasersAreLeftOutBeforeBoilerplate(t *testing.T) {
	const leadIn = "Elsewhere on this site we report the following."
	r := recipeWith(t, Sentence{AllSources, 40, leadIn})
	page, _ := r.Fingerprint(enArticle+"\n"+teasersOf(leadIn+" ", others...), article.Origin{})
	plain, _ := r.Fingerprint(enArticle, article.Origin{})
	require.Equal(t, plain.SimHash, page.SimHash)
}

func TestLinesThatStay(t *testing.T) {
	answers := strings.Repeat("The President: we will look at this again when the numbers are there.\n", 3)
	for name, text := range map[string]string{
		"two lines":           teasersOf("Elsewhere on this site we report the following. ", others[0], others[1]),
		"speakers":            answers,
		"two speakers":        teasersOf("The Secretary of the Treasury: ", others...) + teasersOf("The Senator of the Larkfield district: ", others...),
		"dated items":         teasersOf("今天（5月8日），在北京、上海、广州、深圳等地，", "三号桥本周末夜间封闭检修，车辆请绕行二号桥。", "老街改造完工，茶馆重新开门迎客，首日客满。", "山火已被扑灭，没有人员伤亡，道路恢复通行。"),
		"headings":            strings.Repeat("What the committee has decided:\n"+others[0]+"\n", 3),
		"nothing but teasers": teasersOf("Elsewhere on this site we report the following. ", strings.Repeat(others[0], 9), others[1], others[2]) + "Home\nSports",
	} {
		require.Equal(t, Clean(enArticle[:40]+"\n"+text), withoutTeasers(enArticle[:40]+"\n"+text), name)
	}
}
