package keyspace

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// KeyKind is a kind of key of the index.
type KeyKind string

// The kinds of key.
const (
	KeyEntries KeyKind = "entries"     // hashes of entries
	KeyLists   KeyKind = "block lists" // hashes of block lists, or sets
	KeyDamaged KeyKind = "damaged"     // copies of damaged fields
	KeyOthers  KeyKind = "others"      // the counter, slices, markers, progress of refills
)

// KindOf returns the kind of a key of the index.
func (k Keys) KindOf(key string) KeyKind {
	name := strings.TrimPrefix(key, k.Prefix)
	if strings.Contains(name, "{") { // a fence, which has the name of the key that was written before it, or a marker
		return KeyOthers
	}
	switch name, _, _ = strings.Cut(name, ":"); name {
	case "o":
		return KeyEntries
	case "b", "s":
		return KeyLists
	case "d":
		return KeyDamaged
	default:
		return KeyOthers
	}
}

// SliceOf returns the slice in the name of a key of entries or block lists.
func (k Keys) SliceOf(key string) (int64, error) {
	parts := strings.Split(strings.TrimPrefix(key, k.Prefix), ":")
	if len(parts) < 3 {
		return 0, fmt.Errorf("redisindex: %q is no key of the index", key)
	}
	return strconv.ParseInt(parts[1], 10, 64)
}

// ListOf returns the block list that is a key. If the key is a hash of lists, the value lacks the bits of the field (see inHash).
func (k Keys) ListOf(key string) (ListRef, error) {
	parts := strings.Split(strings.TrimPrefix(key, k.Prefix), ":")
	if len(parts) != 4 {
		return ListRef{}, fmt.Errorf("%q is no key of a block list", key)
	}
	slice, badSlice := strconv.ParseInt(parts[1], 10, 64)
	block, badBlock := strconv.Atoi(parts[2])
	value, badValue := strconv.ParseUint(parts[3], 16, 64)
	if err := errors.Join(badSlice, badBlock, badValue); err != nil {
		return ListRef{}, fmt.Errorf("%q is no key of a block list: %w", key, err)
	}
	return ListRef{slice, block, value}, nil
}
