package redisindex

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// storeLists is step 1: it adds the fingerprints to the lists of their blocks, and registers the spans.
//
// It is a separate round trip, before storeEntries, because a cluster runs the commands of a pipeline in any order. Another
// worker may find an entry through one list, or as an exact repeat, and give it a ticket. From then on every article with a higher
// ticket must find the entry, so all lists must lead to it by then.
func (b *batch) storeLists(ctx context.Context) error {
	x, pipe := b.x, b.x.client.Pipeline()
	added := b.addToLists(ctx, pipe)
	b.registerSpans(ctx, pipe)
	// The ticket counter must outlive every entry: if it started over below existing tickets, copies would pass as unique. Replays and
	// exact repeats prolong the life of entries but draw no tickets, so the counter's life is prolonged here.
	pipe.Expire(ctx, x.keys.sequence(), 2*x.layout.lifetime)
	if err := b.exec(ctx, "place", pipe); err != nil {
		return err
	}
	return added()
}

// registerSpans queues the commands that say that the spans of the batch exist. Registrations expire after the entries.
func (b *batch) registerSpans(ctx context.Context, pipe redis.Pipeliner) {
	registered := map[int64]bool{}
	for _, t := range b.tasks {
		if !registered[t.span] {
			registered[t.span] = true
			key := b.x.keys.exists(t.span)
			pipe.HSet(ctx, key, "", "")
			pipe.Expire(ctx, key, 2*b.x.layout.lifetime)
		}
	}
}

// storeEntries is step 2: it stores the entries. Most fingerprints are new, and HSETNX stores their entries, because a script costs the
// server more CPU time. If the fingerprint has a field already, a second round trip runs the script.
func (b *batch) storeEntries(ctx context.Context) error {
	x, pipe := b.x, b.x.client.Pipeline()
	entries, isNew := make([][]byte, len(b.tasks)), make([]*redis.BoolCmd, len(b.tasks))
	for i, t := range b.tasks {
		f := t.field()
		key := x.keys.entries(f)
		entries[i] = t.append(nil, x.layout.start(t.span))
		isNew[i] = pipe.HSetNX(ctx, key, f.name(), entries[i])
		pipe.Expire(ctx, key, x.layout.lifetime)
	}
	if err := b.exec(ctx, "insert", pipe); err != nil {
		return err
	}
	pipe = x.client.Pipeline()
	var tasks []*task
	var replies []*redis.Cmd
	for i, t := range b.tasks {
		if isNew[i].Val() {
			continue
		}
		f := t.field()
		tasks = append(tasks, t)
		replies = append(replies, storeScript.EvalSha(ctx, pipe, []string{x.keys.entries(f)},
			f.name(), t.Digest[:], entries[i], x.maxEntries, x.layout.lifetimeSeconds(), t.hiddenDigest()))
	}
	if err := b.exec(ctx, "insert", pipe); err != nil {
		return err
	}
	for i, cmd := range replies {
		if err := b.stored(tasks[i], cmd.Val()); err != nil {
			return err
		}
	}
	return nil
}

// stored handles the reply of store.lua for a task: the entry was stored, or another entry with its digest is there already.
//
// An exact repeat within the span of its original stores nothing. A replay of the repeat finds the entry of the original by the digest
// again, and so gets the same verdict.
func (b *batch) stored(t *task, reply any) error {
	switch r := reply.(type) {
	case int64:
		if r == 1 {
			b.x.metrics.overflow.Inc()
		}
		return nil
	case string:
		e, _, err := cutEntry(t.field(), b.x.layout.start(t.span), r)
		if err != nil {
			return b.x.damaged(&t.entry)
		}
		if e.Coordinates == t.Coordinates { // the article's own entry: its record was delivered before
			if len(e.verdictBytes) > 0 {
				b.x.metrics.replayed.Inc()
			}
			return b.useStored(t, &e)
		}
		// Entries do not keep sums and anchors. The original has the same text, so the repeat's do. Sums can differ only if the
		// text was cut into other words, and then only in their size.
		e.Sums, e.Anchors = t.Sums, t.Anchors
		t.repeats = b.task(e)
		return b.useStored(t.repeats, &e)
	default:
		return fmt.Errorf("insert: reply of type %T", reply)
	}
}

// useStored takes over what the stored entry of a task's article says: the verdict, if there is one, and the id. The id differs if the
// setting of the id's field was changed since the article was stored.
func (b *batch) useStored(t *task, e *entry) (err error) {
	t.ID = e.ID
	if len(e.verdictBytes) == 0 {
		return nil
	}
	if t.verdict, err = decodeVerdict(e.verdictBytes, t.Ref()); err != nil {
		return b.x.damaged(&t.entry)
	}
	return nil
}
