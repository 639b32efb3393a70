package recipe

import (
	"strings"
	"testing"

	"echosieve/pipeline/article"

	"github.com/stretchr/testify/require"
)

// The lines above and below the articles of two invented sites.
var (
	zhMenu = "晨光网\n首页\n要闻\n财经\n体育\n文化\n登录 | 注册\n今日天气：多云 18~25℃\n我们使用 Cookie 改善您的体验，继续浏览即表示同意。\n知道了\n" +
		"当前位置：首页 > 要闻 > 正文\n字号 大 中 小\n分享到\n"
	zhFooter = "\n相关阅读\n老街改造完工 茶馆重新开门\n三号桥本周末夜间封闭检修\n小麦收购价公布，每百斤涨两元\n少年宫秋季班今起报名！\n" +
		"山火已扑灭 无人员伤亡\n热评\n网友“西门听雨”：终于停课了！ 赞 35\n网友“老渔夫”：注意安全\n登录后发表评论\n返回顶部\n关于我们\n联系方式\n版权声明\n广告服务\n"
	enMenu = "The Lakeside Courier\nHome\nLocal\nBusiness\nSports\nObituaries\nSubscribe for $1 a week\nSign in\nYou are here: Home / Local\n" +
		"Share\nPrint\nText size A A A\n"
	enFooter = "\nMore from Local\nOrchard Street school reopens after flood\nTwo trams collide at Mill Junction, nobody hurt\n" +
		"Baker's dozen: thirteen loaves we tried\nCouncil to vote on new parking zones\nWill the ferry run this winter?\n" +
		"Most read\nDog walks home from 40 miles away\nFarm shop wins national prize\nComments (12)\nLog in to reply\nBack to top\nAbout us\n" +
		"Contact\nPrivacy\nAdvertise with us\n© The Lakeside Courier\n"
	zhOther = `省农科院昨日宣布，历时六年选育的耐盐水稻新品种“海丰7号”通过审定，试种面积已达2.3万亩，平均亩产412公斤。
项目负责人周明德介绍，该品种在含盐量千分之四的土壤中仍能正常生长，明年将在沿海四个县推广。
当地农户说，过去撂荒的滩涂如今也能种粮，今年每亩增收约600元。`
	enOther = `BRANTFIELD - Researchers at the college of agriculture said on Monday that a new variety of barley needs a third less water than those grown today.
The variety was tested for four summers on 220 acres of sandy soil, where yields fell by only 6 percent in the dry year of the trial, said Peter Amsel, who led the work.
Seed will be sold to growers from next spring, and the college expects about 90 farms to plant it in the first season.`
)

func bodyOf(text string) string {
	clean := Clean(text)
	var s bodyScratch
	body, whole := s.appendBody(nil, clean)
	if whole {
		return clean
	}
	return strings.TrimSuffix(string(body), "\n")
}

func TestFurnitureIsLeftOut(t *testing.T) {
	require.Equal(t, Clean(zhArticle), bodyOf(zhMenu+zhArticle+zhFooter))
	require.Equal(t, Clean(enArticle), bodyOf(enMenu+enArticle+enFooter))
	require.Equal(t, Clean(enOther), bodyOf("<ul><li>"+strings.ReplaceAll(enMenu, "\n", "</li><li>")+"</li></ul><p>"+enOther+"</p>"))
}

// Copies on pages with furniture are found. Different articles on pages with the same furniture are no copies.
func TestPagesWithFurniture(t *testing.T) {
	r := testRecipe(t)
	search := r.Search()
	judge := func(a, b string) article.Judgement {
		x, _ := r.Fingerprint(a, article.Origin{})
		y, _ := r.Fingerprint(b, article.Origin{})
		return search.Compare(&y, &x)
	}
	times := func(s string, n int) string { return strings.Repeat(s, n) }
	for n := 1; n <= 4; n *= 2 {
		zh := func(article string) string { return times(zhMenu, n) + article + times(zhFooter, n) }
		en := func(article string) string { return times(enMenu, n) + article + times(enFooter, n) }
		require.Equal(t, article.Near, judge(zhArticle, zh(zhArticle)).Kind, "one side")
		require.Equal(t, article.Near, judge(enArticle, en(enArticle)).Kind, "one side")
		require.Equal(t, article.Near, judge(zh(zhArticle), "新声报\n时评\n深度\n影像\n"+zhArticle+"\n上一篇\n下一篇\n评论 0\n举报\n").Kind, "two sites")
		require.Equal(t, article.Near, judge(en(enArticle), "Ridge Herald\nNews\nWeather\nTraffic\n"+enArticle+"\nNext\nPrevious\nEditors' picks\nNewsletters\n").Kind, "two sites")
		require.Zero(t, judge(zh(zhArticle), zh(zhOther)).Kind, "other articles")
		require.Zero(t, judge(en(enArticle), en(enOther)).Kind, "other articles")
	}
}

