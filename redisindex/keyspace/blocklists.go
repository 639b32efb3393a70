package keyspace

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/lookup"
	"echosieve/simhash"
)

// MaxMembers is lookup.MaxMembers. It also bounds the log of Redis and its replicas, as a packed list is
// written as a whole. Of a set, which may grow, no more members are read.
const MaxMembers = lookup.MaxMembers

// MemberBytes is the size of a fingerprint in a packed list of the block. The block value names the list, so
// its bits are left out: with values of 16 bits a fingerprint takes 6 bytes, and 8 in the list of an anchor.
func (l *Layout) MemberBytes(block int) int { return bytesOf(l.Plan.Cut(block)) }

func bytesOf(c simhash.Cut) int { return (c.RestBits() + 7) / 8 }

// AppendMember packs a fingerprint for a list.
func (l *Layout) AppendMember(dst []byte, r ListRef, fp simhash.Fingerprint) []byte {
	cut := l.Plan.Cut(r.Block)
	return append(dst, binary.BigEndian.AppendUint64(make([]byte, 0, 8), cut.Rest(fp))[8-bytesOf(cut):]...)
}

// members returns the fingerprints of a packed list, at most MaxMembers: only a value that another program
// wrote holds more. Bytes behind the last whole fingerprint are damage.
func (l *Layout) members(r ListRef, list string) []simhash.Fingerprint {
	cut := l.Plan.Cut(r.Block)
	size := bytesOf(cut)
	fingerprints := make([]simhash.Fingerprint, min(len(list)/size, MaxMembers))
	for i := range fingerprints {
		var word [8]byte
		copy(word[8-size:], list[i*size:(i+1)*size])
		fingerprints[i] = cut.Join(r.Value, binary.BigEndian.Uint64(word[:]))
	}
	return fingerprints
}

const (
	// listsPerCommand bounds the lists of one command, so that no command occupies the server for long.
	listsPerCommand = 128
	// TableBytes is the length of the value with which add.lua makes a hash of block lists a hash table. It
	// must be longer than hash-max-listpack-value. Redis searches a listpack from the front: without the
	// value, an article cost the server 150 us while the index was young.
	TableBytes = 2048
)

// Field is the name of the list within its hash.
func (l *Layout) Field(r ListRef) any { return listFields[r.Value&(1<<l.fieldBits-1)] }

// listFields are the names of all fields of a hash. They are made once, because an article uses about thirty of them.
var listFields = func() (names [1 << maxFieldBits]any) {
	for i := range names {
		names[i] = string(binary.BigEndian.AppendUint16(nil, uint16(i)))
	}
	return names
}()

// GroupByHash groups the lists that can share a command. A group holds indexes of refs.
func (l *Layout) GroupByHash(refs []ListRef) [][]int32 {
	var groups [][]int32
	at := map[ListRef]int{}
	for n, ref := range refs {
		i, seen := at[l.hash(ref)]
		if !seen || len(groups[i]) == listsPerCommand {
			i = len(groups)
			at[l.hash(ref)] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], int32(n))
	}
	return groups
}

// FetchLists queues the commands that read block lists, all different. When the pipeline has run, the caller
// calls lists, which returns list i for refs[i].
func (k Keys) FetchLists(ctx context.Context, pipe redis.Pipeliner, refs []ListRef) (
	lists func() ([][]simhash.Fingerprint, error)) {
	if k.Layout.Sets {
		return k.fetchSets(ctx, pipe, refs)
	}
	groups := k.Layout.GroupByHash(refs)
	cmds := make([]*redis.SliceCmd, len(groups))
	for i, group := range groups {
		args := make([]any, 2, 2+len(group))
		args[0], args[1] = "hmget", k.List(refs[group[0]])
		for _, n := range group {
			args = append(args, k.Layout.Field(refs[n]))
		}
		cmds[i] = redis.NewSliceCmd(ctx, args...) // pipe.HMGet would copy the arguments
		_ = pipe.Process(ctx, cmds[i])            // in a pipeline it only queues the command, so there is no error
	}
	return func() ([][]simhash.Fingerprint, error) {
		lists := make([][]simhash.Fingerprint, len(refs))
		for i, group := range groups {
			replies := cmds[i].Val()
			if len(replies) != len(group) {
				return nil, fmt.Errorf("look_up: %d replies for %d block values", len(replies), len(group))
			}
			for j, n := range group {
				if packed, stored := replies[j].(string); stored {
					lists[n] = k.Layout.members(refs[n], packed)
				}
			}
		}
		return lists, nil
	}
}

func (k Keys) fetchSets(ctx context.Context, pipe redis.Pipeliner, refs []ListRef) (
	lists func() ([][]simhash.Fingerprint, error)) {
	cmds := make([]*redis.StringSliceCmd, len(refs))
	for n, ref := range refs {
		cmds[n] = pipe.SRandMemberN(ctx, k.List(ref), MaxMembers)
	}
	return func() ([][]simhash.Fingerprint, error) {
		lists := make([][]simhash.Fingerprint, len(refs))
		for n, cmd := range cmds {
			members := cmd.Val()
			lists[n] = make([]simhash.Fingerprint, 0, len(members))
			for _, member := range members { // one that is no number was written by another program
				if fp, err := strconv.ParseInt(member, 10, 64); err == nil {
					lists[n] = append(lists[n], simhash.Fingerprint(fp))
				}
			}
		}
		return lists, nil
	}
}
