package redisindex

import (
	"context"
	"encoding/binary"
	"strconv"

	"github.com/redis/go-redis/v9"
)

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
