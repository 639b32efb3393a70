package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"echosieve/app/inquiry"
	"echosieve/consumer/tools"
	"echosieve/pipeline/article"
	"echosieve/redisindex"
	"echosieve/redisindex/keyspace"
)

// explanation is the result of the command. Its JSON names must not change.
type explanation struct {
	// coordinates of the published record; empty: none was found
	Output string `json:"output,omitempty"`
	Recipe string `json:"recipe,omitempty"` // with which the verdict was reached
	// unique, possible, near, exact or dead; empty: none was found
	Verdict  string `json:"verdict"`
	Reason   string `json:"reason,omitempty"`
	Detail   string `json:"detail,omitempty"` // of a dead letter
	Distance int    `json:"distance"`         // bits
	*inquiry.Relation
	Article    inquiry.Article     `json:"article"`
	Chain      []inquiry.Article   `json:"chain"` // the original, its original, and so on to the root
	Comparison *inquiry.Comparison `json:"comparison,omitempty"`
	Candidates []candidate         `json:"candidates"` // of a unique article: the nearest that the index has now
	Notes      []string            `json:"notes"`
}

// candidate is a stored article that the look-ups for a unique article find now, and why the article is no copy of it.
type candidate struct {
	inquiry.Article
	inquiry.Judged
	Why string `json:"why"`
}

// explainer explains verdicts by what Kafka and the index have.
type explainer struct {
	recipe string // id
	judge  *inquiry.Judge
	reader *inquiry.Reader
	index  *redisindex.Index // nil: not in reach
	away   error             // why there is no index
}

// record explains the record with the coordinates, which may be of an output topic or of an input topic.
func (e *explainer) record(ctx context.Context, at article.Coordinates) (*explanation, error) {
	a, err := e.reader.Article(ctx, article.Ref{Coordinates: at})
	if a.Output != nil {
		return e.output(ctx, a.Output)
	}
	gone := errors.Is(err, tools.ErrNoRecord)
	if err != nil && !gone || gone && slices.Contains(e.reader.Topics, at.Topic) {
		return nil, err
	}
	// An input record. Without the record its time is unknown, and whole partitions are searched.
	o, verdictErr := e.reader.Verdict(ctx, at, a.Time)
	switch {
	case verdictErr == nil:
		return e.output(ctx, o)
	case !errors.Is(verdictErr, inquiry.ErrNoVerdict):
		return nil, verdictErr
	case gone:
		return nil, fmt.Errorf("%w; %w", err, verdictErr)
	}
	x := &explanation{Article: a, Chain: []inquiry.Article{}, Candidates: []candidate{}, Notes: []string{verdictErr.Error()}}
	e.judge.Fingerprint(&x.Article)
	e.addStored(ctx, &x.Article)
	e.addCandidates(ctx, x)
	return x, nil
}

// output explains an output. If it is in another topic than the configured ones, such as that of a shadow,
// the verdicts about earlier articles are searched there.
func (e *explainer) output(ctx context.Context, o *inquiry.Output) (*explanation, error) {
	if !slices.Contains(e.reader.Topics, o.Record.Topic) {
		e.reader.Topics = []string{o.Record.Topic}
	}
	x := &explanation{Output: o.Record.String(), Recipe: o.Recipe, Verdict: o.Verdict.Kind.String(),
		Distance: o.Verdict.Distance, Chain: []inquiry.Article{}, Candidates: []candidate{}, Notes: []string{}}
	var err error
	if x.Article, err = e.reader.ArticleOf(ctx, o); err != nil && !errors.Is(err, tools.ErrNoRecord) {
		return nil, err
	}
	e.judge.Fingerprint(&x.Article)
	if o.Reject != nil {
		x.Verdict, x.Reason, x.Detail = "dead", string(o.Reject.Reason), o.Reject.Detail
		if x.Article.Made != nil && !x.Article.Made.Empty { // it would be an article with these settings
			x.Notes = append(x.Notes, decidedBefore)
		}
		return x, nil
	}
	if o.Verdict.Root == (article.Ref{}) {
		x.Notes = append(x.Notes, "the value is null: there is no text to compare")
		return x, nil
	}
	if o.Recipe != e.recipe {
		x.Notes = append(x.Notes, fmt.Sprintf("the verdict was reached with the recipe %s; the figures are those of "+
			"the configured recipe %s", o.Recipe, e.recipe))
	}
	e.addStored(ctx, &x.Article)
	if s := x.Article.Stored; s != nil && s.Verdict.Kind != 0 &&
		(s.Verdict.Kind != o.Verdict.Kind || s.Verdict.Root != o.Verdict.Root) {
		x.Notes = append(x.Notes, decidedBefore)
	}
	if o.Verdict.Kind == article.Unique {
		e.addCandidates(ctx, x)
		return x, nil
	}
	x.Reason = o.Verdict.Reason.String()
	x.Relation = inquiry.NewRelation(o.Verdict.Likeness)
	e.addChain(ctx, x, o.Verdict)
	if x.Chain[0].Made != nil && x.Article.Made != nil {
		x.Comparison = e.compare(&x.Chain[0], &x.Article)
	}
	if c := x.Comparison; c != nil && o.Recipe == e.recipe && c.Distance != x.Distance &&
		o.Verdict.Kind != article.Exact {
		x.Notes = append(x.Notes,
			fmt.Sprintf("the fingerprints differ in %d bits now, the header says %d: was the topic of the "+
				"original recreated, or a value changed?", c.Distance, x.Distance))
	}
	return x, nil
}

// decidedBefore explains why Kafka holds another verdict than the one that would be reached now.
const decidedBefore = "the index, or these settings, have another verdict: a record that an earlier owner of its " +
	"input partition has published is not published again, whatever later owners decide"

