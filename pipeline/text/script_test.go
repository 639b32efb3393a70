package text

import (
	"strings"
	"testing"

	"echosieve/pipeline/article"
	"echosieve/pipeline/limits"

	"github.com/stretchr/testify/require"
)

func TestCutScripts(t *testing.T) {
	s := testSegmenter(t)
	for text, want := range map[string]string{
		"Ο δήμος της Αλμυρής":          "ο/δημοσ/τησ/αλμυρησ",
		"Der Bürgermeister, 42 Jahre":  "der/ /bürgermeister/42/jahre",
		"l’été d’Étienne 3.5 aujourd’": "l/’/été/d/étienne/3.5/aujourd",
		"오래된 항구 다리를":                   "오래된/항구/다리를",
		"みなと大橋":                        "みな/なと/大桥",
		"て":                            "て",
		"สะพาน":                        "สะ/ะพ/พา/าน",
		"北京 кошка 大学 zr":               "北京/ /кошка/大学/ /zr",
		"٤٫٢ مليون":                    "4.2/ /مليون",
		"नगर परिषद ने":                 "नगर/परिषद/ने",
	} {
		cut := s.Cut(nil, strings.ReplaceAll(strings.ReplaceAll(Clean(text), "ή", "η"), "ί", "ι"), nil)
		require.Equal(t, want, strings.Join(cut, "/"), text)
	}
}

// Cutting other scripts does not change the words of Chinese and English articles.
func TestOtherScriptsDoNotChangeTheRest(t *testing.T) {
	s := testSegmenter(t)
	for _, text := range []string{Clean(zhArticle), Clean(enArticle)} {
		require.Equal(t, s.cut(nil, text, nil), s.Cut(nil, text, nil))
		with := s.Cut(nil, text+"\nпёс", nil)
		require.Equal(t, termsOf(append(s.cut(nil, text, nil), "пёс")), termsOf(with))
	}
}

// Words that no table has weigh by their length and by the square root of their count.
func TestWeightsWithoutTable(t *testing.T) {
	weights := weigh(t, "γάτα γάτα γάτα γάτα ο δήμος κυβερνητικός 다리 кот สะพาน みなと カタログ")
	for word, want := range map[string]float64{
		"γατα": 2 * 5, "δημοσ": 6.5, "κυβερνητικοσ": limits.RareIDF, "다리": 5, "кот": 3.5, "สะ": limits.WeakIDF,
		"みな": limits.WeakIDF, "カタ": limits.WeakIDF,
	} {
		require.InDelta(t, want, weights[word].Weight, 1e-6, word)
	}
}

func TestMainScript(t *testing.T) {
	for text, want := range map[string]article.Script{
		"": article.NoScript, "12.5 % (3)": article.NoScript,
		enArticle: article.Latin, "L’été à Łódź": article.Latin, zhArticle: article.Han,
		"港の新しい桥が完成した": article.Kana, "국제 항만이 열렸다": article.Hangul, "Новый мост открыт": article.Cyrillic,
		"Η νέα γέφυρα": article.Greek, "افتتاح الجسر الجديد": article.Arabic, "הגשר החדש נפתח": article.Hebrew,
		"नया पुल खुल गया": article.Devanagari, "สะพานใหม่เปิดแล้ว": article.Thai, "նոր կամուրջ": article.OtherScript,
		"iPhone 15 在北京发布，售价公布之后排队的人很多": article.Han,
	} {
		require.Equal(t, want.String(), MainScript(Clean(text)).String(), text)
	}
	require.Equal(t, article.Han, MainScript(strings.Repeat("港", 700)+enArticle))
}
