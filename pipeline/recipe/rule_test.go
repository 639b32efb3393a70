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

const (
	zhSmallPrint = `免责声明：本稿由发布方提供，内容仅供参考，不构成任何投资、法律或者医疗方面的建议。发布方对其中预测、估计和展望是否实现不作保证，
也没有义务在日后予以更新。读者据此作出的决定，后果由读者自行承担。未经书面许可，任何人不得转载、摘编、镜像或者以其他方式使用本稿的全部或者部分内容。
如果您误收本稿，请立即通知我们，并将其从您的设备中彻底删除，不得保存、复制或者向第三人披露。除非强制性法律另有规定，我们以及我们的雇员、代理人和关联企业
均不对因使用本稿而产生的直接或者间接损失承担责任。`
	enSmallPrint = `This message is intended for the persons to whom it is addressed and may contain confidential material. Statements about the future rest on
assumptions that may turn out to be mistaken, and nobody is obliged to correct them afterwards. Nothing in it is an offer, a recommendation or advice of any
kind, and readers who act on it do so at their own risk. If you have received it in error, please destroy every copy and let the sender know without delay.
Unless the law demands otherwise, neither the sender nor its directors, employees or agents accept liability for any damage that follows from its use.`
)

// Short reports above the same long small print are different reports. A preface or a last line does not make a copy a different report.
func TestSmallPrint(t *testing.T) {
	r := testRecipe(t)
	for name, c := range map[string]struct{ one, other string }{
		"zh": {"云溪制药宣布，其糖尿病新药获得监管部门批准，将于下季度在全国各大医院上市，首批供货约二十万盒。\n" + zhSmallPrint, "北川物流公司董事长辞去职务，由分管运输业务的副总经理暂代其职，直到股东大会选出继任者。\n" + zhSmallPrint},
		"en": {
			"Larkfield Instruments has agreed to buy its smaller rival Dunmore Optics for an undisclosed sum.\n" + enSmallPrint,
			"The board of Penrose Shipping has dismissed its chief executive after a dispute about strategy.\n" + enSmallPrint,
		},
	} {
		j := judgeTexts(r, c.one, c.other)
		require.Equal(t, article.Possible, j.Kind, name)
		require.Equal(t, article.ReasonLead, j.Reason, name)
		require.Equal(t, article.Near, judgeTexts(r, c.one, c.one+"\nEnd of message").Kind, name)
		require.Equal(t, article.Near, judgeTexts(r, c.one, "The following reached us this morning by wire from our office abroad.\n"+c.one).Kind, name)
	}
}

// Reports of the same form that say the opposite are no copies, although only one or two words differ.
func TestOppositeDirections(t *testing.T) {
	r := testRecipe(t)
	en := `Harlow Refining Corp said it raised the contract price of heating oil by one half cent a gallon, effective tomorrow. The company said the
increase brings its price in the harbor in line with those of other suppliers. Traders said that demand had been steady and that stocks were adequate.`
	zh := `东陵石化公司今天宣布上调取暖用油出厂价格，自明日零时起执行。公司方面表示，上调之后的价格与本地区其他供应商大致持平。
交易员认为，近期市场需求平稳，库存充足，其他厂家可能跟进。`
	require.Equal(t, article.ReasonOpposite, judgeTexts(r, en, strings.NewReplacer("raised", "cut", "increase", "decrease").Replace(en)).Reason)
	require.Equal(t, article.ReasonOpposite, judgeTexts(r, zh, strings.ReplaceAll(zh, "上调", "下调")).Reason)
	require.Equal(t, article.Near, judgeTexts(r, en, strings.ReplaceAll(en, "raised", "lifted")).Kind)
}

