package redisindex

import (
	"context"
	"slices"

	"echosieve/pipeline/article"
	"echosieve/redisindex/keyspace"
)

// Candidate is a stored article that the look-ups for another article find, and how the rule judges it.
type Candidate struct {
	keyspace.StoredArticle
	article.Judgement     // of the other article, if it came after the stored one
	Distance          int // between the fingerprints, in bits
}

// Advice is the verdict that an article would get, and what the index has that resembles it.
type Advice struct {
	// Verdict is what Claim would decide now. Its Root has no coordinates while the original is undecided.
	Verdict article.Verdict
	// Candidates are the stored articles that the look-ups find, the nearest first, at most Config.MaxCandidates
	// fingerprints, as Claim would find them now.
	Candidates []Candidate
}

// Advise returns the verdict that Claim would give to an article that comes after all articles of the index.
// The article needs what the recipe makes of a text, and Time; without coordinates the zero Root of a verdict
// stands for the article itself. It is not stored, and nothing is written: articles that are claimed later,
// or at the same time, do not see it.
func (x *Index) Advise(ctx context.Context, a *article.Article) (advice Advice, err error) {
	err = x.session.Patiently(ctx, "advice", func() error {
		c := newClaim(newCall(x, []article.Article{*a}))
		advice.Candidates, err = looking{c}.readCandidates(ctx)
		if err != nil {
			return err
		}
		advice.Verdict, err = deciding{c}.foresee(c.tasks[0])
		return err
	})
	return advice, err
}

// foresee reaches the verdict of a task whose candidates were read, by the rules of Claim.
func (c deciding) foresee(t *task) (article.Verdict, error) {
	for _, near := range t.candidates {
		for _, e := range c.fetched[near.fetched] {
			if near.FieldRef != t.Field() || e.Digest != t.Digest || e.Ticket == keyspace.MaxTicket {
				continue
			}
			// The entry of an exact repeat in the same slice, which would store none.
			root, _, err := c.rootOf(relative{Entry: e})
			return article.ExactVerdict(e.Ref(), root), err
		}
	}
	own := func(near candidate) bool { return near.FieldRef == t.Field() }
	if n := len(t.candidates); n == c.x.cfg.MaxCandidates && !t.LittleText && !slices.ContainsFunc(t.candidates, own) {
		t.candidates = t.candidates[:n-1] // a stored article is the nearest candidate of its own
	}
	looking(c).judge(t)
	t.Ticket = keyspace.MaxTicket
	t.keepEarlier()
	original, decided, err := c.proposal(t)
	if err != nil || decided {
		return t.proposal, err
	}
	return c.verdictOf(original, article.Ref{}), nil
}

// readCandidates returns the candidates of the first task, without storing it.
func (c looking) readCandidates(ctx context.Context) (found []Candidate, err error) {
	x, t := c.x, c.tasks[0]
	if err := c.look(ctx, c.tasks, nil); err != nil {
		return nil, err
	}
	if err := c.fetchCandidates(ctx, c.tasks); err != nil {
		return nil, err
	}
	for _, near := range t.candidates {
		for _, e := range c.fetched[near.fetched] {
			if e.Coordinates == t.Coordinates || !x.keys.Layout.Within(e.Millis(), t.Millis()) {
				continue
			}
			s, ok := e.Describe(false)
			if !ok {
				return nil, x.keys.Damage(e)
			}
			found = append(found, Candidate{s, x.cfg.Compare(&t.Article, &e.Article), near.distance})
		}
	}
	return found, nil
}
