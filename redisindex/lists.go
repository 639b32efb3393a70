package redisindex

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"echosieve/simhash"
)

// The values of the setting redis.buckets: the ways in which Redis can hold block lists.
const (
	bucketsPacked = "packed"
	bucketsSets   = "sets"
)

// fingerprintBytes is the size of a fingerprint in a block list and as a field's name.
const fingerprintBytes = 8

// blockLists is a way in which Redis holds block lists. Both ways hand a list over as packed fingerprints: 8 bytes each, big-endian,
// one after another. They never use one key, because the layout's tag tells them apart.
type blockLists interface {
	// add queues the commands that add packed fingerprints, fingerprints[i] to the list refs[i]. All refs differ. When the pipeline
	// has run, the caller calls done, which checks the replies.
	add(ctx context.Context, pipe redis.Pipeliner, refs []listRef, fingerprints []string) (done func() error)
	// fetch queues the commands that read the lists, all different. When the pipeline has run, the caller calls lists, which returns
	// list i for refs[i].
	fetch(ctx context.Context, pipe redis.Pipeliner, refs []listRef) (lists func() ([]string, error))
}

func newBlockLists(x *Index) blockLists {
	if x.cfg.Buckets == bucketsSets {
		return setLists{x}
	}
	return packedLists{x}
}

// firstFingerprint decodes the first fingerprint of a list.
func firstFingerprint(list string) simhash.Fingerprint {
	return simhash.Fingerprint(binary.BigEndian.Uint64([]byte(list[:fingerprintBytes])))
}

// addToLists queues the commands that add the fingerprints of all tasks to their block lists. A list is written once, however many
// tasks belong there.
func (b *batch) addToLists(ctx context.Context, pipe redis.Pipeliner) (done func() error) {
	var refs []listRef
	var fingerprints []string // for each of refs
	at := map[listRef]int{}
	var blocks []simhash.Block
	for _, t := range b.tasks {
		if t.LittleText {
			continue
		}
		blocks = b.x.layout.plan.AppendStored(blocks[:0], &t.Article)
		name := t.field().name()
		for _, block := range blocks {
			ref := listRef{t.span, block.Index, block.Value}
			if n, seen := at[ref]; seen {
				fingerprints[n] += name
				continue
			}
			at[ref] = len(refs)
			refs = append(refs, ref)
			fingerprints = append(fingerprints, name)
		}
	}
	return b.x.lists.add(ctx, pipe, refs, fingerprints)
}

// fetchLists reads block lists, all different.
func (b *batch) fetchLists(ctx context.Context, refs []listRef) ([]string, error) {
	pipe := b.x.client.Pipeline()
	fetched := b.x.lists.fetch(ctx, pipe, refs)
	if err := b.exec(ctx, "look", pipe); err != nil {
		return nil, err
	}
	lists, err := fetched()
	for _, l := range lists {
		b.x.metrics.members.Add(float64(len(l) / fingerprintBytes))
	}
	return lists, err
}

const (
	// listFieldBits is the number of low bits of a block value that name the field of its list. The other bits are in the key of the
	// hash. More bits would leave few keys to spread over a cluster, and hashes so large that Redis stands still while one expires.
	listFieldBits = 11
	// listsPerCommand bounds the lists of one command, so that no command occupies the server for long.
	listsPerCommand = 128
	// maxListBytes bounds a list to 2,048 fingerprints. Articles on one template, or a phrase that everybody uses (anchors are
	// samples of the wording), make one list ever longer: without a bound all other articles would read more and more, and so would
	// the log of Redis and its replicas, as a list is written as a whole. An article that finds its list full is not added, so
	// later articles do not find it through this list.
	maxListBytes = 2048 * fingerprintBytes
)

// packedLists holds a list as one field of a hash. The hash holds the lists of many block values.
//
// A key for each list would cost more. A field has neither an expiry nor a key object, and one command reads or writes many fields:
// the articles of a batch share commands, and so do the probes of an article, also on a cluster. With a million articles the server
// needs a quarter less CPU time than with a string for each list and MGET. With Redis sets it needs 2.2 times as much, and the
// client 3.9 times (docs/tuning.md). The rest of the cost is one search in a hash table for each list, and copying.
//
// Redis cannot append to a field, so a list is written as a whole, once a batch. A second, short field for the latest eight
// fingerprints was tried. It brings the log at a million articles from 5.3 to 1.7 kB for each article, but each look-up then reads
// two fields, which costs the server an eighth more CPU time (0.6 us, four cache misses).
type packedLists struct{ x *Index }

// hash is the part of the name that lists in one hash have in common: the value without the bits of the field.
func (r listRef) hash() listRef {
	r.value >>= listFieldBits
	return r
}

// field is the name of the list within its hash.
func (r listRef) field() any { return listFields[r.value%uint64(len(listFields))] }

// listFields are the names of all fields of a hash. They are made once, because an article uses about thirty of them.
var listFields = func() (names [1 << listFieldBits]any) {
	for i := range names {
		names[i] = string(binary.BigEndian.AppendUint16(nil, uint16(i)))
	}
	return names
}()

// groupByHash groups the lists that can share a command. A group holds indexes of refs.
func groupByHash(refs []listRef) [][]int32 {
	var groups [][]int32
	at := map[listRef]int{}
	for n, ref := range refs {
		i, seen := at[ref.hash()]
		if !seen || len(groups[i]) == listsPerCommand {
			i = len(groups)
			at[ref.hash()] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], int32(n))
	}
	return groups
}

