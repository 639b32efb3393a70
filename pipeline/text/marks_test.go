package text

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
)

func TestEverywhere(t *testing.T) {
	fold := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r < firstEverywhere || r > lastEverywhere {
				return r
			}
			if r = foldEverywhere(r); r == 0 {
				return -1
			}
			return r
		}, s)
	}
	for text, want := range map[string]string{
		"أحمد إلى آخر ٱلكتاب":      "احمد الي اخر الكتاب",
		"مُحَمَّدٌ رسولٌ":          "محمد رسول",
		"مدرسة على":                "مدرسه علي",
		"کتاب فارسی":               "كتاب فارسي",
		"مؤتمر رئيس":               "موتمر رييس",
		"العـــربية":               "العربيه",
		"نیۀ خانهٔ":                "نيه خانه",
		"שָׁלוֹם":                  "שלום",
		"דו־קיום, צה״ל":            "דו־קיום, צה״ל",
		"۱۲ ٪، چرا؟ گفت پ ژ ڈ ٹ ڑ": "۱۲ ٪، چرا؟ گفت پ ژ ڈ ٹ ڑ",
	} {
		require.Equal(t, want, fold(text))
		require.Equal(t, want, fold(norm.NFD.String(text)), "however the text is composed")
		require.Equal(t, want, fold(want), "folding again changes nothing")
	}
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"żółty łoś, đặng ấy, ılık çiğ":    "zolty los, dang ay, ilik cig",
		"straße, æon, œuvre, þing, ẹ́kọ́": "strasse, aeon, oeuvre, thing, eko",
		"η νέα γέφυρα, ὦ ἄνδρεσ":          "η νεα γεφυρα, ω ανδρεσ",
		"ещё ёлка, мой йод, їжак, ґанок":  "еще елка, мой йод, їжак, ганок",
		"за\u0301мок": "замок",
		"सड़क, ख़बर, हँसना": "सडक, खबर, हंसना",
		"বাড়ি":     "বাডি",
		"港の新しい橋が":   "港の新しい橋が",
		"สะพานใหม่": "สะพานใหม่",
		"":          "",
	} {
		text = norm.NFC.String(text)
		require.Equal(t, norm.NFC.String(want), string(AppendPlain(nil, text)))
		plain, _ := Plain(nil, text)
		require.Equal(t, norm.NFC.String(want), plain)
		again, _ := Plain(nil, plain)
		require.Equal(t, plain, again, "folding again changes nothing")
	}
}

// Only a text with two frequent words of such a language, and without a letter beyond ASCII, is written in seven bits.
func TestSevenBits(t *testing.T) {
	for text, want := range map[string]string{
		"die groesste bruecke fuer neue quader wuerde teuer": "die grosste brucke fur neue quader wurde teuer",
		"paa skibet, naar de goer":                           "pa skibet, nar de gor",
		"the value does wuerde not rise":                     "the value does wuerde not rise",
		"fuer die bruecke wuerde in córdoba":                 "fuer die bruecke wuerde in cordoba",
	} {
		plain, _ := Plain(nil, text)
		require.Equal(t, want, plain)
	}
}

// The text of most articles is not copied.
func TestPlainKeepsPlainText(t *testing.T) {
	text := "市气象台发布“橙色”预警，最大雨强80.5毫米。 " +
		"The council – “yes” – approved $4,000 in 2024."
	buf := make([]byte, 0, 2*len(text))
	copies := func(text string) float64 { return testing.AllocsPerRun(10, func() { Plain(buf, text) }) }
	require.Zero(t, copies(text))
	require.NotZero(t, copies(text+"é"))
}
