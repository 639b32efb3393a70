package evidence

import (
	"slices"

	"echosieve/pipeline/article"
	"echosieve/pipeline/limits"
)

// Judge decides about two articles whose fingerprints are distance bits apart, which must be within the
// recipe's maximal distance. The zero Kind means different articles, also where a signature holds no
// information.
//
// Example with the default limits: the articles have a similarity of 0.4 and are not short. This is below
// Near, so they are possible copies. If both have the same five numbers and the same foremost main words,
// Possible is enough, and they are copies.
//
// More difference never makes a stronger verdict: each row that applies, and each need that is there, does so with
// more differences as well, or a stricter one does. A placeholder under two titles is the exception.
func (r *Rule) Judge(distance int, c Comparison) article.Judgement {
	row, e := r.decide(distance, c)
	if row == nil {
		return article.Judgement{Reason: article.ReasonUnknown}
	}
	j := article.Judgement{Kind: row.Kind, Reason: row.Reason}
	if j.Kind != 0 {
		j.Likeness = e.likeness()
		j.Corrects = e.corrected()
	}
	return j
}

// Explain returns the row that decides about two articles, the figure beyond the limit, and for an overlap
// the evidence by which the limit was chosen. The row is nil if a signature holds no information.
func (r *Rule) Explain(distance int, c Comparison) (row *Row, decided Figure, with string) {
	row, e := r.decide(distance, c)
	if row == nil {
		return nil, Figure{}, ""
	}
	if row.Kind != 0 && row.Reason == article.ReasonOverlap {
		with = e.needed().With
	}
	return row, row.figure(e), with
}

// Asked is what a row measures, beside its limit, and what the row said.
type Asked struct {
	Figure
	State string `json:"state"`
}

// The values of Asked.State. A row that decides ends the rule, so those behind it are not asked.
const (
	Passed   = "passed"
	Decided  = "decided"
	NotAsked = "not asked"
)

// Figures returns what each row measures, in their order. A figure with two limits stands there once, with the limit
// that decides or else the first. It is empty if a signature holds no information.
func (r *Rule) Figures(distance int, c Comparison) (list []Asked) {
	decider, e := r.decide(distance, c)
	switch decider {
	case nil:
		return nil
	case &neverRow:
		return []Asked{{neverRow.figure(e), Decided}}
	}
	state := Passed
	for i := range rows {
		if &rows[i] == decider {
			state = Decided
		}
		f := rows[i].figure(e)
		same := func(a Asked) bool { return a.Name == f.Name }
		if state == Decided {
			list = slices.DeleteFunc(list, same)
		}
		if !slices.ContainsFunc(list, same) {
			list = append(list, Asked{f, state})
		}
		if state == Decided {
			state = NotAsked
		}
	}
	return list
}

// decide returns the first row that applies, nil if nothing can be compared.
func (r *Rule) decide(distance int, c Comparison) (*Row, evidence) {
	e := r.evidence(distance, c)
	switch {
	case !c.Known:
		return nil, e
	case r.Never.apart(&c):
		return &neverRow, e
	}
	for i := range rows {
		if r.Off.Rows>>i&1 == 0 && rows[i].applies(e) {
			return &rows[i], e
		}
	}
	return &rows[len(rows)-1], e
}

// evidence is what the rule knows of two articles.
type evidence struct {
	*Rule
	Comparison
	distance int
	// short tells that one of the texts has few word pairs; it is false for flashes.
	short bool
	// alike tells that the texts are nearly the same but for a number.
	alike bool
	// beginning tells that the shorter text is the beginning of the longer one, part that it is a part of it.
	beginning, part bool
	// restated and retold tell that neither text is a part of the other, both have the same numbers, and most
	// main words: an editor rewrote the article. Different reports of one event differ in a number, and so do
	// reports on one template.
	restated, retold bool
	// vouched tells that all numbers of one text are in the other, if it has any.
	vouched bool
	counted
}

// counted are the numbers of two articles, after the pardon that is there. differ counts those that differ in places
// that both have, of all such places. common counts the numbers in common. In both, one number that is forgiven counts
// as equal.
type counted struct {
	differ, places, common int
	forgiven               bool
}

func (r *Rule) evidence(distance int, c Comparison) evidence {
	e := evidence{Rule: r, Comparison: c, distance: distance}
	e.differ, e.places, e.common = c.Contradictions+c.HeadContradictions, c.SharedContexts+c.HeadContradictions,
		c.CommonValues
	if c.Flash {
		return e
	}
	e.short, e.alike = c.Bigrams < limits.ShortPairs, c.J >= limits.Corrected
	e.beginning = c.SameLead && c.Longer >= limits.Longer && c.Containment >= limits.Beginning
	e.part = c.Longer >= limits.Longer && (c.Containment >= limits.Contained || e.beginning)
	if same := !e.short && c.Longer < limits.Longer && c.SameValues; same {
		e.retold = c.CommonAll >= limits.Numbers && c.OtherMain <= limits.OtherWords
		e.restated = c.CommonAll > 1 && c.SameForemost && c.Contradictions == 0
	}
	// Version numbers, such as a date or a counter, stand at the beginning of a text. A version number that differs
	// is no evidence against a copy if one text is a part of the other, or the texts are nearly the same.
	if e.alike || e.part {
		e.differ, e.places = c.Contradictions, c.SharedContexts
	}
	for i := range pardons {
		if r.Off.Pardons>>i&1 == 0 && pardons[i].there(e) {
			e.counted = pardons[i].grant(e.counted)
			break
		}
	}
	e.vouched = e.differ == 0 && !e.forgiven && c.CommonAll == c.LeastAll
	return e
}

