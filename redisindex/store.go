package redisindex

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"echosieve/redisindex/keyspace"
)

// storing is steps 1 and 2 of a claim: its articles can be found by others before they have tickets.
type storing struct{ *claim }

// storeLists is step 1: it adds the fingerprints to the lists of their blocks, and registers the slices.
//
// It is a separate round trip, before storeEntries, because a cluster runs the commands of a pipeline in any
// order. Another worker may find an entry through one list, or as an exact repeat, and give it a ticket. From
// then on every article with a higher ticket must find the entry, so all lists must lead to it by then.
func (c storing) storeLists(ctx context.Context) error {
	x, pipe := c.x, c.x.client.Pipeline()
	added := c.addToLists(ctx, pipe)
	c.registerSlices(ctx, pipe)
	// The ticket counter must outlive every entry: if it started over below existing tickets, copies would
	// pass as unique. Replays and exact repeats prolong the life of entries but draw no tickets, so the
	// counter's life is prolonged here.
	pipe.Expire(ctx, x.keys.Sequence(), 2*x.keys.Layout.Lifetime)
	if err := c.exec(ctx, "store_lists", pipe); err != nil {
		return err
	}
	return added()
}

// registerSlices queues the commands that say that the slices of the claim exist. Registrations expire after
// the entries.
func (c storing) registerSlices(ctx context.Context, pipe redis.Pipeliner) {
	for _, t := range c.tasks {
		if !c.seen[t.Slice] {
			c.seen[t.Slice] = true
			key := c.x.keys.Exists(t.Slice)
			pipe.HSet(ctx, key, "", "")
			pipe.Expire(ctx, key, 2*c.x.keys.Layout.Lifetime)
		}
	}
}

// storeEntries is step 2: it stores the entries. Most fingerprints are new, and HSETNX stores their entries,
// because a script costs the server more CPU time. If the fingerprint has a field already, a second round
// trip runs the script.
func (c storing) storeEntries(ctx context.Context) error {
	x, pipe := c.x, c.x.client.Pipeline()
	entries, isNew := make([][]byte, len(c.tasks)), make([]*redis.BoolCmd, len(c.tasks))
	for i, t := range c.tasks {
		f := t.Field()
		key := x.keys.Entries(f)
		entries[i] = t.Append(nil, x.keys.Layout.Start(t.Slice))
		isNew[i] = pipe.HSetNX(ctx, key, f.Name(), entries[i])
		pipe.Expire(ctx, key, x.keys.Layout.Lifetime)
	}
	if err := c.exec(ctx, "store_entries", pipe); err != nil {
		return err
	}
	pipe = x.client.Pipeline()
	var tasks []*task
	var replies []*redis.Cmd
	for i, t := range c.tasks {
		if isNew[i].Val() {
			continue
		}
		tasks = append(tasks, t)
		replies = append(replies, c.eval(ctx, pipe, storeScript, &t.Entry, entries[i], x.keys.Layout.MaxEntries,
			x.keys.Layout.LifetimeSeconds(), t.HiddenDigest()))
	}
	if err := c.exec(ctx, "store_entries", pipe); err != nil {
		return err
	}
	for i, cmd := range replies {
		if err := c.stored(tasks[i], cmd.Val()); err != nil {
			return err
		}
	}
	return nil
}

// stored handles the reply of store.lua for a task: the entry was stored, or another entry with its digest is
// there already.
//
// An exact repeat within the slice of its original stores nothing. A replay of the repeat finds the entry of
// the original by the digest again, and so gets the same verdict.
func (c storing) stored(t *task, reply any) error {
	switch r := reply.(type) {
	case int64:
		if r == 1 {
			c.x.metrics.overflow.Inc()
		}
		return nil
	case string:
		e, _, err := keyspace.CutEntry(t.Field(), c.x.keys.Layout.Start(t.Slice), r)
		if err != nil {
			return c.x.keys.Damage(&t.Entry)
		}
		of := t
		if e.Coordinates == t.Coordinates { // the article's own entry: its record was delivered before
			if len(e.VerdictBytes) > 0 {
				c.x.metrics.replayed.Inc()
			}
		} else {
			// Entries do not keep sums and anchors. The original has the same text, so the repeat's do. Sums can
			// differ only if the text was cut into other words, and then only in their size.
			e.Sums, e.Anchors = t.Sums, t.Anchors
			t.repeats = c.task(e)
			of = t.repeats
		}
		of.ID = e.ID // it differs if the setting of the id's field was changed since the article was stored
		if len(e.VerdictBytes) > 0 {
			var ok bool
			if of.verdict, ok = e.Verdict(); !ok {
				return c.x.keys.Damage(&of.Entry)
			}
		}
		return nil
	default:
		return fmt.Errorf("store_entries: reply of type %T", reply)
	}
}
