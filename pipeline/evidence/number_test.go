package evidence

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

func values(text string) []uint64 {
	var list []uint64
	for n := (numbers{text: text}); n.next(); {
		list = append(list, n.value)
	}
	return list
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string][]uint64{
		"":                             nil,
		"no number":                    nil,
		"1,200 ships":                  {12},
		"1200 ships":                   {12},
		"1 200 ships":                  {12},
		"0.50 or 5":                    {5, 5},
		"0 and 000":                    {0, 0},
		"1005":                         {1005},
		"march 1, 2006 a":              {12006},
		"march 1 2006 a":               {12006},
		"十四届三次会议":                      {14, 3},
		"两次和二月三日":                      {2, 2, 3},
		"一次，三个，二话不说":                   nil,
		"十次":                           nil,
		"eleven of two, one lost":      {11, 2},
		"covid19 and 5g":               {5},
		"二〇二四年":                        {2024},
		"二千零二十四年":                      {2024},
		"一百零三人":                        {103},
		"二十五人":                         {25},
		"十二人":                          {12},
		"三千万元和3千万元":                    {3, 3},
		"一个和十分":                        nil,
		"3万吨":                          {3},
		"一千零五":                         {1005},
		"one billion or 1,000,000,000": {1},
		"one hundred and one more":     nil,
		"10亿 and 十亿元":                  {1, 1},
		"5.8亿, 580 million":            {58, 58},
		"two thirds, two-thirds, 2/3a": {2, 2, 23},
		"one third of one lot":         nil,
		"one-half":                     nil,
		"一部分之后":                        nil,
	} {
		require.Equal(t, want, values(text), text)
	}
}

func TestFrequentHanCharacters(t *testing.T) {
	for r := rune(0x5000); r < 0xa000; r++ {
		digit, unit := chineseNumeral(r)
		require.Equal(t, digit >= 0 || unit > 0, isNumeral(r), "%c", r)
		require.True(t, isHan(r))
	}
}

func TestContextIsWhatStandsBefore(t *testing.T) {
	context := func(text string) uint64 {
		n := numbers{text: text}
		require.True(t, n.next(), text)
		return n.context
	}
	require.Equal(t, context("exports rose by 5"), context("it says: imports rose by 12"))
	require.NotEqual(t, context("exports fell by 5"), context("exports rose by 5"))
	require.Equal(t, context("累计新增3例"), context("昨日累计，新增12例"), "three characters count")
	require.NotEqual(t, context("治愈出院3例"), context("累计新增3例"))
}

// Exact copies have the same normalised text, which has no punctuation. Their numbers must not contradict each other.
func TestPunctuationDoesNotMatter(t *testing.T) {
	facts := func(text string) (list [][2]uint64) {
		for n := (numbers{text: text}); n.next(); {
			list = append(list, [2]uint64{n.context, n.value})
		}
		return list
	}
	const text = "on march 1, 2006 the u.s. sold 1,200.50 tons (3.5%), up 20 - 30 from 2005; " +
		"截至 4 月 1 日，累计 12,345 例。"
	bare := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == ' ' {
			return r
		}
		return -1
	}, text)
	require.Equal(t, facts(text), facts(bare))
	require.Greater(t, len(facts(bare)), 5)
}

func FuzzNumbers(f *testing.F) {
	f.Add("1,200 ships, 二千零二十四 and \uff11.5 two")
	f.Fuzz(func(t *testing.T, text string) {
		n, last := numbers{text: text}, 0
		for n.next() {
			if n.pos <= last || n.pos > len(text) {
				t.Fatalf("at %d after %d", n.pos, last)
			}
			if n.value != 0 && n.value%10 == 0 && len(text) < 15 {
				t.Fatalf("trailing zero in %d", n.value)
			}
			last = n.pos
		}
	})
}

// Telephone numbers neither agree nor contradict.
func TestTelephoneNumbers(t *testing.T) {
	compare := func(one, other string) Comparison {
		a, b := of(t, one), of(t, other)
		return Compare(&a, &b)
	}
	c := compare("the harbour office said last night that 12 ships left port, call 202/224-5641",
		"the harbour office said last night that 12 ships left port, call 202-224-5344")
	require.Equal(t, []int{1, 0, 1, 1}, []int{c.SharedContexts, c.Contradictions, c.LeastValues, c.CommonValues})
	c = compare("some ships left port, call 010 6552 1234", "some ships left port, call 010 6552 9999")
	require.Equal(t, []int{0, 0, 0, 0}, []int{c.SharedContexts, c.Contradictions, c.LeastValues, c.CommonValues})
	c = compare("the harbour office said some ships left at 123 456 789",
		"the harbour office said some ships left at 987 654 321")
	require.Equal(t, 1, c.Contradictions, "nine digits are an amount")
}
