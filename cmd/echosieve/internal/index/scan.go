package index

import (
	"context"
	"io"

	"echosieve/redisindex/admin"
	"echosieve/redisindex/keyspace"
)

// scan goes through all keys of the index and shows the progress.
func (o *opened) scan(ctx context.Context, errOut io.Writer, fn func(admin.Keys) error) error {
	p := &progress{out: errOut, what: "keys of Redis"}
	stop := p.start()
	defer stop()
	return o.Walk(ctx, func(keys, total int64) {
		p.total.Store(total)
		p.done.Store(min(total, p.done.Load()+keys))
	}, fn)
}

// articles goes through all articles of the index, and returns the number of damaged fields.
func (o *opened) articles(ctx context.Context, errOut io.Writer, fn func([]keyspace.StoredArticle) error) (damaged int, err error) {
	err = o.scan(ctx, errOut, func(k admin.Keys) error {
		found, bad, err := k.Articles(ctx)
		damaged += bad
		if err != nil {
			return err
		}
		return fn(found)
	})
	return damaged, err
}
