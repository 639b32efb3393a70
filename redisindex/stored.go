package redisindex

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/go-redis/v9"

	"echosieve/internal/base/diag"
	"echosieve/pipeline/article"
	"echosieve/simhash"
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
			key, field := x.keys.entries(f), f.name()
			if n == 1 {
				field += string(a.Digest[:])
			}
			articles, bad := x.inField(key, f.span, field, value.Val())
			if bad {
				return nil, &damagedError{key: key, fields: []string{field}}
			}
			found = append(found, articles...)
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

// Unlisted returns the articles that a block list lacks which should lead to them. Lists that are full lack articles rightly. Lists of
// anchors are not looked into: entries do not hold their anchors.
func (x *Index) Unlisted(ctx context.Context, articles []StoredArticle) (unlisted []StoredArticle, err error) {
	err = x.patiently(ctx, "block lists", func() error {
		unlisted, err = x.unlistedOnce(ctx, articles)
		return err
	})
	return unlisted, err
}

func (x *Index) unlistedOnce(ctx context.Context, articles []StoredArticle) (unlisted []StoredArticle, err error) {
	b := newBatch(x, nil, nil)
	at := map[listRef]int{}
	var refs []listRef
	each := func(s *StoredArticle, do func(listRef)) {
		if s.LittleText {
			return
		}
		for _, block := range x.layout.plan.Layout.AppendBlocks(nil, s.Fingerprint) {
			do(listRef{x.layout.span(windowTime(s.Time)), block.Index, block.Value})
		}
	}
	for i := range articles {
		each(&articles[i], func(ref listRef) {
			if _, known := at[ref]; !known {
				at[ref] = len(refs)
				refs = append(refs, ref)
			}
		})
	}
	lists, err := b.fetchLists(ctx, refs)
	if err != nil {
		return nil, err
	}
	for i := range articles {
		s, missing := &articles[i], false
		each(s, func(ref listRef) {
			l := x.newList(ref, lists[at[ref]], min(maxListBytes, maxSetRead*fingerprintBytes))
			missing = missing || !l.Full && !l.holds(s.Fingerprint)
		})
		if missing {
			unlisted = append(unlisted, *s)
		}
	}
	return unlisted, nil
}

func (l *List) holds(fp simhash.Fingerprint) bool {
	return slices.Contains(l.Fingerprints, fp)
}

// Relist adds articles to the block lists of their fingerprints. It cannot add them to the lists of their anchors; a refill can.
func (x *Index) Relist(ctx context.Context, articles []StoredArticle) error {
	stored := make([]article.Article, len(articles))
	for i := range articles {
		stored[i] = articles[i].Article
	}
	return x.patiently(ctx, "block lists", func() error {
		if err := x.ensureScripts(ctx); err != nil {
			return err
		}
		return newBatch(x, stored, nil).storeLists(ctx)
	})
}

// Missing counts the fingerprints of block lists that have no entry. They are harmless: each costs 8 bytes and sometimes a read, and
// they expire with their span. A claim that has stored its lists and not yet its entry looks the same.
func (x *Index) Missing(ctx context.Context, lists []List) (missing int, err error) {
	seen := map[fieldRef]bool{}
	var fields []fieldRef
	for _, l := range lists {
		for _, fp := range l.Fingerprints {
			if f := (fieldRef{l.span, fp}); !seen[f] {
				seen[f] = true
				fields = append(fields, f)
			}
		}
	}
	for chunk := range slices.Chunk(fields, walkCount) {
		err := x.patiently(ctx, "entries", func() error {
			pipe := x.client.Pipeline()
			replies := make([]*redis.StringCmd, len(chunk))
			for i, f := range chunk {
				replies[i] = pipe.HGet(ctx, x.keys.entries(f), f.name())
			}
			if err := execute(ctx, pipe); err != nil {
				return err
			}
			for _, r := range replies {
				if errors.Is(r.Err(), redis.Nil) {
					missing++
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return missing, nil
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
	explained := Explain(err, x.client, x.cfg.base())
	if p := (*diag.Problem)(nil); isRightMissing(err) && errors.As(explained, &p) {
		p.Remedy = grant(x.client, ToolRule(x.cfg.base()))
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
