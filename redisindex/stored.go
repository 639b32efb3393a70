package redisindex

import (
	"context"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
)

// Candidate is a stored article that the look-ups for another article find, and how the rule judges it.
type Candidate struct {
	keyspace.StoredArticle
	article.Judgement     // of the other article, if it came after the stored one
	Distance          int // between the fingerprints, in bits
}

// Stored returns the entries with the fingerprint of an article in the slices within reach of its time, and
// the overflow entry with its digest. It needs Fingerprint and Time of the article, and for the overflow
// entry Digest. It writes nothing.
func (x *Index) Stored(ctx context.Context, a *article.Article) (found []keyspace.StoredArticle, err error) {
	err = x.session.Patiently(ctx, "stored articles", func() error {
		found, err = readStored(ctx, x.client, x.keys, a)
		return err
	})
	return found, err
}

func readStored(ctx context.Context, client redis.UniversalClient, keys keyspace.Keys, a *article.Article) (
	found []keyspace.StoredArticle, err error) {
	var fields []keyspace.FieldRef
	for slice, last := keys.Layout.Reach(keyspace.WindowTime(a.Time)); slice <= last; slice++ {
		fields = append(fields, keyspace.FieldRef{Slice: slice, Fingerprint: a.Fingerprint})
	}
	pipe := client.Pipeline()
	values := make([][2]*redis.StringCmd, len(fields))
	for i, f := range fields {
		key := keys.Entries(f)
		values[i] = [2]*redis.StringCmd{pipe.HGet(ctx, key, f.Name()),
			pipe.HGet(ctx, key, f.Name()+string(a.Digest[:]))}
	}
	if err := connection.Execute(ctx, pipe); err != nil {
		return nil, err
	}
	for i, f := range fields {
		for n, value := range values[i] {
			key, field := keys.Entries(f), f.Name()
			if n == 1 {
				field += string(a.Digest[:])
			}
			articles, bad := keys.InField(key, f.Slice, field, value.Val())
			if bad {
				return nil, &keyspace.DamagedError{Key: key, Fields: []string{field}}
			}
			found = append(found, articles...)
		}
	}
	return found, nil
}

// Candidates returns the stored articles that the look-ups for an article find, the nearest first, at most
// Config.MaxCandidates fingerprints, as Claim would find them now. The article needs what the recipe makes of
// a text, and Time. It is not stored, and nothing is written.
func (x *Index) Candidates(ctx context.Context, a *article.Article) (found []Candidate, err error) {
	err = x.session.Patiently(ctx, "candidates", func() error {
		found, err = newClaim(x, []article.Article{*a}, nil).readCandidates(ctx)
		return err
	})
	return found, err
}

// readCandidates returns the candidates of the first task, without storing it.
func (c *claim) readCandidates(ctx context.Context) (found []Candidate, err error) {
	x, t := c.x, c.tasks[0]
	for again := true; again; {
		pipe := x.client.Pipeline()
		l := c.queueLookups(ctx, pipe, c.tasks)
		if err = c.exec(ctx, "look_up", pipe); err != nil {
			return nil, err
		}
		if again, err = l.read(); err != nil {
			return nil, err
		}
	}
	if err := c.fetchCandidates(ctx, c.tasks); err != nil {
		return nil, err
	}
	for _, near := range t.candidates {
		for _, e := range c.fetched[near.fetched] {
			if e.Coordinates == t.Coordinates || !x.layout.Within(e.Millis(), t.Millis()) {
				continue
			}
			s, err := x.keys.Describe(e, false)
			if err != nil {
				return nil, err
			}
			found = append(found, Candidate{s, x.cfg.Compare(&t.Article, &e.Article), near.distance})
		}
	}
	return found, nil
}
