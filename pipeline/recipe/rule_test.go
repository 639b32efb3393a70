package recipe

import (
	"strings"
	"testing"

	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"

	"github.com/stretchr/testify/require"
)

// judgeTexts returns the judgement of a later article on an earlier one.
func judgeTexts(r *Recipe, earlier, later string) article.Judgement {
	x, _ := r.Fingerprint(earlier, article.Origin{})
	y, _ := r.Fingerprint(later, article.Origin{})
	search := r.Search()
	return search.Compare(&y, &x)
}

// Short reports above the same list of related news are different reports. A preface or a last line does not
// make a copy a different report.
func TestRelatedNews(t *testing.T) {
	r := testRecipe(t)
	for name, c := range map[string]struct{ one, other, list string }{
		"zh": {
			"云溪制药宣布，其糖尿病新药获得监管部门批准，将于下季度在全国各大医院上市。云溪制药说，首批供货约二十万盒，糖尿病患者可以凭处方购买。\n",
			"北川物流公司董事长辞去职务，由分管运输业务的副总经理暂代其职。北川物流说，股东大会将选出继任者，运输业务不受影响。\n",
			`2019年3月2日：港口新码头投入使用，首艘货轮靠泊。2019年2月11日：市图书馆延长开放时间，读者反映良好。2018年12月5日：跨河大桥完成荷载试验，年底通车。
2018年11月23日：气象台发布寒潮预警，多地降温。2018年10月9日：秋粮收购全面展开，价格平稳。2018年9月30日：旅客运输进入高峰，铁路加开列车。`,
		},
		"en": {
			"Larkfield Instruments has agreed to buy its smaller rival Dunmore Optics. Larkfield said Dunmore " +
				"makes lenses for telescopes, and that nobody will lose a job.\n",
			"The board of Penrose Shipping has dismissed its chief executive. Penrose said the dispute was about " +
				"freight rates, and that its freighters sail on as planned.\n",
			`2 March 2019: First container ship docks at the enlarged harbour. 11 February 2019: Library opens on Sundays, readers approve. 5 December 2018: Bridge over
the Tarn passes its load test. 23 November 2018: Forecasters warn of a cold spell in the hills. 9 October 2018: Grain harvest sold at steady prices.
30 September 2018: Railway runs extra trains for the holidays.`,
		},
	} {
		j := judgeTexts(r, c.one+c.list, c.other+c.list)
		require.Equal(t, article.Possible, j.Kind, name)
		require.Contains(t, []article.Reason{article.ReasonLead, article.ReasonSubject}, j.Reason, name)
		require.Equal(t, article.Near, judgeTexts(r, c.one+c.list, c.one+c.list+"\nEnd of message").Kind, name)
		require.Equal(t, article.Near, judgeTexts(r, c.one+c.list, "The following reached us this morning.\n"+c.one+
			c.list).Kind, name)
	}
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

// Reports of the same form without figures are about different people or places if their names differ. A copy
// may say more of others.
func TestOtherSubject(t *testing.T) {
	r := testRecipe(t)
	for name, c := range map[string]struct{ text, place, other, line string }{
		"zh": {`青溪县举行冬季招聘会。记者从青溪县人力资源部门了解到，本次活动在县体育馆举办，企业提供制造、物流、护理和餐饮等岗位，求职者可以当场投递简历。
青溪县就业服务中心的工作人员介绍，现场设有政策咨询、法律援助和职业培训的窗口，并为残疾人和退役军人开辟绿色通道。未能到场的市民可以通过网站报名，
企业将在线上面试。主办方提醒，求职时不要缴纳押金，也不要交出身份证件，遇到问题及时向劳动监察部门反映。`, "青溪县", "白石县", "今年到场的企业比往年多。"},
		"en": {`Merriford council has begun to clear the storm drains before winter, and Merriford residents are asked not to park along the main streets while crews are
at work. Leaves and branches should be left in bags at the kerb, where they are collected early in the morning. The council said that blocked grates were the
most common cause of flooded cellars, and that anybody who notices standing water should report it by telephone or at the town hall. In Merriford, sandbags can
be fetched from the fire station, and volunteers will help elderly neighbours to carry them home.`, "Merriford",
			"Dunholt", "Work should be finished before the first frost."},
	} {
		judged := judgeTexts(r, c.text, strings.ReplaceAll(c.text, c.place, c.other))
		require.Equal(t, article.Possible, judged.Kind, name)
		require.Equal(t, article.ReasonSubject, judged.Reason, name)
		require.Equal(t, article.Near, judgeTexts(r, c.text, c.text+c.line).Kind, name)
	}
}

// The first half of an article and the whole article are copies of each other, at a distance at which other
// articles are not.
func TestPartOfAnArticle(t *testing.T) {
	r := testRecipe(t)
	for name, whole := range map[string]string{"zh": zhArticle + zhOther, "en": enArticle + "\n" + enOther} {
		part := map[string]string{"zh": zhArticle, "en": enArticle}[name]
		require.Equal(t, article.Near, judgeTexts(r, part, whole).Kind, name)
		require.Equal(t, article.Near, judgeTexts(r, whole, part).Kind, name)
	}
	require.Zero(t, judgeTexts(r, zhArticle, zhOther).Kind)
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
