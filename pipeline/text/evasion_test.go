package text

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEvasionsAreUndone(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"spaced Chinese":          {"今 天 （ 7 月 2 4 日 ） ， 两 国 军 队", "今天(7月24日),两国军队"},
		"spaced, not the figures": {"首 节 打 完 太 阳 队 以32比13领 先，2018 年 首 胜", "首节打完太阳队以32比13领先,2018年首胜"},
		"a spaced part": {"比赛结束后球员们纷纷表示一定要重新振作起来\n以及比赛结束后球迷表示 加 油 加 油 吧 再来",
			"比赛结束后球员们纷纷表示一定要重新振作起来\n以及比赛结束后球迷表示 加油加油吧 再来"},
		"headlines stay":         {"女排神话 再现东京 三比零", "女排神话 再现东京 三比零"},
		"a few single words":     {"I A B 我 们 x", "i a b 我 们 x"},
		"Korean stays":           {"그 때 우리는 그 집 앞에 서 있었다", "그 때 우리는 그 집 앞에 서 있었다"},
		"symbols":                {"肝~癌^患·者/很+难~^发现", "肝癌患者很难发现"},
		"symbols in English":     {"the gover~nment's pol*icy", "the government's policy"},
		"symbols with a meaning": {"and/or c++ matt_k@x.org 3*4 5~6 a|b", "and/or c++ matt_k@x.org 3*4 5~6 a|b"},
		"a middle dot in a name": {"米拉·乔沃维奇", "米拉乔沃维奇"},
		"Cyrillic in English":    {"Sеnаtе Cоmmіttее оn Cоmmеrсе", "senate committee on commerce"},
		"Greek in English":       {"The gοvernmεnt said", "the government said"},
		"whole words":            {"Who sees а сосо tree? We do, with luck", "who sees a coco tree? we do, with luck"},
		"Latin in Russian": {"Жители деревни гoвoрят, чтo все дoмa целы",
			"жители деревни говорят, что все дома целы"},
		"Russian stays":         {"Он сам все это видел у нас", "он сам все это видел у нас"},
		"Greek stays":           {"Η κυβέρνηση ανακοίνωσε μέτρα", "η κυβέρνηση ανακοίνωσε μέτρα"},
		"a few digits in words": {"h1n1 and b2b on the m25", "h1n1 and b2b on the m25"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, Clean(c.text))
			require.Equal(t, c.want, Clean(c.want), "cleaned twice")
		})
	}
}

// TestFoldsInAnyOrder requires that cleaning twice changes nothing, for texts in which one fold makes letters
// for another: digits, symbols and accents between letters of up to four alphabets.
func TestFoldsInAnyOrder(t *testing.T) {
	letters := []rune("aabcdeghijklmnopqrstuvwxyzаеорсухвнкмтіѕԁӏґяжшαοεικνρτυχγζωψաоօսհգ0134579!*~ \u0301国\n")
	r := rand.New(rand.NewPCG(1, 9))
	for range 100_000 {
		first, width := r.IntN(len(letters)), 3+r.IntN(len(letters)-3)
		text := make([]rune, 1+r.IntN(40))
		for i := range text {
			text[i] = letters[(first+r.IntN(width))%len(letters)]
		}
		checkClean(t, string(text))
	}
}
