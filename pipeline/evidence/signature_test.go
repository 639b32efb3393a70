package evidence

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/simhash"
)

// words is a simple segmentation for tests.
func words(text string) []uint64 {
	var list []uint64
	for _, w := range strings.Fields(text) {
		list = append(list, simhash.Hash(w))
	}
	return list
}

func build(b *Builder, text string) []byte {
	b.Add(words(text))
	b.AddNumbers(text, 0)
	return b.Append(nil)
}

func decoded(t testing.TB, raw []byte) Signature {
	s, ok := Decode(raw)
	require.True(t, ok)
	return s
}

func of(t testing.TB, text string) Signature {
	return decoded(t, build(new(Builder), text))
}

func newArticle(r *rand.Rand, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26)))
	}
	return list
}

func seeded(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

const golden = "0d40a43700d4fe053c082cea840c094746ac48b3298e80e34bba80affe2893fa" +
	"0000000000100cc15e000000000000b00000d0f80f0000d001000000108062c7937d99bbc600000000000000000000000000000000000000"

// Signatures are stored. If this test fails, raise the version.
func TestGolden(t *testing.T) {
	var b Builder
	text := "the port handled 1,200 ships in 2025 and eleven ferries, 3.5 percent more than in 2024"
	require.Equal(t, golden, hex.EncodeToString(build(&b, text)))
}

// Years and telephone numbers are no evidence of a copy. A year in the same context is evidence against one.
func TestConstantNumbers(t *testing.T) {
	const office = "the office on the northern quay, founded in 1998, is at 020 7946 0958 and 010-65432198. "
	x, y := of(t, office+"a ferry carries 340 people"), of(t, office+"the bridge has 76 metres")
	c := Compare(&x, &y)
	require.Equal(t, 1, c.SharedContexts)
	require.Equal(t, 1, c.LeastValues)
	require.Zero(t, c.CommonValues)
	z := of(t, strings.Replace(office, "1998", "1997", 1))
	c = Compare(&x, &z)
	require.Equal(t, 1, c.Contradictions)

	for value, want := range map[uint64]bool{1899: false, 1901: true, 2025: true, 2101: false, 202: false} {
		require.Equal(t, want, isYear(value), value)
	}
}

// A signature depends neither on the pieces in which the words were added nor on the articles before.
func TestWordsMayBeAddedInPieces(t *testing.T) {
	r := seeded(t)
	text := strings.Join(newArticle(r, 200), " ")
	var b Builder
	want := build(&b, text)
	for range 100 {
		b.Add(words("given up"))
		b.Reset()
		for rest := words(text); len(rest) > 0; {
			n := r.IntN(min(5, len(rest)) + 1)
			b.Add(rest[:n])
			rest = rest[n:]
		}
		b.AddNumbers(text, 0)
		require.Equal(t, want, b.Append(nil))
	}
}

func TestNoAllocations(t *testing.T) {
	text := strings.Repeat("exports rose 12 percent to 345 billion ", 50)
	list, dst := words(text), make([]byte, 0, Size)
	var b Builder
	build(&b, text)
	rule := Rule{Thresholds: DefaultThresholds()}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		b.Add(list)
		b.AddNumbers(text, 0)
		s, _ := Decode(b.Append(dst))
		_ = rule.Judge(0, Compare(&s, &s))
	}))
}

func FuzzDecode(f *testing.F) {
	var b Builder
	f.Add([]byte{}, build(&b, "a 1 b 2"))
	f.Add(build(&b, "a 1 b 2"), buildFlash(&b, "a 1 b 2"))
	f.Add(buildFlash(&b, "a 1 b 2"), buildFlash(&b, "a 1 b 2 c"))
	f.Fuzz(func(t *testing.T, x, y []byte) {
		a, ok := Decode(x)
		c, ok2 := Decode(y)
		got := Compare(&a, &c)
		back := mirrored(Compare(&c, &a))
		// what is said of the later article alone
		back.NewLead, back.NewNumber, back.Correction = got.NewLead, got.NewNumber, got.Correction
		if got != back {
			t.Fatalf("not mirrored: %+v, %+v", got, back)
		}
		if got.Known != (ok && ok2) || !(got.J >= 0 && got.J <= 1) ||
			!(got.Containment >= 0 && got.Containment <= 1) {
			t.Fatalf("%+v", got)
		}
		if !got.Known && judge(0, got).Kind != 0 {
			t.Fatal("a match without information")
		}
	})
}

// The beginning of either text is searched for in all of the other text.
func TestLead(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	words := func(n int) []uint64 {
		list := make([]uint64, n)
		for i := range list {
			list[i] = r.Uint64()
		}
		return list
	}
	sign := func(parts ...[]uint64) Signature {
		var b Builder
		for _, words := range parts {
			b.Add(words)
		}
		return decoded(t, b.Append(nil))
	}
	small, one, two := words(200), words(22), words(22)
	a := sign(one, small)
	for name, c := range map[string]struct {
		other  Signature
		common bool
	}{
		"the same":              {sign(one, small), true},
		"something before it":   {sign(two, one, small), true},
		"moved":                 {sign(small, one), true},
		"another text above it": {sign(two, small), false},
		"other texts":           {sign(two, words(200)), false},
	} {
		got := Compare(&a, &c.other)
		require.Equal(t, c.common, got.Lead >= DefaultThresholds().Possible, "%s: %v", name, got.Lead)
		back := mirrored(Compare(&c.other, &a))
		require.Equal(t, name == "something before it", back.NewLead, name)
		require.False(t, got.NewLead, name)
		back.NewLead = false
		require.Equal(t, got, back, name)
	}
	long, other := sign(one, words(3000)), sign(two, words(3000))
	require.InDelta(t, 1, Compare(&long, &other).Lead, 0, "too few samples")
	require.False(t, Compare(&a, &long).SameLead, "too few samples")

	for name, c := range map[string]struct {
		page     Signature
		sameLead bool
	}{
		"page 1":      {sign(one, small[:80]), true},
		"page 2":      {sign(small[80:]), false},
		"other words": {sign(two, small[:80]), false},
		"equal":       {a, false},
	} {
		require.Equal(t, c.sameLead, Compare(&a, &c.page).SameLead, name)
		require.Equal(t, c.sameLead, Compare(&c.page, &a).SameLead, name)
	}
}

