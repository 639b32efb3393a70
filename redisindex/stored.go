package redisindex

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/go-redis/v9"

	"echosieve/internal/diag"
	"echosieve/pipeline/article"
)

// StoredArticle is what the index keeps of one article, for tools that show the index. Of the article it has Coordinates, ID, Time (of
// the window), Fingerprint, Digest, LittleText and Signature.
type StoredArticle struct {
	article.Article
	// Ticket orders the articles: a copy names an article with a lower ticket. 0: not drawn yet.
	Ticket uint64
	// Verdict is zero as long as the article is undecided.
	Verdict article.Verdict
	// Overflow says that the entry lies beyond the limit of one fingerprint: only a replay or an exact repeat of the article finds it.
	Overflow bool
	// Hidden says that only a replay of the article's own record finds the entry. Its Digest is not that of the text.
	Hidden bool

	place place
}

// place says which bytes an entry is.
type place struct {
	key, field string
	value      string // of the whole field
	entry      string // the part of value that is the entry
}

// describe makes a StoredArticle of an entry.
func (x *Index) describe(e *entry, overflow bool) (StoredArticle, error) {
	s := StoredArticle{Article: e.Article, Ticket: e.ticket, Overflow: overflow, Hidden: e.ticket == maxTicket}
	if len(e.verdictBytes) == 0 {
		return s, nil
	}
	var err error
	if s.Verdict, err = decodeVerdict(e.verdictBytes, e.Ref()); err != nil {
		return s, x.damaged(e)
	}
	return s, nil
}

// Candidate is a stored article that the look-ups for another article find, and how the rule judges it.
type Candidate struct {
	StoredArticle
	article.Judgement     // of the other article, if it came after the stored one
	Distance          int // between the fingerprints, in bits
}

// Stored returns the entries with the fingerprint of an article in the spans within reach of its time, and the overflow entry with its
// digest. It needs Fingerprint and Time of the article, and for the overflow entry Digest. It writes nothing.
func (x *Index) Stored(ctx context.Context, a *article.Article) (found []StoredArticle, err error) {
	err = x.patiently(ctx, "stored articles", func() error {
		found, err = x.storedOnce(ctx, a)
		return err
	})
	return found, err
}

func (x *Index) storedOnce(ctx context.Context, a *article.Article) (found []StoredArticle, err error) {
	var fields []fieldRef
	for span, last := x.layout.reach(windowTime(a.Time)); span <= last; span++ {
		fields = append(fields, fieldRef{span, a.Fingerprint})
	}
	pipe := x.client.Pipeline()
	values := make([][2]*redis.StringCmd, len(fields))
	for i, f := range fields {
		key := x.keys.entries(f)
		values[i] = [2]*redis.StringCmd{pipe.HGet(ctx, key, f.name()), pipe.HGet(ctx, key, f.name()+string(a.Digest[:]))}
	}
	if err := execute(ctx, pipe); err != nil {
		return nil, err
	}
	for i, f := range fields {
		for n, value := range values[i] {
			entries, err := x.decodeField(f, value.Val())
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				s, err := x.describe(e, n == 1)
				if err != nil {
					return nil, err
				}
				found = append(found, s)
			}
		}
	}
	return found, nil
}

// Candidates returns the stored articles that the look-ups for an article find, the nearest first, at most Config.MaxCandidates
// fingerprints, as Claim would find them now. The article needs what the recipe makes of a text, and Time. It is not stored, and nothing
// is written.
func (x *Index) Candidates(ctx context.Context, a *article.Article) (found []Candidate, err error) {
	err = x.patiently(ctx, "candidates", func() error {
		found, err = x.candidatesOnce(ctx, a)
		return err
	})
	return found, err
}

func (x *Index) candidatesOnce(ctx context.Context, a *article.Article) (found []Candidate, err error) {
	b := newBatch(x, []article.Article{*a}, nil)
	if err := b.fetchSpans(ctx, x.client.Pipeline(), b.tasks); err != nil {
		return nil, err
	}
	if err := b.lookUp(ctx); err != nil {
		return nil, err
	}
	if err := b.fetchCandidates(ctx, b.tasks); err != nil {
		return nil, err
	}
	for _, c := range b.tasks[0].candidates {
		for _, e := range b.fetched[c.fetched] {
			if e.Coordinates == a.Coordinates || !x.layout.within(e.ms(), windowTime(a.Time)) {
				continue
			}
			s, err := x.describe(e, false)
			if err != nil {
				return nil, err
			}
			found = append(found, Candidate{s, x.cfg.Compare(a, &e.Article), c.distance})
		}
	}
	return found, nil
}

// patience is how long the functions for tools try a request again before they give up. A failover is over by then.
const patience = time.Minute

// patiently calls request until it succeeds, or has failed for the time patience. A request that needs scripts calls ensureScripts each
// time. The error explains the cause.
func (x *Index) patiently(ctx context.Context, what string, request func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := request()
		switch {
		case err == nil:
		case redis.HasErrorPrefix(err, "NOSCRIPT"):
			x.scriptsLoaded.Store(false)
		case slices.Contains([]string{"auth", "damaged"}, classify(err)):
			err = backoff.Permanent(err) // trying again would not help
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(patience))
	if err == nil {
		return nil
	}
	explained := Explain(err, x.cfg.base())
	if p := (*diag.Problem)(nil); isRightMissing(err) && errors.As(explained, &p) {
		p.Remedy = "ACL SETUSER <user> " + ToolRule(x.cfg.base())
	}
	return fmt.Errorf("redisindex: %s: %w", what, explained)
}

// execute sends a pipeline and returns the first error of any of its commands. A missing key is no error.
func execute(ctx context.Context, pipe redis.Pipeliner) error {
	if pipe.Len() == 0 {
		return nil
	}
	cmds, err := pipe.Exec(ctx)
	return firstError(cmds, err)
}
