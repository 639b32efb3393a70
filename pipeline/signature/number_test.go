package signature

import (
	"testing"

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
		"":                        nil,
		"no number":               nil,
		"1,200 ships":             {12},
		"1200 ships":              {12},
		"1 200 ships":             {1, 2},
		"0.50 or 5":               {5, 5},
		"0 and 000":               {0, 0},
		"1005":                    {1005},
		"march 1, 2006 a":         {1, 2006},
		"2025-11-21":              {20251121},
		"2025/11/21, 9:30":        {20251121, 93},
		"1. 2-3 4 - 5":            {1, 23, 4, 5},
		"\uff11\uff12\uff13a":     {123},
		"eleven of two, one lost": {11, 2},
		"covid19 and 5g":          {5},
		"二〇二四年":                   {2024},
		"二千零二十四年":                 {2024},
		"一百零三人":                   {103},
		"二十五人":                    {25},
		"十二人":                     {12},
		"三千万元和3千万元":               {3, 3},
		"一个和十分":                   nil,
		"3万吨":                     {3},
		"一千零五":                    {1005},
	} {
		require.Equal(t, want, values(text), text)
	}
}

func TestContextIsWhatStandsBefore(t *testing.T) {
	context := func(text string) uint64 {
		n := numbers{text: text}
		require.True(t, n.next(), text)
		return n.context
	}
	require.Equal(t, context("it rose by 5"), context("exports rose by 12"))
	require.NotEqual(t, context("it fell by 5"), context("it rose by 5"))
	require.Equal(t, context("累计新增3例"), context("昨日累计，新增12例"))
	require.NotEqual(t, context("治愈出院3例"), context("累计新增3例"))
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
