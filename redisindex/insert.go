package redisindex

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline"
)

// insert puts the fingerprints into the lists of their blocks, registers the generations and stores the entries.
func (b *batch) insert(ctx context.Context) error {
	x, pipe := b.x, b.x.client.Pipeline()
	lifetime := int64(x.layout.lifetime / time.Second)
	placed := b.placeLists(ctx, pipe, lifetime)
	generations := map[int64]bool{}
	stored := make([]*redis.Cmd, len(b.items))
	for i, it := range b.items {
		generations[it.home.generation] = true
		stored[i] = storeScript.EvalSha(ctx, pipe, []string{x.keys.entries(it.home)},
			it.home.name(), it.claim.Digest[:], appendEntry(nil, &it.claim, it.ms), x.entries, lifetime)
	}
	b.register(ctx, pipe, generations)
	if err := b.exec(ctx, "insert", pipe); err != nil {
		return err
	}
	for _, cmd := range placed {
		refused, _ := cmd.Val().(int64)
		x.metrics.full.Add(float64(refused))
	}
	for i, cmd := range stored {
		if err := b.stored(b.items[i], cmd.Val()); err != nil {
			return err
		}
	}
	return nil
}

// register notes the generations of the batch with the time they expire, and forgets those long expired: one
// lifetime later, so that processes whose clocks differ do not drop what another still writes.
func (b *batch) register(ctx context.Context, pipe redis.Pipeliner, generations map[int64]bool) {
	x, now := b.x, b.x.now()
	members := make([]redis.Z, 0, len(generations))
	for g := range generations {
		members = append(members, redis.Z{Score: float64(now.Add(x.layout.lifetime).Unix()), Member: g})
	}
	slices.SortFunc(members, func(a, b redis.Z) int { return cmp.Compare(a.Member.(int64), b.Member.(int64)) })
	key := x.keys.generations()
	pipe.ZAdd(ctx, key, members...)
	pipe.ZRemRangeByScore(ctx, key, "-inf", strconv.FormatInt(now.Add(-x.layout.lifetime).Unix(), 10))
	pipe.Expire(ctx, key, 2*x.layout.lifetime)
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
			return err
		}
		if e.ref.Coordinates == it.ref.Coordinates { // its own: a replay
			if len(e.verdict) > 0 {
				b.x.metrics.replayed.Inc()
			}
			return b.settle(it, e)
		}
		c := pipeline.Claim{
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

// settle takes over the verdict of an item's entry, if there is one.
func (b *batch) settle(it *item, e entry) (err error) {
	if len(e.verdict) > 0 {
		it.verdict, err = decodeVerdict(e.verdict, it.ref)
	}
	return err
}
