package redisindex

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

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

const (
	// listFieldBits is the number of low bits of a block value that are the field of its list; the others are in the key
	// of the hash. Many lists in a hash cost Redis less than a key for each, in memory and in look-ups, and the
	// articles of a batch, and the probes of an article, share commands. More bits would leave few keys to spread over
	// a cluster, and hashes so large that Redis stands still while one expires.
	listFieldBits = 10
	// listsPerCommand bounds the lists of one command, so that none keeps the server long.
	listsPerCommand = 128
	// maxListBytes bounds a list, so that neither a flood of articles on one template nor a phrase that everybody uses
	// makes all others read, and the log write, ever more. By a full list, newer articles are not found.
	maxListBytes = 2048 * fingerprintBytes
)

// packed keeps a list as a field of a hash that holds the lists of many block values: packed fingerprints.
type packed struct{ x *Index }

// hash is what lists of the same hash have in common: the value is without the bits of the field.
func (r blockRef) hash() blockRef {
	r.value >>= listFieldBits
	return r
}

// field is the name of the list within its hash.
func (r blockRef) field() any { return listFields[r.value%uint64(len(listFields))] }

// listFields are the names of all fields of a hash, made once: an article has some thirty.
var listFields = func() (names [1 << listFieldBits]any) {
	for i := range names {
		names[i] = string(binary.BigEndian.AppendUint16(nil, uint16(i)))
	}
	return names
}()

// byHash returns which of the lists can share a command, as indexes of refs.
func byHash(refs []blockRef) [][]int32 {
	var groups [][]int32
	at := map[blockRef]int{}
	for n, ref := range refs {
		i, known := at[ref.hash()]
		if !known || len(groups[i]) == listsPerCommand {
			i = len(groups)
			at[ref.hash()] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], int32(n))
	}
	return groups
}

func (p packed) store(ctx context.Context, pipe redis.Pipeliner, refs []blockRef, members []string) (stored func() error) {
	groups := byHash(refs)
	cmds := make([]*redis.Cmd, len(groups))
	for i, group := range groups {
		args := make([]any, 2, 2+2*len(group))
		args[0], args[1] = p.x.layout.lifetimeSeconds(), maxListBytes
		for _, n := range group {
			args = append(args, refs[n].field(), members[n])
		}
		cmds[i] = placeScript.EvalSha(ctx, pipe, []string{p.x.keys.lists(refs[group[0]])}, args...)
	}
	return func() error {
		for _, cmd := range cmds {
			if err := p.placed(ctx, cmd); err != nil {
				return err
			}
		}
		return nil
	}
}

// placed takes the place script's reply.
func (p packed) placed(ctx context.Context, cmd *redis.Cmd) error {
	reply, _ := cmd.Int64Slice()
	if len(reply) != 2 {
		return fmt.Errorf("place: reply %v", cmd.Val())
	}
	p.x.metrics.full.Add(float64(reply[0]))
	if reply[1] > 0 {
		p.x.metrics.damaged.Add(float64(reply[1]))
		p.x.life.damage()
		p.x.log.ErrorContext(ctx, "damaged block lists were cut to their whole fingerprints: copies of articles that they held can pass as unique; did another program write into this namespace?",
			"key", keyOf(cmd), "lists", reply[1])
	}
	return nil
}

// look reads the lists of one hash with one command.
func (p packed) look(ctx context.Context, pipe redis.Pipeliner, refs []blockRef) (lists func() ([]string, error)) {
	groups := byHash(refs)
	cmds := make([]*redis.SliceCmd, len(groups))
	for i, group := range groups {
		args := make([]any, 2, 2+len(group))
		args[0], args[1] = "hmget", p.x.keys.lists(refs[group[0]])
		for _, n := range group {
			args = append(args, refs[n].field())
		}
		cmds[i] = redis.NewSliceCmd(ctx, args...) // HMGet would make its arguments anew
		_ = pipe.Process(ctx, cmds[i])            // queues only
	}
	return func() ([]string, error) {
		lists := make([]string, len(refs))
		for i, group := range groups {
			replies := cmds[i].Val()
			if len(replies) != len(group) {
				return nil, fmt.Errorf("look: %d answers about %d block values", len(replies), len(group))
			}
			for j, n := range group {
				value, _ := replies[j].(string)                  // nil: no article has the value
				lists[n] = value[:min(len(value), maxListBytes)] // only a foreign value is longer
			}
		}
		return lists, nil
	}
}

// sets keeps a list as a Redis set of its own. Members are fingerprints as signed decimal numbers: Redis keeps sets of those
// as intsets, 8 bytes each, up to set-max-intset-entries members.
//
// A set may grow without a bound, but what is read of it is bounded: SRANDMEMBER with a count gives the whole set up to that
// size, at the price of SMEMBERS, and of a larger one so many of its members, drawn by the server. Which ones, differs from look to look; a
// verdict once written does not.
type sets struct{ x *Index }

const (
	// setBlockBits is the width of block values unless Config.BlockBits says otherwise.
	setBlockBits = 16
	// maxSetRead bounds the members that are read of a set. A longer one is a flood of articles on one template, or a phrase that everybody uses.
	maxSetRead = 2048
)

func (s sets) store(ctx context.Context, pipe redis.Pipeliner, refs []blockRef, members []string) (stored func() error) {
	for n, ref := range refs {
		key, args := s.x.keys.set(ref), make([]any, 0, len(members[n])/fingerprintBytes)
		for packed := members[n]; packed != ""; packed = packed[fingerprintBytes:] {
			args = append(args, int64(fingerprint(packed)))
		}
		pipe.SAdd(ctx, key, args...)
		pipe.Expire(ctx, key, s.x.layout.lifetime)
	}
	return func() error { return nil }
}

func (s sets) look(ctx context.Context, pipe redis.Pipeliner, refs []blockRef) (lists func() ([]string, error)) {
	cmds := make([]*redis.StringSliceCmd, len(refs))
	for n, ref := range refs {
		cmds[n] = pipe.SRandMemberN(ctx, s.x.keys.set(ref), maxSetRead)
	}
	return func() ([]string, error) {
		lists := make([]string, len(refs))
		var packed []byte
		for n, cmd := range cmds {
			packed = packed[:0]
			for _, member := range cmd.Val() {
				if fp, err := strconv.ParseInt(member, 10, 64); err == nil { // else it is foreign
					packed = binary.BigEndian.AppendUint64(packed, uint64(fp))
				}
			}
			lists[n] = string(packed)
		}
		return lists, nil
	}
}