func (p packedLists) add(ctx context.Context, pipe redis.Pipeliner, refs []listRef, fingerprints []string) (done func() error) {
	groups := groupByHash(refs)
	cmds := make([]*redis.Cmd, len(groups))
	for i, group := range groups {
		args := make([]any, 2, 2+2*len(group))
		args[0], args[1] = p.x.layout.lifetimeSeconds(), maxListBytes
		for _, n := range group {
			args = append(args, refs[n].field())
		}
		for _, n := range group {
			args = append(args, fingerprints[n])
		}
		cmds[i] = addScript.EvalSha(ctx, pipe, []string{p.x.keys.listHash(refs[group[0]])}, args...)
	}
	return func() error {
		for _, cmd := range cmds {
			if err := p.added(ctx, cmd); err != nil {
				return err
			}
		}
		return nil
	}
}

// added checks a reply of add.lua.
func (p packedLists) added(ctx context.Context, cmd *redis.Cmd) error {
	reply, _ := cmd.Int64Slice()
	if len(reply) != 2 {
		return fmt.Errorf("place: reply %v", cmd.Val())
	}
	p.x.metrics.full.Add(float64(reply[0]))
	if reply[1] > 0 {
		p.x.metrics.damaged.Add(float64(reply[1]))
		p.x.watermarks.noteDamage()
		p.x.log.ErrorContext(ctx, "damaged block lists were cut to their whole fingerprints: copies of articles that they held can pass as unique; did another program write into this namespace?",
			"key", keyOf(cmd), "lists", reply[1])
	}
	return nil
}

func (p packedLists) fetch(ctx context.Context, pipe redis.Pipeliner, refs []listRef) (lists func() ([]string, error)) {
	groups := groupByHash(refs)
	cmds := make([]*redis.SliceCmd, len(groups))
	for i, group := range groups {
		args := make([]any, 2, 2+len(group))
		args[0], args[1] = "hmget", p.x.keys.listHash(refs[group[0]])
		for _, n := range group {
			args = append(args, refs[n].field())
		}
		cmds[i] = redis.NewSliceCmd(ctx, args...) // pipe.HMGet would copy the arguments
		_ = pipe.Process(ctx, cmds[i])            // in a pipeline it only queues the command, so there is no error
	}
	return func() ([]string, error) {
		lists := make([]string, len(refs))
		for i, group := range groups {
			replies := cmds[i].Val()
			if len(replies) != len(group) {
				return nil, fmt.Errorf("look: %d replies for %d block values", len(replies), len(group))
			}
			for j, n := range group {
				value, _ := replies[j].(string)                  // nil: no article has the value
				lists[n] = value[:min(len(value), maxListBytes)] // only a value that another program wrote is longer
			}
		}
		return lists, nil
	}
}

const (
	// setBlockBits is the width of block values with redis.buckets: sets, unless Config.BlockBits says otherwise.
	setBlockBits = 16
	// maxSetRead bounds the members that are read of a set, for the reason of maxListBytes.
	maxSetRead = 2048
)

// setLists holds each list as a Redis set, which other programs can read. Members are fingerprints as signed decimal numbers. Redis
// keeps sets of such numbers as intsets, 8 bytes for each member, as long as they have at most set-max-intset-entries members.
//
// A set may grow without a bound, but a look-up reads at most maxSetRead members. SRANDMEMBER with a count returns the whole set if the
// set is not larger, at the price of SMEMBERS. Of a larger set the server selects members at random. So two look-ups in a large set
// may find different articles. Verdicts that were written do not change by that.
type setLists struct{ x *Index }

func (s setLists) add(ctx context.Context, pipe redis.Pipeliner, refs []listRef, fingerprints []string) (done func() error) {
	for n, ref := range refs {
		key, args := s.x.keys.listSet(ref), make([]any, 0, len(fingerprints[n])/fingerprintBytes)
		for packed := fingerprints[n]; packed != ""; packed = packed[fingerprintBytes:] {
			args = append(args, int64(firstFingerprint(packed)))
		}
		pipe.SAdd(ctx, key, args...)
		pipe.Expire(ctx, key, s.x.layout.lifetime)
	}
	return func() error { return nil }
}

func (s setLists) fetch(ctx context.Context, pipe redis.Pipeliner, refs []listRef) (lists func() ([]string, error)) {
	cmds := make([]*redis.StringSliceCmd, len(refs))
	for n, ref := range refs {
		cmds[n] = pipe.SRandMemberN(ctx, s.x.keys.listSet(ref), maxSetRead)
	}
	return func() ([]string, error) {
		lists := make([]string, len(refs))
		for n, cmd := range cmds {
			lists[n] = packMembers(cmd.Val())
		}
		return lists, nil
	}
}

// packMembers packs the members of a set. A member that is no number was written by another program.
func packMembers(members []string) string {
	packed := make([]byte, 0, len(members)*fingerprintBytes)
	for _, member := range members {
		if fp, err := strconv.ParseInt(member, 10, 64); err == nil {
			packed = binary.BigEndian.AppendUint64(packed, uint64(fp))
		}
	}
	return string(packed)
}