// withMainWords signs a text with main words, of which the first ones are subjects.
func withMainWords(t *testing.T, subjects int, words ...uint64) Signature {
	var b Builder
	b.Add([]uint64{1, 2, 3})
	for i, w := range words {
		times := int32(1)
		if i < subjects {
			times = 2
		}
		b.AddMainWord(w, times)
	}
	return decoded(t, b.Append(nil))
}

func TestOtherSubject(t *testing.T) {
	sign := func(subjects int, words ...uint64) Signature { return withMainWords(t, subjects, words...) }
	a := sign(2, 1, 2, 3, 4, 5, 6, 7, 8)
	for name, c := range map[string]struct {
		other Signature
		want  bool
	}{
		"itself":                    {a, false},
		"another order":             {sign(2, 8, 7, 6, 5, 4, 3, 2, 1), false},
		"one subject each":          {sign(2, 1, 11, 3, 4, 5, 6, 7, 8), true},
		"both subjects":             {sign(2, 11, 12, 3, 4, 5, 6, 7, 8), true},
		"a word of only one":        {sign(2, 1, 2, 11, 12, 13, 14, 15, 16), false},
		"a ninth word":              {sign(2, 11, 3, 4, 5, 6, 7, 8, 1, 2), true},
		"no subject":                {sign(0, 11, 12, 13, 14, 15, 16, 17, 18), false},
		"no main words":             {sign(2), false},
		"fewer words, all the same": {sign(2, 2, 1), false},
	} {
		require.Equal(t, c.want, Compare(&a, &c.other).OtherSubject, name)
		require.Equal(t, c.want, Compare(&c.other, &a).OtherSubject, name)
	}
}

func TestMainWords(t *testing.T) {
	sign := func(words ...uint64) Signature { return withMainWords(t, 0, words...) }
	a := sign(1, 2, 3, 4, 5, 6, 7, 8)
	for name, c := range map[string]struct {
		other        Signature
		sameForemost bool
		otherMain    int
	}{
		"itself":              {a, true, 0},
		"the five later":      {sign(11, 12, 13, 5, 4, 3, 2, 1), true, 3},
		"one of them missing": {sign(6, 7, 8, 11, 1, 2, 3, 4), false, 1},
		"three words":         {sign(8, 7, 6), true, 0},
	} {
		for _, compared := range []Comparison{Compare(&a, &c.other), Compare(&c.other, &a)} {
			require.Equal(t, c.sameForemost, compared.SameForemost, name)
			require.Equal(t, c.otherMain, compared.OtherMain, name)
		}
	}
}

// mirrored is the comparison with the two articles exchanged.
func mirrored(c Comparison) Comparison {
	c.Contained, c.Contains = c.Contains, c.Contained
	c.Publishers[0], c.Publishers[1] = c.Publishers[1], c.Publishers[0]
	return c
}

// A text that goes on about its subject has its main words more often than its part; a round-up has not.
func TestLongerAndGrowth(t *testing.T) {
	sign := func(words int, times ...int32) Signature {
		var b Builder
		for i := range words {
			b.Add([]uint64{simhash.Mix(uint64(i))})
		}
		for i, n := range times {
			b.AddMainWord(uint64(i), n)
		}
		return decoded(t, b.Append(nil))
	}
	part, whole, roundUp := sign(100, 4, 2, 1, 1), sign(200, 8, 5, 2, 1), sign(200, 4, 2, 1, 1)
	require.InDelta(t, 2, Compare(&part, &whole).Longer, .1)
	require.InDelta(t, 1, Compare(&whole, &whole).Longer, 0)
	require.InDelta(t, 1, Compare(&part, &whole).Growth, .2)
	require.InDelta(t, 1, Compare(&whole, &part).Growth, .2)
	require.InDelta(t, 0, Compare(&part, &roundUp).Growth, 0)
	strange := sign(200)
	require.InDelta(t, 0, Compare(&part, &strange).Growth, 0)
}

// Numbers near the beginning are version numbers, also where the rest has none.
func TestNumbersOfTheVersion(t *testing.T) {
	body := " the ministry of transport said on behalf of all of the harbours of the country that 17 ships with " +
		"230 containers waited for 9 pilots"
	one, two := of(t, "update 1 at 14:05"+body), of(t, "update 2 at 15:40"+body)
	c := Compare(&one, &two)
	require.Equal(t, 0, c.Contradictions)
	require.Positive(t, c.HeadContradictions)
	require.Equal(t, c.LeastValues, c.CommonValues)
	require.Less(t, c.CommonAll, c.LeastAll)
	require.False(t, c.SameValues)

	none := " the ministry of transport said on behalf of all of the harbours of the country that many ships waited"
	one, two = of(t, "update 1 at 14:05"+none), of(t, "update 2 at 15:40"+none)
	c = Compare(&one, &two)
	require.Zero(t, c.Contradictions)
	require.Positive(t, c.HeadContradictions)
	require.Zero(t, c.LeastValues)
}