// Reports of the same form without figures are about different people or places if their names differ. A copy may say more of others.
func TestOtherSubject(t *testing.T) {
	r := testRecipe(t)
	for name, c := range map[string]struct{ text, place, other, line string }{
		"zh": {`青溪县举行冬季招聘会。记者从青溪县人力资源部门了解到，本次活动在县体育馆举办，企业提供制造、物流、护理和餐饮等岗位，求职者可以当场投递简历。
青溪县就业服务中心的工作人员介绍，现场设有政策咨询、法律援助和职业培训的窗口，并为残疾人和退役军人开辟绿色通道。未能到场的市民可以通过网站报名，
企业将在线上面试。主办方提醒，求职时不要缴纳押金，也不要交出身份证件，遇到问题及时向劳动监察部门反映。`, "青溪县", "白石县", "今年到场的企业比往年多。"},
		"en": {`Merriford council has begun to clear the storm drains before winter, and Merriford residents are asked not to park along the main streets while crews are
at work. Leaves and branches should be left in bags at the kerb, where they are collected early in the morning. The council said that blocked grates were the
most common cause of flooded cellars, and that anybody who notices standing water should report it by telephone or at the town hall. In Merriford, sandbags can
be fetched from the fire station, and volunteers will help elderly neighbours to carry them home.`, "Merriford", "Dunholt", "Work should be finished before the first frost."},
	} {
		judged := judgeTexts(r, c.text, strings.ReplaceAll(c.text, c.place, c.other))
		require.Equal(t, article.Possible, judged.Kind, name)
		require.Equal(t, article.ReasonSubject, judged.Reason, name)
		require.Equal(t, article.Near, judgeTexts(r, c.text, c.text+c.line).Kind, name)
	}
}

// The first half of an article and the whole article are copies of each other, at a distance at which other articles are not.
func TestPartOfAnArticle(t *testing.T) {
	r := testRecipe(t)
	for name, whole := range map[string]string{"zh": zhArticle + zhOther, "en": enArticle + "\n" + enOther} {
		part := map[string]string{"zh": zhArticle, "en": enArticle}[name]
		require.Equal(t, article.Near, judgeTexts(r, part, whole).Kind, name)
		require.Equal(t, article.Near, judgeTexts(r, whole, part).Kind, name)
	}
	require.Zero(t, judgeTexts(r, zhArticle, zhOther).Kind)
}

// Beyond 16 bits, only a part and its whole can be copies, and an article and the same article reworded.
func TestWholeDistance(t *testing.T) {
	r := testRecipe(t)
	search := r.Search()
	require.Equal(t, 21, search.MaxDistance)
	one, _ := r.Fingerprint(zhArticle+zhOther, article.Origin{})
	half, _ := r.Fingerprint(zhArticle, article.Origin{})
	require.Equal(t, article.Near, search.Check(17, one.Signature, half.Signature).Kind)
	require.Equal(t, article.Near, search.Check(17, one.Signature, one.Signature).Kind) // four equal numbers
	require.Equal(t, article.Judgement{Reason: article.ReasonDistance}, search.Check(17, half.Signature, half.Signature))
}

// Beyond 16 bits a part and its whole must share an anchor, and beyond 21 bits no articles are candidates. Without anchors only max_distance
// counts.
func TestReach(t *testing.T) {
	r := testRecipe(t)
	search := r.Search()
	plan := lookup.New(search, 0)
	whole, _ := r.Fingerprint(zhArticle+zhOther, article.Origin{})
	part, _ := r.Fingerprint(zhArticle, article.Origin{})
	for bits, want := range map[int][2]article.Kind{ // without and with an anchor in common
		16: {article.Near, article.Near}, 17: {0, article.Near}, 21: {0, article.Near}, 22: {0, 0},
	} {
		part.Fingerprint = whole.Fingerprint ^ (1<<bits - 1)
		for anchors, kind := range want {
			whole.Anchors, part.Anchors = []uint64{1 << 63, 5 << 60}, []uint64{3 << 62, 7 << 61, 3 << 61, uint64(anchors) << 63}
			j := plan.Judge(&search.Rule, &part, &whole)
			require.Equal(t, kind, j.Kind, "%d bits, %d anchors in common", bits, anchors)
			require.Equal(t, kind == 0, j.Reason == article.ReasonDistance)
			require.Equal(t, want[0], plan.Judge(&search.Rule, &whole, &part).Kind, "the part is not stored under its fourth anchor")
		}
	}
	for name, c := range map[string]struct {
		change        func(*Config)
		block, anchor int
	}{
		"news":             {func(*Config) {}, 16, 21},
		"news, 25 bits":    {func(c *Config) { c.MaxDistance = 25 }, 16, 25},
		"news, 12 bits":    {func(c *Config) { c.MaxDistance = 12 }, 12, 12},
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
