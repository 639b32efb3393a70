package classic

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/simhash"
)

// The example of yanyiwu/simhash, README and example/demo.cpp.
const lanxiang = "我是蓝翔技工拖拉机学院手扶拖拉机专业的。不用多久，我就会升职加薪，当上总经理，出任CEO，走上人生巅峰。"

func TestPublishedYanyiwu(t *testing.T) {
	e := testExtractor(t, "classic-yanyiwu")
	fp, features := e.Fingerprint(lanxiang)
	require.Equal(t, uint64(17831459094038722629), uint64(fp))
	require.Equal(t, 5, features)

	var words []string
	for _, w := range e.Weights(lanxiang) {
		words = append(words, w.Text)
	}
	require.Equal(t, []string{"蓝翔", "CEO", "升职", "加薪", "手扶拖拉机"}, words)
	require.InDelta(t, 11.7392, e.Weights(lanxiang)[0].Weight, 1e-4)
	require.InDelta(t, 10.0089, e.Weights(lanxiang)[4].Weight, 1e-4)
}

// jiebaR has the same code in R; issue 66 there shows a value and a distance, both with five keywords.
func TestPublishedJiebaR(t *testing.T) {
	e := testExtractor(t, "classic-yanyiwu")
	a, _ := e.Fingerprint("SimHash is a technique for quickly detect near duplicates")
	b, _ := e.Fingerprint("Simhash detects near duplicates and not exact duplicates")
	require.Equal(t, uint64(12382334418040220206), uint64(a))
	require.Equal(t, 22, simhash.Distance(a, b))
}

// Values from the tests of the Python package, which make words of four characters of plain text.
func TestPublishedPython(t *testing.T) {
	python := func(counts ...string) simhash.Fingerprint {
		var words []Word
		for _, w := range counts {
			words = append(words, Word{Text: w, Weight: 1, Hash: md5Low(w)})
		}
		return Sum(words)
	}
	require.Equal(t, uint64(57087923692560392), uint64(python("aaa", "bbb")))

	fours := func(s string) (out []string) {
		for i := range len(s) - 3 {
			out = append(out, s[i:i+4])
		}
		return out
	}
	a := python(fours("howareyouiamfinethanksandyou")...)
	b := python(fours("howoldareyouiamfinethanksandyou")...)
	require.Equal(t, 7, simhash.Distance(a, b))
}

// Values that the authors of the hashes give: lookup3.c, and RFC 9923 for FNV.
func TestPublishedHashes(t *testing.T) {
	require.Equal(t, uint64(0x17770551ce7226e6), jenkins("Four score and seven years ago"))
	require.Equal(t, uint64(0xdeadbeefdeadbeef), jenkins(""))
	require.Equal(t, uint64(0xcbf29ce484222325), fnv1a(""))
	require.Equal(t, uint64(0xaf63dc4c8601ec8c), fnv1a("a"))
	require.Equal(t, uint64(0x85944171f73967e8), fnv1a("foobar"))
	require.Equal(t, uint64(0xd6963f7d28e17f72), md5Low("abc")) // RFC 1321: 900150983cd24fb0d6963f7d28e17f72
}
