package credit

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const body = "\nThe ferry of Skarvik stays in port until the storm ends, the harbour master said on Monday."

func TestCreditsInTexts(t *testing.T) {
	for text, want := range map[string]string{
		"SKARVIK, March 3 (Reuters) - The ferry stays." + body:                                     "Reuters",
		"(AFP) The ferry stays.":                                                                   "AFP",
		"Frankfurt am Main (dpa/lhe) - Die Fähre bleibt.":                                          "dpa",
		"<p><b>SKARVIK</b>, <i>3 mar</i> (EFE).- El ferry sigue.</p>":                              "EFE",
		"EFE.- El ferry sigue en el puerto, y los pasajeros esperan.":                              "EFE",
		"SKARVIK, March 3, 2026 /PRNewswire/ -- Nordhav announced.":                                "PR Newswire",
		"SKARVIK, NO - (NewMediaWire) - March 3 - Nordhav.":                                        "NewMediaWire",
		"НОРДХАВ, 3 мар. /ТАСС/. Паром стоит.":                                                     "TASS",
		"(서울=연합뉴스) 홍길동 기자 = 배가 멈췄다.":                                                               "Yonhap",
		"【北京共同】船は港にとどまる。":                                                                          "Kyodo",
		"By Laura Kim, Associated Press" + body:                                                    "Associated Press",
		"By Laura Kim\nReuters Staff Writer" + body:                                                "Reuters",
		"新华社北京11月28日电（记者李明）渡轮停航。":                                                                  "Xinhua",
		"原标题：渡轮停航中新网11月5日电 据港口报道，渡轮停航。":                                                            "中新网",
		"据新华社电 渡轮停航。":                                                                              "Xinhua",
		"参考消息网11月3日报道 外媒称，渡轮停航。":                                                                   "参考消息",
		"央视网消息（新闻联播）：渡轮停航。":                                                                        "央视网",
		"【环球网报道记者\n王芳】渡轮停航。":                                                                       "环球网",
		"港口晚报讯（记者李明）渡轮停航。":                                                                         "港口晚报",
		"据港口网北港11月8日电（记者李明）渡轮停航。":                                                                  "港口网",
		"新浪科技讯 北京时间11月8日消息，渡轮停航。":                                                                  "新浪",
		"来源：科技日报渡轮今日停航，":                                                                           "科技日报",
		"来源：港口晚报记者 李明":                                                                             "港口晚报",
		"文/Li Ming编译/王芳来源：渡轮观察（dulunguancha）渡轮停航。":                                                 "渡轮观察",
		"来源：微信公众号“渡轮观察（dulun_1）”渡轮停航。":                                                             "渡轮观察",
		"渡轮停航。来源：港口晚报官方微信":                                                                         "港口晚报",
		"渡轮停航了！（转自：HARBOUR）渡轮……":                                                                   "HARBOUR",
		"渡轮停航。本文转载自《港口教育》的博客，点击阅读原文。":                                                              "港口教育",
		"Frankfurt/Main (dpa) - Die Fähre bleibt.":                                                 "dpa",
		"Die Fähre bleibt." + body + " Sie bleibt (APA/dpa, 3.4. 2026)":                            "APA",
		"Vapur limanda." + body + "\nAli KAYA - Can ER / LİMAN, (DHA)":                             "DHA",
		"Vapur limanda." + body + " Ali KAYA (DHA)":                                                "DHA",
		"Vapur limanda." + body + " AA":                                                            "Anadolu",
		"Prom stoi." + body + " AK, PAP":                                                           "PAP",
		"Prom stoi." + body + " Źródło informacji: Polska Agencja Prasowa":                         "PAP",
		"A barca fica." + body + " (fonte: Jornal do Porto)":                                       "Jornal do Porto",
		"Phà ở lại cảng." + body + "\nMai Lan (theo AFP / Reuters)":                                "AFP",
		"Phà ở lại cảng." + body + "\nTheo baocang.vn":                                             "baocang.vn",
		"来源：港口晚报\n渡轮停航。":                                                                           "港口晚报",
		"导语：渡轮停航了！（内容来源：海港 Weekly）渡轮……":                                                            "海港 Weekly",
		"渡轮停航。\n（来源：港口晚报）\n编辑 王芳":                                                                  "港口晚报",
		"The ferry stays." + body + " (AFP)":                                                       "AFP",
		"A barca fica." + strings.ReplaceAll(body, ".", "") + ". / AFP e REUTERS":                  "AFP",
		"Phà ở lại cảng." + body + "\nMai Lan (Theo Skarvik Post)":                                 "Skarvik Post",
		"Vapur limanda." + body + "\n\n AA":                                                        "Anadolu",
		"Vapur limanda." + body + "\nKaynak: Liman Postası":                                        "Liman Postası",
		"کشتی در بندر ماند.\nمنبع: ایسنا":                                                          "ISNA",
		"The ferry stays." + body + "\nThis article was originally published by the Skarvik Post.": "Skarvik Post",
		"The ferry stays." + body + "\nRepublished from The Harbour Review.":                       "Harbour Review",
	} {
		name, where := Find("", text)
		require.Equal(t, want, name, text)
		require.Equal(t, Text, where)
	}
}

