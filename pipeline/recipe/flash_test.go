package recipe

import (
	"testing"

	"echosieve/pipeline/article"

	"github.com/stretchr/testify/require"
)

// Flashes of 15 to 50 characters, with changes that make a different report of each, and changes that may be either.
var flashes = []struct {
	text     string
	others   []string // another name, figure, direction or order
	possible []string // a word put in: may be a copy or a different report
}{
	{
		"央行宣布下调金融机构存款准备金率0.5个百分点，释放长期资金约1万亿元。",
		[]string{
			"央行宣布下调金融机构存款准备金率0.25个百分点，释放长期资金约5000亿元。",
			"央行宣布下调金融机构存款准备金率0.5个百分点，释放长期资金约2万亿元。",
			"央行宣布上调金融机构存款准备金率0.5个百分点，冻结长期资金约1万亿元。",
		},
		[]string{"央行今日宣布下调金融机构存款准备金率0.5个百分点，释放长期资金约1万亿元。"},
	},
	{
		"外交部发言人宣布：应邀请，巴西总统卢拉将于下周对中国进行国事访问。",
		[]string{
			"外交部发言人宣布：应邀请，法国总统马克龙将于下周对中国进行国事访问。",
			"外交部发言人宣布：应邀请，巴西外长维埃拉将于下周对中国进行正式访问。",
		},
		[]string{"外交部发言人宣布：应邀请，巴西总统卢拉将于下周取消对中国进行国事访问。"},
	},
	{
		"贵州茅台公告称，公司总经理因工作调整辞职，董事会已同意其辞职申请。",
		[]string{
			"五粮液公告称，公司总经理因工作调整辞职，董事会已同意其辞职申请。",
			"贵州茅台公告称，公司财务总监因个人原因辞职，董事会已同意其辞职申请。",
		},
		nil,
	},
	{
		"上海申花客场3比1战胜山东泰山，继续领跑中超积分榜。",
		[]string{
			"山东泰山客场3比1战胜上海申花，继续领跑中超积分榜。",
			"上海申花客场3比2战胜山东泰山，继续领跑中超积分榜。",
			"上海海港客场3比1战胜北京国安，继续领跑中超积分榜。",
		},
		nil,
	},
	{
		"四川宜宾发生4.9级地震，成都、重庆等地有明显震感，暂无人员伤亡报告。",
		[]string{
			"四川泸州发生4.9级地震，成都、重庆等地有明显震感，暂无人员伤亡报告。",
			"四川宜宾发生4.2级地震，成都、重庆等地有明显震感，暂无人员伤亡报告。",
		},
		nil,
	},
	{
		"The Federal Reserve cut its benchmark interest rate by 25 basis points, citing a weaker labor market.",
		[]string{
			"The Federal Reserve raised its benchmark interest rate by 25 basis points, citing a tighter labor market.",
			"The Federal Reserve cut its benchmark interest rate by 50 basis points, citing a weaker labor market.",
			"The Reserve Bank of Australia cut its benchmark interest rate by 25 basis points, citing a weaker " +
				"labor market.",
		},
		[]string{"The Federal Reserve unexpectedly cut its benchmark interest rate by 25 basis points, citing a " +
			"weaker labor market."},
	},
}

// reposts are the texts that publishers put before and after a flash of others.
var reposts = []func(string) string{
	func(s string) string { return "【快讯】" + s },
	func(s string) string { return s + "（来源：新华网）" },
	func(s string) string { return "（北京）" + s },
	func(s string) string { return "10:35 " + s },
	func(s string) string { return s + "\n责任编辑：李娜" },
	func(s string) string { return "[Reuters] " + s },
}

func TestFlashes(t *testing.T) {
	r := testRecipe(t)
	search := r.Search()
	judge := func(a, b string) article.Judgement {
		x, _ := r.Fingerprint(a, article.Origin{})
		y, _ := r.Fingerprint(b, article.Origin{})
		require.False(t, x.LittleText, a)
		j := search.Compare(&x, &y)
		mirrored := search.Compare(&y, &x)
		require.Equal(t, j.Kind, mirrored.Kind)
		require.Equal(t, j.Reason, mirrored.Reason)
		require.Equal(t, j.Relation.Mirrored(), mirrored.Relation)
		return j
	}
	for _, f := range flashes {
		for _, repost := range reposts {
			require.Equal(t, article.Near, judge(f.text, repost(f.text)).Kind, repost(f.text))
			for _, other := range f.others {
				require.NotEqual(t, article.Near, judge(f.text, repost(other)).Kind, "%s\n%s", f.text, repost(other))
			}
		}
		for _, other := range f.others {
			require.NotEqual(t, article.Near, judge(f.text, other).Kind, "%s\n%s", f.text, other)
		}
		for _, p := range f.possible {
			j := judge(f.text, p)
			require.Equal(t, article.Possible, j.Kind, p)
			require.NotEqual(t, article.ReasonLittle, j.Reason, p)
		}
	}
}
