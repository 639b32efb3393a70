package evidence

import (
	"echosieve/pipeline/article"
	"echosieve/pipeline/limits"
)

// likeness describes two articles of which one is a copy, or a possible copy, of the other.
func (e evidence) likeness() article.Likeness {
	l := article.Likeness{
		Relation:   e.relation(),
		Similarity: article.NewShare(e.J), Contained: article.NewShare(e.Contained),
		Contains: article.NewShare(e.Contains),
	}
	if e.revises(l.Relation) {
		l.Relation = article.Revises
	}
	return l
}

// relation follows from the shares alone.
//
// Example: the later article lacks a sentence. All of its own word pairs are in the earlier article, and 0.93
// of the earlier article's are in it: it has 0 of its own, the earlier one 0.07, so it is contained. If both
// shares are 0.93, words were replaced: they overlap.
func (e evidence) relation() article.Relation {
	contained, contains := e.Contained, e.Contains
	own, lacks := 1-contained, 1-contains
	switch {
	case e.beginning && own < lacks:
		return article.Contained
	case e.beginning:
		return article.Extends
	case contained >= e.Limits.Contained && own < lacks && 2*own <= lacks:
		return article.Contained
	case contains >= e.Limits.Contained && lacks < own && 2*lacks <= own:
		return article.Extends
	case min(contained, contains) >= limits.EqualShare:
		return article.Equal
	default:
		return article.Overlaps
	}
}

// revises tells whether the articles are nearly the same but for one number, which the rule forgives: it
// differs in its place, or it is missing and neither text is longer. A number that is missing in a part of a
// text was cut off with it.
func (e evidence) revises(r article.Relation) bool {
	return e.forgiven && e.J >= e.Corrected && (e.Contradictions > 0 || r == article.Equal || r == article.Overlaps)
}
