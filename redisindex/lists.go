package redisindex

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/lookup"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
)

// addToLists queues the commands that add the fingerprints of all tasks to their block lists. A list is
// written once, however many tasks belong there. When the pipeline has run, the caller calls done, which checks
// the replies. Of the two ways to hold lists none uses a key of the other, because the layout's tag tells them apart.
func (c storing) addToLists(ctx context.Context, pipe redis.Pipeliner) (done func() error) {
	most := len(c.tasks) * (c.x.cfg.Blocks + lookup.StoredAnchors)
	refs := make([]keyspace.ListRef, 0, most)
	fingerprints := make([][]simhash.Fingerprint, 0, most) // for each of refs
	at := make(map[keyspace.ListRef]int, most)
	own := make([]simhash.Fingerprint, len(c.tasks)) // fingerprints begin here: hardly any list gets several
	var blocks []simhash.Block
	for i, t := range c.tasks {
		if t.LittleText {
			continue
		}
		blocks = c.x.keys.Layout.Plan.AppendStored(blocks[:0], &t.Article)
		own[i] = t.Fingerprint
		for _, block := range blocks {
			ref := keyspace.ListRef{Slice: t.Slice, Block: block.Index, Value: block.Value}
			if n, seen := at[ref]; seen {
				fingerprints[n] = append(fingerprints[n], t.Fingerprint)
				continue
			}
			at[ref] = len(refs)
			refs = append(refs, ref)
			fingerprints = append(fingerprints, own[i:i+1:i+1])
		}
	}
	if c.x.keys.Layout.Sets {
		c.addToSets(ctx, pipe, refs, fingerprints)
		return func() error { return nil }
	}
	return c.addToPacked(ctx, pipe, refs, fingerprints)
}

// addToPacked queues the commands that add fingerprints, fingerprints[i] to the list refs[i]; all refs differ. A
// packed list is one field of a hash, which holds the lists of many block values.
//
// A key for each list would cost more. A field has neither an expiry nor a key object, and one command reads
// or writes many fields: the articles of a claim share commands, and so do the probes of an article, also on
// a cluster. With a million articles the server needs a quarter less CPU time than with a string for each
// list and MGET. With Redis sets it needs 1.3 times as much, and the client 1.6 times (docs/benchmarks.md). The
// rest of the cost is one search in a hash table for each list, and copying.
//
// Redis cannot append to a field, so a list is written as a whole, once a claim. A second, short field would make the log
// smaller, and each look-up dearer.
func (c storing) addToPacked(ctx context.Context, pipe redis.Pipeliner, refs []keyspace.ListRef,
	fingerprints [][]simhash.Fingerprint) (done func() error) {
	layout := &c.x.keys.Layout
	groups := layout.GroupByHash(refs)
	cmds := make([]*redis.Cmd, len(groups))
	for i, group := range groups {
		args := append(make([]any, 0, 3+2*len(group)), layout.LifetimeSeconds(),
			layout.MemberBytes(refs[group[0]].Block), keyspace.MaxMembers)
		for _, n := range group {
			args = append(args, layout.Field(refs[n]))
		}
		for _, n := range group {
			var members []byte
			for _, fp := range fingerprints[n] {
				members = layout.AppendMember(members, refs[n], fp)
			}
			args = append(args, members)
		}
		cmds[i] = addScript.EvalSha(ctx, pipe, []string{c.x.keys.List(refs[group[0]])}, args...)
	}
	return func() error {
		for _, cmd := range cmds {
			if err := c.added(ctx, cmd); err != nil {
				return err
			}
		}
		return nil
	}
}

// added checks a reply of add.lua.
func (c storing) added(ctx context.Context, cmd *redis.Cmd) error {
	reply, _ := cmd.Int64Slice()
	if len(reply) != 2 {
		return fmt.Errorf("store_lists: reply %v", cmd.Val())
	}
	c.x.metrics.full.Add(float64(reply[0]))
	if reply[1] > 0 {
		c.x.metrics.damaged.Add(float64(reply[1]))
		c.x.losses.SetAside()
		c.x.log.ErrorContext(ctx,
			"damaged block lists were cut to their whole fingerprints: copies of articles that they held can pass "+
				"as unique; did another program write into this namespace?",
			"key", connection.KeyOf(cmd), "lists", reply[1])
	}
	return nil
}

// addToSets is addToPacked for lists that are Redis sets, which other programs can read. Members are
// fingerprints as signed decimal numbers. Redis keeps sets of such numbers as intsets, 8 bytes for each member,
// as long as they have at most set-max-intset-entries members.
//
// A set may grow without a bound, but a look-up reads at most keyspace.MaxMembers members. SRANDMEMBER with a
// count returns the whole set if the set is not larger, at the price of SMEMBERS. Of a larger set the server
// selects members at random. So two look-ups in a large set may find different articles. Verdicts that were
// written do not change by that.
func (c storing) addToSets(ctx context.Context, pipe redis.Pipeliner, refs []keyspace.ListRef,
	fingerprints [][]simhash.Fingerprint) {
	for n, ref := range refs {
		key, args := c.x.keys.List(ref), make([]any, 0, len(fingerprints[n]))
		for _, fp := range fingerprints[n] {
			args = append(args, int64(fp))
		}
		pipe.SAdd(ctx, key, args...)
		pipe.Expire(ctx, key, c.x.keys.Layout.Lifetime)
	}
}
