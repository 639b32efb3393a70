// Package newstext holds texts for the tests of all packages of the pipeline: invented articles, the lines around the
// articles of two invented sites, and texts that cost as much time and memory as possible.
package newstext

import (
	"strings"
)

// Two articles and two others, in Chinese and English.
const (
	Zh = `本报讯（记者 王小川）市气象台昨日发布暴雨橙色预警，预计未来两天全市大部分地区将出现强降雨，最大小时雨强可达80毫米。
防汛办要求各区县加强山洪和地质灾害监测，及时转移危险区域群众。地铁集团表示，将视雨情调整运营时间，3条线路可能停运。
教育部门宣布，全市中小学校、幼儿园明天停课一天，后天是否复课另行通知。市民如需帮助，可拨打热线电话12345。
专家提醒，雨天出行应避开低洼路段，不要涉水行车；家中地下室要提前准备沙袋，贵重物品搬到高处。`
	En = `RIVERTON - The city council approved a $4.2 million plan on Tuesday to rebuild the old harbour bridge, which has been closed since a
barge struck one of its piers in March. Engineers told the council that repairing the damaged span would cost almost as much as replacing it and would
last only 15 years. Construction is expected to begin in early October and to take 18 months, said Maria Holt, the city's director of public works.
Residents who live on the north shore complained that the detour adds half an hour to their daily commute, and asked for a temporary ferry.`
	ZhOther = `省农科院昨日宣布，历时六年选育的耐盐水稻新品种“海丰7号”通过审定，试种面积已达2.3万亩，平均亩产412公斤。
项目负责人周明德介绍，该品种在含盐量千分之四的土壤中仍能正常生长，明年将在沿海四个县推广。
当地农户说，过去撂荒的滩涂如今也能种粮，今年每亩增收约600元。`
	EnOther = `BRANTFIELD - Researchers at the college of agriculture said on Monday that a new variety of barley needs a third less water than those grown today.
The variety was tested for four summers on 220 acres of sandy soil, where yields fell by only 6 percent in the dry year of the trial, said Peter Amsel, who led the work.
Seed will be sold to growers from next spring, and the college expects about 90 farms to plant it in the first season.`
)

// The lines above and below the articles of two sites.
const (
	ZhMenu = "晨光网\n首页\n要闻\n财经\n体育\n文化\n登录 | 注册\n今日天气：多云 18~25℃\n我们使用 Cookie 改善您的体验，继续浏览即表示同意。\n知道了\n" +
		"当前位置：首页 > 要闻 > 正文\n字号 大 中 小\n分享到\n"
	ZhFooter = "\n相关阅读\n老街改造完工 茶馆重新开门\n三号桥本周末夜间封闭检修\n小麦收购价公布，每百斤涨两元\n少年宫秋季班今起报名！\n" +
		"山火已扑灭 无人员伤亡\n热评\n网友“西门听雨”：终于停课了！ 赞 35\n网友“老渔夫”：注意安全\n登录后发表评论\n返回顶部\n关于我们\n联系方式\n版权声明\n广告服务\n"
	EnMenu = "The Lakeside Courier\nHome\nLocal\nBusiness\nSports\nObituaries\nSubscribe for $1 a week\nSign " +
		"in\nYou are here: Home / Local\n" +
		"Share\nPrint\nText size A A A\n"
	EnFooter = "\nMore from Local\nOrchard Street school reopens after flood\nTwo trams collide at Mill Junction, " +
		"nobody hurt\n" +
		"Baker's dozen: thirteen loaves we tried\nCouncil to vote on new parking zones\nWill the ferry run this " +
		"winter?\n" +
		"Most read\nDog walks home from 40 miles away\nFarm shop wins national prize\nComments (12)\nLog in to " +
		"reply\nBack to top\nAbout us\n" +
		"Contact\nPrivacy\nAdvertise with us\n© The Lakeside Courier\n"
)

// Plain holds texts with long fields in ASCII, beside text in other scripts.
var Plain = []string{
	strings.Repeat("the senate's 51st vote on h.r.5631 passed 98-0, at 3.5. percent... ", 3),
	strings.Repeat("“quoted” words – with dashes — and don’t ", 5) + "股市上涨 " + strings.Repeat("plain again ", 10),
	"北京 " + strings.Repeat("a1b2 22nd 3d 4.4.4 x ", 9) + "c++ and c# are not plain, " + strings.Repeat("but this is ",
		9),
	strings.Repeat("x", 300) + " " + strings.Repeat("9.", 200) + "大" + strings.Repeat(" y", 99),
	strings.Repeat("\u2012\u201e ", 40) + "café naïve",
}
