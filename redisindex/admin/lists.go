package admin

import (
	"context"
	"time"

	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
)

// List is a block list, or what a look-up reads of it.
type List struct {
	From         time.Time // the beginning of its slice
	Block        int       // its number; Config.Blocks is that of anchors
	Value        uint64    // of the block
	Fingerprints []simhash.Fingerprint
	Full         bool // it loses its oldest fingerprint for each new one
}

// SliceStart returns the beginning of the slice in which a time lies.
func (t *Tools) SliceStart(at time.Time) time.Time {
	return time.UnixMilli(t.keys.Layout.Start(t.keys.Layout.Slice(keyspace.WindowTime(at))))
}

// Lists calls fn with the block lists of each key.
func (k Keys) Lists(ctx context.Context, fn func([]List) error) error {
	for _, key := range k.names {
		if k.tools.keys.KindOf(key) != keyspace.KeyLists {
			continue
		}
		var lists []List
		err := k.tools.session.Patiently(ctx, "block lists", func() (err error) {
			lists, err = k.listsOf(ctx, key)
			return err
		})
		if err == nil {
			err = fn(lists)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// listsOf returns the block lists of a key: all fields of a hash, or a set.
func (k Keys) listsOf(ctx context.Context, key string) ([]List, error) {
	ref, err := k.tools.keys.ListOf(key)
	if err != nil {
		return nil, err
	}
	if k.tools.keys.Layout.Sets {
		members, err := k.node.SRandMemberN(ctx, key, keyspace.MaxMembers).Result()
		return []List{k.tools.newList(ref, keyspace.SetMembers(members))}, err
	}
	fields, err := k.node.HGetAll(ctx, key).Result()
	var lists []List
	for field, packed := range fields {
		if len(field) == 2 { // another program wrote other fields
			list := k.tools.keys.Layout.InHash(ref, field)
			lists = append(lists, k.tools.newList(list, k.tools.keys.Layout.Members(list, packed)))
		}
	}
	return lists, err
}

func (t *Tools) newList(ref keyspace.ListRef, fingerprints []simhash.Fingerprint) List {
	return List{
		From: time.UnixMilli(t.keys.Layout.Start(ref.Slice)), Block: ref.Block, Value: ref.Value,
		Fingerprints: fingerprints, Full: len(fingerprints) >= keyspace.MaxMembers,
	}
}
