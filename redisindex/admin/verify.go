package admin

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
)

// Unlisted returns the articles that a block list lacks which should lead to them. Lists that are full may
// have lost articles rightly. Lists of anchors are not looked into: entries do not hold their anchors.
func (t *Tools) Unlisted(ctx context.Context, articles []keyspace.StoredArticle) (unlisted []keyspace.StoredArticle,
	err error) {
	err = t.session.Patiently(ctx, "block lists", func() error {
		unlisted, err = t.unlistedOnce(ctx, articles)
		return err
	})
	return unlisted, err
}

func (t *Tools) unlistedOnce(ctx context.Context, articles []keyspace.StoredArticle) (
	unlisted []keyspace.StoredArticle, err error) {
	at := map[keyspace.ListRef]int{}
	var refs []keyspace.ListRef
	each := func(s *keyspace.StoredArticle, do func(keyspace.ListRef)) {
		if s.LittleText {
			return
		}
		for _, block := range t.keys.Layout.Plan.Layout.AppendBlocks(nil, s.Fingerprint) {
			do(keyspace.ListRef{Slice: t.keys.Layout.Slice(keyspace.WindowTime(s.Time)), Block: block.Index,
				Value: block.Value})
		}
	}
	for i := range articles {
		each(&articles[i], func(ref keyspace.ListRef) {
			if _, known := at[ref]; !known {
				at[ref] = len(refs)
				refs = append(refs, ref)
			}
		})
	}
	pipe := t.client.Pipeline()
	fetched := t.keys.FetchLists(ctx, pipe, refs)
	if err := connection.Execute(ctx, pipe); err != nil {
		return nil, err
	}
	lists, err := fetched()
	if err != nil {
		return nil, err
	}
	for i := range articles {
		s, missing := &articles[i], false
		each(s, func(ref keyspace.ListRef) {
			l := t.newList(ref, lists[at[ref]])
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

// Relist adds articles to the block lists of their fingerprints. It cannot add them to the lists of their
// anchors; a refill can.
func (t *Tools) Relist(ctx context.Context, articles []keyspace.StoredArticle) error {
	stored := make([]article.Article, len(articles))
	for i := range articles {
		stored[i] = articles[i].Article
	}
	return t.session.Patiently(ctx, "block lists", func() error { return t.index.StoreLists(ctx, stored) })
}

// Missing counts the fingerprints of block lists that have no entry. They are harmless: each costs 8 bytes
// and sometimes a read, and they expire with their slice. A claim that has stored its lists and not yet its
// entry looks the same.
func (t *Tools) Missing(ctx context.Context, lists []List) (missing int, err error) {
	seen := map[keyspace.FieldRef]bool{}
	var fields []keyspace.FieldRef
	for _, l := range lists {
		for _, fp := range l.Fingerprints {
			if f := (keyspace.FieldRef{Slice: l.slice, Fingerprint: fp}); !seen[f] {
				seen[f] = true
				fields = append(fields, f)
			}
		}
	}
	for chunk := range slices.Chunk(fields, walkCount) {
		err := t.session.Patiently(ctx, "entries", func() error {
			pipe := t.client.Pipeline()
			replies := make([]*redis.StringCmd, len(chunk))
			for i, f := range chunk {
				replies[i] = pipe.HGet(ctx, t.keys.Entries(f), f.Name())
			}
			if err := connection.Execute(ctx, pipe); err != nil {
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
