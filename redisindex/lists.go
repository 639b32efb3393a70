package redisindex

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/redis/go-redis/v9"

	"echosieve/simhash"
)

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

// blockRef names one list: the fingerprints of a generation that have the value in the block.
type blockRef struct {
	generation int64
	block      int
	value      uint64
}

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

// placeLists queues the commands that put the fingerprints of all items into the lists of their blocks, and returns them.
// A list is written once, however many items belong there: its whole value goes to the log and to replicas.
func (b *batch) placeLists(ctx context.Context, pipe redis.Pipeliner) []*redis.Cmd {
	x := b.x
	var refs []blockRef
	var members []string // for each of refs
	at := map[blockRef]int{}
	var blocks []simhash.Block
	for _, it := range b.items {
		if it.claim.LittleText {
			continue
		}
		blocks = x.cfg.AppendPlaces(blocks[:0], it.claim.Fingerprint, it.claim.Anchors)
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
	groups := byHash(refs)
	cmds := make([]*redis.Cmd, len(groups))
	for i, group := range groups {
		args := make([]any, 2, 2+2*len(group))
		args[0], args[1] = x.layout.lifetimeSeconds(), maxListBytes
		for _, n := range group {
			args = append(args, refs[n].field(), members[n])
		}
		cmds[i] = placeScript.EvalSha(ctx, pipe, []string{x.keys.lists(refs[group[0]])}, args...)
	}
	return cmds
}

// readLists reads lists, those of one hash with one command, whichever articles want them.
func (b *batch) readLists(ctx context.Context, refs []blockRef) ([]string, error) {
	groups := byHash(refs)
	pipe := b.x.client.Pipeline()
	cmds := make([]*redis.SliceCmd, len(groups))
	for i, group := range groups {
		args := make([]any, 2, 2+len(group))
		args[0], args[1] = "hmget", b.x.keys.lists(refs[group[0]])
		for _, n := range group {
			args = append(args, refs[n].field())
		}
		cmds[i] = redis.NewSliceCmd(ctx, args...) // HMGet would make its arguments anew
		_ = pipe.Process(ctx, cmds[i])            // queues only
	}
	if err := b.exec(ctx, "look", pipe); err != nil {
		return nil, err
	}
	lists := make([]string, len(refs))
	for i, group := range groups {
		replies := cmds[i].Val()
		if len(replies) != len(group) {
			return nil, fmt.Errorf("look: %d answers about %d block values", len(replies), len(group))
		}
		for j, n := range group {
			list, _ := replies[j].(string)                 // nil: no article has the value
			lists[n] = list[:min(len(list), maxListBytes)] // only a foreign value is longer
			b.x.metrics.members.Add(float64(len(lists[n]) / fingerprintBytes))
		}
	}
	return lists, nil
}
