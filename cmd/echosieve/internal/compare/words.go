package compare

import (
	"cmp"
	"slices"

	"echosieve/app/inquiry"
	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/text"
)

// comparison is the result of the command. Its JSON names must not change.
type comparison struct {
	inquiry.Comparison
	Words      []comparedWord `json:"words"` // heaviest first
	TotalWords int            `json:"total_words"`
	OnlyA      []string       `json:"only_in_a"` // words, heaviest first; --top does not cut this list
	OnlyB      []string       `json:"only_in_b"`
}

// comparedWord is a word of either text. A weight of 0 means that the text does not have it.
type comparedWord struct {
	Word    string  `json:"word"`
	IDF     float64 `json:"idf"`
	CountA  int     `json:"count_a"`
	CountB  int     `json:"count_b"`
	WeightA float64 `json:"weight_a"`
	WeightB float64 `json:"weight_b"`
}

// compareTexts compares two texts of one origin as the service does, and keeps every intermediate result.
func compareTexts(made *recipe.Recipe, judge *inquiry.Judge, a, b *inquiry.Article) comparison {
	judge.Fingerprint(a)
	judge.Fingerprint(b)
	from := article.Origin{Publisher: a.Publisher}
	c := comparison{Comparison: judge.Compare(a, b, false), OnlyA: []string{}, OnlyB: []string{},
		Words: compareWords(made.Weights(a.Text, from), made.Weights(b.Text, from))}
	c.Changes = inquiry.WhatIsNew(a, b)
	c.TotalWords = len(c.Words)
	for _, w := range c.Words {
		switch {
		case w.CountB == 0:
			c.OnlyA = append(c.OnlyA, w.Word)
		case w.CountA == 0:
			c.OnlyB = append(c.OnlyB, w.Word)
		}
	}
	return c
}

// compareWords joins the words of two texts, ordered by the larger of their two weights.
func compareWords(a, b []text.WeightedWord) []comparedWord {
	words := make([]comparedWord, 0, len(a)+len(b))
	at := make(map[string]int, len(a)+len(b))
	for _, w := range a {
		at[w.Word] = len(words)
		words = append(words, comparedWord{Word: w.Word, IDF: w.IDF, CountA: w.Count, WeightA: w.Weight})
	}
	for _, w := range b {
		i, both := at[w.Word]
		if !both {
			i = len(words)
			words = append(words, comparedWord{Word: w.Word, IDF: w.IDF})
		}
		words[i].CountB, words[i].WeightB = w.Count, w.Weight
	}
	slices.SortFunc(words, func(x, y comparedWord) int {
		return cmp.Or(
			cmp.Compare(max(y.WeightA, y.WeightB), max(x.WeightA, x.WeightB)),
			cmp.Compare(x.Word, y.Word))
	})
	return words
}
