package signature

import (
	"math/bits"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

// flashVersion is the first byte of the signature of a flash. Instead of samples it has a Bloom filter of all words and bigrams:
// they are so few that it tells whether one text contains the other, and hence whether a single name was replaced. An
// estimate cannot tell that.
const flashVersion = 4

// maxFlashBits is the number of bits set up to which a filter tells anything. A word replaced asks for four other bits or six, a
// word put in for two: with 128 of 256 set, one replaced goes unseen in 6 % of cases at most, with 60 in 0.3 %.
const maxFlashBits = 128

// AppendFlash appends the signature of an article of few words, as Append does. words are those that were added.
func (b *Builder) AppendFlash(dst []byte, clean string, words []uint64) []byte {
	raw := [Size]byte{flashVersion, logCount(max(0, len(words)-1))}
	add := func(h uint64) {
		for _, bit := range [2]uint64{h & 255, h >> 8 & 255} {
			raw[minAt+bit/8] |= 1 << (bit % 8)
		}
	}
	for i, w := range words {
		add(simhash.Mix(w))
		if i > 0 {
			add(bigram(words[i-1], w))
		}
	}
	b.numbers(&raw, clean)
	b.Reset()
	return append(dst, raw[:]...)
}

// compareFilters compares the filters of two flashes.
func (c *Comparison) compareFilters(a, b *Signature) {
	na, nb, both := 0, 0, 0
	for i := minAt; i < contextAt; i++ {
		x, y := a.raw[i], b.raw[i]
		na, nb, both = na+bits.OnesCount8(x), nb+bits.OnesCount8(y), both+bits.OnesCount8(x&y)
	}
	if least := min(na, nb); least > 0 && max(na, nb) <= maxFlashBits {
		c.J = float64(both) / float64(na+nb-both)
		c.Containment = float64(both) / float64(least)
	}
}

// judgeFlash decides about two flashes. Only what is added to a text before or after it makes no other text of it: a source, a
// time, a place. With so few words everything else can be the next piece of news.
func judgeFlash(c Comparison, t Thresholds) article.Judgement {
	switch {
	case !c.Known:
		return article.Judgement{Reason: article.ReasonLittle}
	case c.J < t.FlashNear:
		return article.Judgement{Reason: article.ReasonOverlap}
	case c.Contradictions > 0:
		return article.Judgement{Reason: article.ReasonNumbers}
	case c.CommonValues < c.LeastValues:
		return article.Judgement{Reason: article.ReasonValues}
	case c.Containment < 1:
		return article.Judgement{Kind: article.Possible, Reason: article.ReasonLittle}
	}
	return article.Judgement{Kind: article.Near, Reason: article.ReasonOverlap}
}