// A credit is no attribution: whom an article quotes is not its origin.
func TestAttributionsAreNoCredits(t *testing.T) {
	for _, text := range []string{
		"The ferry stays in port, Reuters reported that on Monday." + body,
		"Skarvik Ferries (Reuters) said the ship stays.",
		"American Airlines (AA) - the carrier - stays on the ground.",
		"Agence France Presse (AFP) - the agency - has a new office.",
		"The minister told the agency (AFP) that the ferry stays.",
		"The ferry stays, an officer told AFP" + body,
		"据台湾媒体报道，渡轮停航。",
		"据新华社报道，渡轮停航。",
		"日前，港口引述新华社11月3日报道说，渡轮停航。",
		"路透社11月3日报道，渡轮停航。",
		"新华社记者电话采访了船长。",
		"渡轮停航。据新华社电，船长说……",
		"共同通信によると、船は港にとどまる。",
		"47NEWS(共同通信)によると、船は港にとどまる。",
		"人民行動党(PAP)が2議席を獲得した。",
		"能量来源：原油，煤炭。",
		"图片来源：视觉中国", "来源：受访者供图", "来源：合作单位",
		"本报讯（记者李明）渡轮停航。", "香港媒体网消息，渡轮停航。",
		"The ferry stays." + body + "\nFoto: Kaya/AFP",
		"The ferry stays." + body + "\nAmerican Airlines (AA)", "The agency rates the ferry AA",
		"Phà ở lại cảng." + body + " Theo thuyền trưởng, phà ở lại cảng.",
		"船は港に。\n共同通信、2026年3月3日9時(UTC+9)。",
		"来源：网络\n渡轮停航。",
		"（来源：来源：港口）",
		"来源：港口晚报据港口消息，渡轮停航，",
		"The poet was first published in Harbour Magazine and lives in Skarvik.",
		"This article was originally published on March 3." + body,
		"Source: https://skarvik.example/1",
		"SKARVIK, March 3 - The ferry stays. " + strings.Repeat("It stays. ", 50) + "(Reuters) reported it." +
			strings.Repeat(body, 4),
		"", "(", "来源：", "\x00", "/", "By ",
	} {
		name, where := Find("", text)
		require.Empty(t, name+where, text)
	}
}

func TestFields(t *testing.T) {
	for field, want := range map[string]string{
		" reuters\n": "Reuters", "(Agence France-Presse)": "AFP", "新华社": "Xinhua", "Source: dpa": "dpa", "来源:新京报": "新京报",
		"Skarvik Post":                  "Skarvik Post",
		"https://www.skarvik.example/a": "skarvik.example", "unknown": "", "Staff": "", "来源": "",
	} {
		name, where := Find(field, "")
		require.Equal(t, want, name, field)
		require.Equal(t, want != "", where == Field)
	}
	name, where := Find("internet", "(dpa) Die Fähre bleibt.")
	require.Equal(t, "dpa credit", name+" "+where)
	long, _ := Find(strings.Repeat("报", 100), "")
	require.LessOrEqual(t, len(long), 64)
}

// The forms of the table differ, so each has one name.
func TestTable(t *testing.T) {
	names := map[string]string{}
	for line := range strings.Lines(table) {
		for i, form := range strings.Split(strings.TrimSpace(line), "|") {
			if form = strings.ToLower(form); form == "" || line[0] == '#' {
				continue
			}
			require.Empty(t, names[form], "%s is on two lines", form)
			if i == 0 {
				require.NotEmpty(t, known[form])
			}
			names[form] = line
		}
	}
}

// Only the ends of a text count.
func FuzzFind(f *testing.F) {
	for _, text := range []string{"BERLIN (dpa) - x", "<p>来源：<b>x", "新华社北京11月28日电", "x. (Theo x)", "By x, AP"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		name, where := Find("", text)
		require.True(t, len(name) <= 64 && utf8.ValidString(name))
		require.Equal(t, name != "", where == Text)
		middle := strings.Repeat("a ", 2*window)
		with := func(more string) string {
			n, _ := Find("", begin(text, window)+middle+more+middle+end(text, window))
			return n
		}
		require.Equal(t, with(""), with("\n新华社北京11月28日电\n(Reuters) - x\nAFP\n"))
	})
}