// fetch describes an earlier article, as far as Kafka and the index have it. known are entries of the index in which
// it may be.
func (e *explainer) fetch(ctx context.Context, ref article.Ref, known []redisindex.Candidate) inquiry.Article {
	a, err := e.reader.Article(ctx, ref)
	e.judge.Fingerprint(&a)
	if err == nil {
		e.addStored(ctx, &a)
		return a
	}
	for i := range known {
		if known[i].Coordinates == ref.Coordinates {
			a.SetStored(&known[i].StoredArticle)
		}
	}
	return a
}

// addStored adds what the index has of an article whose text is known. After an error the index is not asked again.
func (e *explainer) addStored(ctx context.Context, a *inquiry.Article) {
	if e.index == nil || a.Made == nil {
		return
	}
	found, err := e.index.Stored(ctx, a.Made)
	if err != nil {
		e.index, e.away = nil, err
		return
	}
	for i := range found {
		if found[i].Coordinates == a.Made.Coordinates {
			a.SetStored(&found[i])
		}
	}
}

// candidatesOf returns the stored articles that the look-ups for an article find now.
func (e *explainer) candidatesOf(ctx context.Context, a *inquiry.Article) []redisindex.Candidate {
	if e.index == nil || a.Made == nil {
		return nil
	}
	advice, err := e.index.Advise(ctx, a.Made)
	if err != nil {
		e.index, e.away = nil, err
	}
	return advice.Candidates
}

// mostLinks bounds a chain. Chains of originals are a few articles long.
const mostLinks = 20

// addChain follows the originals from a verdict to the root.
func (e *explainer) addChain(ctx context.Context, x *explanation, v article.Verdict) {
	known := e.candidatesOf(ctx, &x.Article)
	for range mostLinks {
		link := e.fetch(ctx, v.Original, known)
		next := e.verdictOf(ctx, &link, v.Original.Coordinates)
		if next.Kind != 0 {
			link.Verdict = next.Kind.String()
		}
		x.Chain = append(x.Chain, link)
		if !v.Kind.IsCopy() || v.Original.Coordinates == v.Root.Coordinates {
			return
		}
		if !next.Kind.IsCopy() { // the chain is broken, but the root is known
			x.Notes = append(x.Notes, "what stands between "+v.Original.String()+
				" and the root is not known: neither the output topics nor the index have its verdict")
			x.Chain = append(x.Chain, e.fetch(ctx, v.Root, known))
			return
		}
		known = append(known, e.candidatesOf(ctx, &link)...)
		v = next
	}
}

// verdictOf returns the verdict about an earlier article: from the output topics or else from the index. Its
// kind is 0 if neither has it.
func (e *explainer) verdictOf(ctx context.Context, a *inquiry.Article, at article.Coordinates) article.Verdict {
	if !a.Time.IsZero() {
		if o, err := e.reader.Verdict(ctx, at, a.Time); err == nil {
			return o.Verdict
		}
	}
	if a.Stored != nil {
		return a.Stored.Verdict
	}
	return article.Verdict{}
}

// compare compares two articles, by their texts or else by what the index has. A look-up for the later one has found
// the earlier one: the verdict names it, or it is a candidate. With a text the anchors are lost that may have found it.
func (e *explainer) compare(earlier, later *inquiry.Article) *inquiry.Comparison {
	lost := earlier.Gone != "" || later.Gone != ""
	c := e.judge.Compare(earlier, later, lost)
	if !lost {
		c.Texts, c.Changes = inquiry.Align(earlier, later), inquiry.WhatIsNew(earlier, later)
	}
	return &c
}

// mostCandidates bounds the candidates that are described. Earlier articles come first, and of these the nearest.
const mostCandidates = 5

// addCandidates adds to the explanation of a unique article the nearest articles that the index has, and
// compares the texts with the nearest.
func (e *explainer) addCandidates(ctx context.Context, x *explanation) {
	if x.Article.Made == nil {
		return
	}
	found, own := e.candidatesOf(ctx, &x.Article), x.Article.Stored
	if len(found) == 0 && e.index != nil {
		x.Notes = append(x.Notes, "the index holds no article that the look-ups for this one find")
	}
	late := func(c *redisindex.Candidate) int { // articles that came later are no reason for the verdict
		if own != nil && c.Ticket > own.Ticket {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(found, func(a, b redisindex.Candidate) int { return late(&a) - late(&b) })
	for i := range found[:min(len(found), mostCandidates)] {
		c := &found[i]
		a := e.fetch(ctx, c.Ref(), found)
		a.SetStored(&c.StoredArticle)
		compared := e.compare(&a, &x.Article)
		x.Candidates = append(x.Candidates, candidate{a, compared.Judged, why(own, c, compared.Explanation)})
		if x.Comparison == nil && a.Gone == "" {
			x.Comparison = compared
		}
	}
}

// why says why a unique article is no copy of a candidate.
func why(own *keyspace.StoredArticle, c *redisindex.Candidate, explanation string) string {
	switch {
	case !c.Kind.IsCopy():
		return explanation
	case own == nil:
		return "By the rule, one is a copy of the other. The index does not have this article, so it is unknown " +
			"which came first."
	case c.Hidden:
		return "By the rule this article is a copy, but the index hides the other one (echosieve index forget, or " +
			"a refill)."
	case c.Ticket > own.Ticket:
		return fmt.Sprintf("It came later (ticket %d, this article has %d): it is the copy.", c.Ticket, own.Ticket)
	case own.Verdict.Kind == article.Unique:
		return "By the rule this article is a copy, but it was not found when the verdict fell: more candidates were " +
			"nearer than the 24 that are compared, a list was full, or the settings of the look-ups were others."
	default:
		return explanation
	}
}
