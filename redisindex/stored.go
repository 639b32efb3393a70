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
	type place struct {
		slice      int64
		key, field string
		value      *redis.StringCmd
	}
	var places []place
	for slice, last := x.layout.Reach(keyspace.WindowTime(a.Time)); slice <= last; slice++ {
		f := keyspace.FieldRef{Slice: slice, Fingerprint: a.Fingerprint}
		for _, overflow := range []string{"", string(a.Digest[:])} {
			places = append(places, place{slice: slice, key: x.keys.Entries(f), field: f.Name() + overflow})
		}
	}
	err = x.session.Patiently(ctx, "stored articles", func() error {
		found = nil
		pipe := x.client.Pipeline()
		for i, p := range places {
			places[i].value = pipe.HGet(ctx, p.key, p.field)
		}
		if err := connection.Execute(ctx, pipe); err != nil {
			return err
		}
		for _, p := range places {
			articles, bad := x.keys.InField(p.key, p.slice, p.field, p.value.Val())
			if bad {
				return &keyspace.DamagedError{Key: p.key, Fields: []string{p.field}}
			}
			found = append(found, articles...)
		}
		return nil
	})
	return found, err
}
