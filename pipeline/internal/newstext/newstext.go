// Package newstext holds texts for the tests of all packages of the pipeline: invented articles, and the lines around
// the articles of two invented sites.
package newstext

import _ "embed"

// Two articles and two others, in Chinese and English.
var (
	//go:embed zh.txt
	Zh string
	//go:embed en.txt
	En string
	//go:embed zh_other.txt
	ZhOther string
	//go:embed en_other.txt
	EnOther string
)

// The lines above and below the articles of two sites.
const (
	ZhMenu = "晨光网\n首页\n要闻\n财经\n体育\n文化\n登录 | 注册\n" +
		"今日天气：多云 18~25℃\n" +
		"我们使用 Cookie 改善您的体验，继续浏览即表示同意。\n知道了\n" +
		"当前位置：首页 > 要闻 > 正文\n字号 大 中 小\n分享到\n"
	ZhFooter = "\n相关阅读\n老街改造完工 茶馆重新开门\n三号桥本周末夜间封闭检修\n" +
		"小麦收购价公布，每百斤涨两元\n少年宫秋季班今起报名！\n" +
		"山火已扑灭 无人员伤亡\n热评\n网友“西门听雨”：终于停课了！ 赞 35\n" +
		"网友“老渔夫”：注意安全\n登录后发表评论\n返回顶部\n关于我们\n" +
		"联系方式\n版权声明\n广告服务\n"
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
