package signature

import "echosieve/pipeline/article"

const (
	// equalShare is the share of each text that the other must have if neither counts as having words of its own. A source line in an
	// article of 300 words is 3 % of it, and lengths are known to about 2 %.
	equalShare = 0.95
	// ownWords is how many times as much of its own the longer text must have if it counts as the shorter text with more: a text of 300
	// word pairs without a sentence of 20 has next to none of its own. Of two texts in which words were replaced, each has about as much.
	ownWords = 2
)

// likeness describes two articles of which one is a copy, or a possible copy, of the other.
func (c *Comparison) likeness() article.Likeness {
	l := article.Likeness{
		Relation:   c.relation(),
		Similarity: article.NewShare(c.J), Contained: article.NewShare(c.Contained), Contains: article.NewShare(c.Contains),
	}
	if c.corrected(l.Relation) {
		l.Relation = article.Revises
	}
	return l
}

// relation follows from the shares alone.
//
// Example: the later article lacks a sentence. All of its own word pairs are in the earlier article, and 0.93 of the earlier article's
// are in it: it has 0 of its own, the earlier one 0.07, so it is contained. If both shares are 0.93, words were replaced: they overlap.
func (c *Comparison) relation() article.Relation {
	own, lacks := 1-c.Contained, 1-c.Contains
	switch {
	case c.beginningOf() && own < lacks:
		return article.Contained
	case c.beginningOf():
		return article.Extends
	case c.Contained >= ContainedShare && own < lacks && ownWords*own <= lacks:
		return article.Contained
	case c.Contains >= ContainedShare && lacks < own && ownWords*lacks <= own:
		return article.Extends
	case min(c.Contained, c.Contains) >= equalShare:
		return article.Equal
	default:
		return article.Overlaps
	}
}

// corrected tells whether the articles are nearly the same but for one number, which the rule forgives: it differs in its place, or it is
// missing and neither text is longer. A number that is missing in a part of a text was cut off with it.
func (c *Comparison) corrected(r article.Relation) bool {
	if c.Flash || c.J < sure {
		return false
	}
	contradictions, common := c.forgiven(c.Bigrams < ShortPairs)
	return contradictions < c.Contradictions || common > c.CommonValues && (r == article.Equal || r == article.Overlaps)
}
