package redisindex

import (
	"context"
	"fmt"
	"time"

	"echosieve/pipeline/article"

	"github.com/redis/go-redis/v9"
)

// place puts the fingerprints into the lists of their blocks and registers the generations. It comes before insert,
// because who meets an entry by one list, or as an exact repeat, may give it a ticket: by then all lists must lead to it.
func (b *batch) place(ctx context.Context) error {
	x, pipe := b.x, b.x.client.Pipeline()
	stored := b.storeLists(ctx, pipe)
	b.register(ctx, pipe)
	// The counter must outlive every entry: starting over below existing tickets would let copies through. Replays and
	// exact repeats make entries live on, but draw nothing.
	pipe.Expire(ctx, x.keys.sequence(), 2*x.layout.lifetime)
	if err := b.exec(ctx, "place", pipe); err != nil {
		return err
	}
	return stored()
}

// insert stores the entries.
func (b *batch) insert(ctx context.Context) error {
	x, pipe := b.x, b.x.client.Pipeline()
	stored := make([]*redis.Cmd, len(b.items))
	for i, it := range b.items {
		stored[i] = storeScript.EvalSha(ctx, pipe, []string{x.keys.entries(it.home)},
			it.home.name(), it.claim.Digest[:], appendEntry(nil, &it.claim, it.ms), x.entries, x.layout.lifetimeSeconds())
	}
	if err := b.exec(ctx, "insert", pipe); err != nil {
		return err
	}
	for i, cmd := range stored {
		if err := b.stored(b.items[i], cmd.Val()); err != nil {
			return err
		}
	}
	return nil
}

// register notes that the generations of the batch exist, for longer than their entries do.
func (b *batch) register(ctx context.Context, pipe redis.Pipeliner) {
	known := map[int64]bool{}
	for _, it := range b.items {
		if g := it.home.generation; !known[g] {
			known[g] = true
			key := b.x.keys.exists(g)
			pipe.HSet(ctx, key, "", "")
			pipe.Expire(ctx, key, 2*b.x.layout.lifetime)
		}
	}
}

// stored takes the store script's reply for an item.
func (b *batch) stored(it *item, reply any) error {
	switch r := reply.(type) {
	case int64:
		if r == 1 {
			b.x.metrics.overflow.Inc()
		}
		return nil
	case string:
		e, _, err := cutEntry(r)
		if err != nil {
			return b.x.damaged(it.home, it.claim.Digest)
		}
		if e.ref.Coordinates == it.ref.Coordinates { // its own: a replay
			if len(e.verdict) > 0 {
				b.x.metrics.replayed.Inc()
			}
			return b.settle(it, e)
		}
		c := article.Article{
			Coordinates: e.ref.Coordinates, ID: e.ref.ID, Time: time.UnixMilli(e.ms),
			Digest: e.digest, Fingerprint: it.claim.Fingerprint, LittleText: e.little,
			// The sums of the same text; only where it was cut otherwise they may differ, and only in their size.
			Sums: it.claim.Sums, Anchors: it.claim.Anchors, Signature: e.signature,
		}
		it.repeats = b.item(c)
		return b.settle(it.repeats, e)
	default:
		return fmt.Errorf("insert: reply of type %T", reply)
	}
}

// settle takes over what an item's entry says: its verdict, if there is one, and the id, which a replay may have read from
// another field.
func (b *batch) settle(it *item, e entry) error {
	it.ref = e.ref
	if len(e.verdict) == 0 {
		return nil
	}
	var err error
	if it.verdict, err = decodeVerdict(e.verdict, it.ref); err != nil {
		return b.x.damaged(it.home, it.claim.Digest)
	}
	return nil
}