// missing is how many numbers of the text with fewer of them are not in the other one.
func (c *Comparison) missing() int { return c.LeastValues - c.CommonValues }

// corrects tells whether one number in a place may be a correction: other places agree, and so do the foremost main
// words. Where a name differs as well, it is another report. A short text proves too little.
func (e evidence) corrects() bool {
	return e.differ > 0 && e.places > e.differ && !e.short && e.SameForemost
}

// least is the similarity below which articles are different.
func (e evidence) least() float64 {
	return min(e.Possible, e.needed().similarity(e))
}

// leastValues is the share of numbers that copies have in common. With so few words, any number can be the news.
func (e evidence) leastValues() float64 {
	if e.Flash {
		return 1
	}
	return e.Values
}

// similarity is what a copy needs most of: word pairs in common; of a flash, all of its words in the other one.
func (c *Comparison) similarity() float64 {
	if c.Flash {
		return c.Containment
	}
	return c.J
}

// onSubject tells whether the longer text is about the subject of its part: nearly all main words are the
// same, or most, and it has them more often than its part. The other articles of a round-up, and what a site
// tells around an article, do not have them. A short text has its main words once or twice, so how often says
// something only if it is the beginning.
func (e evidence) onSubject() bool {
	return e.OtherMain < limits.OtherWords ||
		(!e.short || e.beginning) && e.OtherMain <= limits.MainWords-limits.OtherWords &&
			e.Growth >= limits.Growth*(e.Longer-1)
}

// otherSubject tells whether the texts are about different things, and neither is a part that stays with its subject.
func (e evidence) otherSubject() bool { return e.OtherSubject && (!e.part || !e.onSubject()) }

// footer tells whether the later text has a short one of another publisher below a beginning of its own: what somebody
// published alone may be the end of each article of a publisher.
func (e evidence) footer() bool {
	return e.short && e.NewLead && e.Longer >= limits.Longer && e.TwoPublishers
}

// placeholder tells whether a publisher put one short text under two titles, such as "will be updated".
func (e evidence) placeholder() bool {
	return e.house() && e.OtherTitle && (e.Flash || e.short) && 1-e.J <= hardlyAdded
}

// otherNews tells whether two texts under two titles, neither a part of the other, are about other words: of the
// foremost main words of each, the other lacks one.
func (e evidence) otherNews() bool { return e.OtherTitle && !e.SameForemost && !e.Flash && !e.part }

// mostAdded is the share of new word pairs with which a publisher sends a report again. Later than after a day and a
// half, a text on the same form is another report, and where a number, the beginning or the subject is new, that is the
// news. In a short text, one new sentence is.
func (e evidence) mostAdded() float64 {
	if e.newNumber() || !e.soon() || e.otherNews() || !e.Flash && e.Lead <= halfLead {
		return hardlyAdded
	}
	if e.short { // it brings something new unless the earlier one contains it
		return 1 - limits.Contained
	}
	return limits.Added
}

// hardlyAdded is the share of new word pairs up to which two texts are the same but for a number or a name.
const hardlyAdded = limits.Added / 5

// backed is the similarity of a copy for which something else speaks.
func (e evidence) backed() float64 { return min(e.Near, limits.Possible) }

// needed returns the need that counts.
func (e evidence) needed() *Need {
	for i := range needs {
		if e.Off.Needs>>i&1 == 0 && needs[i].there(e) {
			return &needs[i]
		}
	}
	return &needs[len(needs)-1]
}

// likeness describes two articles of which one is a copy, or a possible copy, of the other.
func (e evidence) likeness() article.Likeness {
	l := article.Likeness{
		Relation:   e.relation(),
		Similarity: article.NewShare(e.J), Contained: article.NewShare(e.Contained),
		Contains: article.NewShare(e.Contains),
	}
	if e.corrected() || e.revises(l.Relation) {
		l.Relation = article.Revises
	}
	return l
}

// relation follows from the shares alone.
//
// Example: the later article lacks a sentence. All of its own word pairs are in the earlier article, and 0.93
// of the earlier article's are in it: it has 0 of its own, the earlier one 0.07, so it is contained. If both
// shares are 0.85, words were replaced: they overlap.
func (e evidence) relation() article.Relation {
	contained, contains := e.Contained, e.Contains
	own, lacks := 1-contained, 1-contains
	switch {
	case e.beginning && own < lacks:
		return article.Contained
	case e.beginning:
		return article.Extends
	case contained >= limits.Contained && own < lacks && 2*own <= lacks:
		return article.Contained
	case contains >= limits.Contained && lacks < own && 2*lacks <= own:
		return article.Extends
	case min(contained, contains) >= limits.Contained:
		return article.Equal
	default:
		return article.Overlaps
	}
}

// revises tells whether the articles are nearly the same but for one number, which the rule forgives: it
// differs in its place, or it is missing and neither text is longer. A number that is missing in a part of a
// text was cut off with it.
func (e evidence) revises(r article.Relation) bool {
	return !e.TwoPublishers && e.forgiven && e.alike &&
		(e.Contradictions > 0 || r == article.Equal || r == article.Overlaps)
}
