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

// Stored returns the entries with the fingerprint of an article in the spans within reach of its time, and the overflow entry with its
// digest. It needs Fingerprint and Time of the article, and for the overflow entry Digest. It writes nothing.
func (x *Index) Stored(ctx context.Context, a *article.Article) (found []keyspace.StoredArticle, err error) {
	err = x.session.Patiently(ctx, "stored articles", func() error {
		found, err = readStored(ctx, x.client, x.keys, a)
		return err
	})
	return found, err
}

func readStored(ctx context.Context, client redis.UniversalClient, keys keyspace.Keys, a *article.Article) (found []keyspace.StoredArticle, err error) {
	var fields []keyspace.FieldRef
	for span, last := keys.Layout.Reach(keyspace.WindowTime(a.Time)); span <= last; span++ {
		fields = append(fields, keyspace.FieldRef{Span: span, Fingerprint: a.Fingerprint})
	}
	pipe := client.Pipeline()
	values := make([][2]*redis.StringCmd, len(fields))
	for i, f := range fields {
		key := keys.Entries(f)
		values[i] = [2]*redis.StringCmd{pipe.HGet(ctx, key, f.Name()), pipe.HGet(ctx, key, f.Name()+string(a.Digest[:]))}
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
			articles, bad := keys.InField(key, f.Span, field, value.Val())
			if bad {
				return nil, &keyspace.DamagedError{Key: key, Fields: []string{field}}
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
	err = x.session.Patiently(ctx, "candidates", func() error {
		found, err = newBatch(x, []article.Article{*a}, nil).readCandidates(ctx)
		return err
	})
	return found, err
}

// readCandidates returns the candidates of the first task, without storing it.
func (b *batch) readCandidates(ctx context.Context) (found []Candidate, err error) {
	x, t := b.x, b.tasks[0]
	if err := b.fetchSpans(ctx, x.client.Pipeline(), b.tasks); err != nil {
		return nil, err
	}
	if err := b.lookUp(ctx); err != nil {
		return nil, err
	}
	if err := b.fetchCandidates(ctx, b.tasks); err != nil {
		return nil, err
	}
	for _, c := range t.candidates {
		for _, e := range b.fetched[c.fetched] {
			if e.Coordinates == t.Coordinates || !x.layout.Within(e.Millis(), t.Millis()) {
				continue
			}
			s, err := x.keys.Describe(e, false)
			if err != nil {
				return nil, err
			}
			found = append(found, Candidate{s, x.cfg.Compare(&t.Article, &e.Article), c.distance})
		}
	}
	return found, nil
}