func TestPageOfNothingButFurnitureIsLittleText(t *testing.T) {
	r := testRecipe(t)
	for _, page := range []string{enMenu + enFooter, "首页\n新闻\n" + zhFooter} {
		a, _ := r.Fingerprint(page, article.Origin{})
		require.True(t, a.LittleText, page)
		require.False(t, a.Empty)
	}
}

// Texts of short lines are articles as well and stay whole.
func TestShortLinesOfAnArticleStay(t *testing.T) {
	for name, text := range map[string]string{
		"poem": "雨落在旧屋檐上\n有人打伞走过\n桥下的水涨了\n船还没有回来\n母亲收起衣裳\n灯在窗里亮着\n谁把门轻轻关上\n像合上一本书\n" +
			"夜色漫过石阶\n漫过我的鞋尖\n没有一句话要说\n雨替我说了",
		"results": "Second round, final scores\nKelmore 3 Ashby 1\nDunwick 0 Oxley 0\nPorth 2 Hale 4\nStonebridge 1 Farrow 2\nLynn 5 Coldwell 0\n",
		"prices":  "今日农产品批发价\n白菜 0.8元/斤\n土豆 1.2元/斤\n西红柿 3.5元/斤\n猪肉 14.6元/斤\n鸡蛋 4.9元/斤\n",
		"brief":   "Shr loss one ct vs profit two cts\nNet loss 14,000 vs profit 31,000\nRevs 1.2 mln vs 1.4 mln\nYear\nShr profit four cts vs profit six\n",
		"wrapped": "The harbour board has agreed to extend the northern\nbreakwater by eighty metres, after a winter in which\nstorms " +
			"twice tore boats from their moorings. Work will\nbegin in the spring, when the fishing fleet is at sea,\nand should be " +
			"finished before the first autumn gales.\nThe board will pay a third of the cost, and the rest\nwill come from the county and a fund for small ports\n",
		"wrapped, ragged": "镇上的老茶馆上周重新开门，掌柜换成了原来\n那位掌柜的孙女。她把墙重新刷白，留下了\n祖父写的木牌，又在后院搭起凉棚\n请几位说书人轮流登台说书唱曲\n" +
			"街坊们都来捧场，头一晚就坐满了六十张椅子\n有人带来自家做的点心分给邻桌的孩子吃\n说书人讲的是一段渡船的旧事\n台下笑声掌声响成一片到深夜\n",
		"wrapped, no commas": strings.Repeat(strings.Repeat("y", 42)+"\n"+strings.Repeat("x", 33)+"\n", 3) + strings.Repeat("The end of this line is one of a sentence.\n", 12),
		"varied brief":       "Marathon\nSunday at noon in the old town hall of Lynn\nFree\nRegister at the desk\nMusic\n",
		"couplets":           strings.Repeat("ten wide x\n", 5) + strings.Repeat("eighteen columns w\n", 7),
		"refrain":            strings.Repeat("oh\n", 3) + strings.Repeat("fourteen wide.x\n", 7) + "a line that is wider than the others\nand one that is wider still than the line before\nand the widest of all of them which is the last one of the song\n",
		"programme":          strings.Repeat("19:30\nThe evening news with Mara Lindqvist and the weather\nFilm\nA concert from the old mill by the river\nBreak\n23:05 Late\n", 3),
		"report, table":      enArticle + "\nKelmore 3 Ashby 1\nDunwick 0 Oxley 0\nPorth 2 Hale 4 after extra time\nLynn 5 Coldwell 0\nNext round\n",
		"dialogue":           "“你去哪儿？”\n“回家。”\n“这么大的雨？”\n“嗯。”\n他把伞递过来，没有再问。\n",
		"few lines":          "City marathon\nSunday\nStart at the town hall\n",
		"report, list":       zhArticle + "\n停运线路\n北环线\n东湖线\n",
	} {
		require.Equal(t, Clean(text), bodyOf(text), name)
	}
}
