package redisindex

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/redis/go-redis/v9"
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
