package redisindex

import (
	"context"

	"github.com/redis/go-redis/v9"

	"echosieve/simhash"
)

// The kinds of buckets, by the name that the setting redis.buckets has for them.
const (
	bucketsPacked = "packed"
	bucketsSets   = "sets"
)

// blockRef names one list: the fingerprints of a generation that have the value in the block.
type blockRef struct {
	generation int64
	block      int
	value      uint64
}

// buckets is how Redis keeps block lists. Kinds never meet in a key: the layout's name tells them apart.
type buckets interface {
	// store queues what adds to each of refs, all different, the packed fingerprints of members. The function that it returns takes
	// the replies, once the pipeline has run.
	store(ctx context.Context, pipe redis.Pipeliner, refs []blockRef, members []string) (stored func() error)
	// look queues what reads each of refs, all different, and returns the function that takes the replies.
	look(ctx context.Context, pipe redis.Pipeliner, refs []blockRef) (lists func() ([]string, error))
}

func newBuckets(x *Index) buckets {
	if x.cfg.Buckets == bucketsSets {
		return sets{x}
	}
	return packed{x}
}

// storeLists queues the commands that put the fingerprints of all items into the lists of their blocks.
// A list is written once, however many items belong there.
func (b *batch) storeLists(ctx context.Context, pipe redis.Pipeliner) (stored func() error) {
	var refs []blockRef
	var members []string // for each of refs
	at := map[blockRef]int{}
	var blocks []simhash.Block
	for _, it := range b.items {
		if it.claim.LittleText {
			continue
		}
		blocks = b.x.layout.plan.AppendStored(blocks[:0], &it.claim)
		name := it.home.name()
		for _, block := range blocks {
			ref := blockRef{it.home.generation, block.Index, block.Value}
			if n, known := at[ref]; known {
				members[n] += name
				continue
			}
			at[ref] = len(refs)
			refs = append(refs, ref)
			members = append(members, name)
		}
	}
	return b.x.buckets.store(ctx, pipe, refs, members)
}

// readLists reads lists, whichever articles want them.
func (b *batch) readLists(ctx context.Context, refs []blockRef) ([]string, error) {
	pipe := b.x.client.Pipeline()
	read := b.x.buckets.look(ctx, pipe, refs)
	if err := b.exec(ctx, "look", pipe); err != nil {
		return nil, err
	}
	lists, err := read()
	for _, l := range lists {
		b.x.metrics.members.Add(float64(len(l) / fingerprintBytes))
	}
	return lists, err
}
