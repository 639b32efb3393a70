package keyspace

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"echosieve/simhash"
)

// Keys names every key of one index. Only the namespace may hold a cluster hash tag. Without a hash tag the
// keys spread over all nodes of a cluster.
type Keys struct {
	ID     ID
	Layout Layout
	Prefix string
}

// New returns the keys of the index that a configuration makes in a database of Redis.
func New(c Config, database int) Keys {
	id := IDOf(c, database)
	return Keys{ID: id, Layout: newLayout(c), Prefix: id.Prefix()}
}

// Sequence is the ticket counter.
func (k Keys) Sequence() string { return k.Prefix + SequenceKey }

// SequenceKey ends the name of the ticket counter. Every index that was used has one.
const SequenceKey = "seq"

// Exists is the hash whose existence says that the slice holds entries. Redis expires it by its own clock,
// because the clocks of processes may differ.
func (k Keys) Exists(slice int64) string {
	return k.Prefix + "g:" + strconv.FormatInt(slice, 10)
}

// ListRef names one block list: the fingerprints of a slice that are stored under the value of the block.
type ListRef struct {
	Slice int64
	Block int
	Value uint64
}

// List is the key of a list: the hash that holds it as a field, or the Redis set that it is.
func (k Keys) List(r ListRef) string {
	kind := "s:"
	if !k.Layout.Sets {
		kind, r = "b:", k.Layout.hash(r)
	}
	buf := make([]byte, 0, 128)
	buf = append(append(buf, k.Prefix...), kind...)
	buf = append(strconv.AppendInt(buf, r.Slice, 10), ':')
	buf = append(strconv.AppendInt(buf, int64(r.Block), 10), ':')
	return string(strconv.AppendUint(buf, r.Value, 16))
}

// hash is the part of the name that lists in one hash have in common: the value without the bits of the field.
func (l *Layout) hash(r ListRef) ListRef {
	r.Value >>= l.fieldBits
	return r
}

// FieldRef names one field of entries: the entries that have a fingerprint in a slice.
type FieldRef struct {
	Slice       int64
	Fingerprint simhash.Fingerprint
}

// Entries is the hash that holds the field. Fingerprints of articles on one template differ in few bits. The
// multiplication spreads them over all hashes: they would crowd one hash otherwise.
func (k Keys) Entries(f FieldRef) string {
	shard := uint64(f.Fingerprint) * 0x9E3779B97F4A7C15 >> (64 - k.Layout.shardBits)
	buf := make([]byte, 0, 128)
	buf = append(append(buf, k.Prefix...), "o:"...)
	buf = append(strconv.AppendInt(buf, f.Slice, 10), ':')
	return string(strconv.AppendUint(buf, shard, 16))
}

// FieldBytes is the length of the name of a field of entries. The name of an overflow entry's field is longer.
const FieldBytes = 8

// Name is the field's name within the hash.
func (f FieldRef) Name() string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(f.Fingerprint)))
}

// DamagedCopy is the hash that holds a copy of a damaged field of another key.
func (k Keys) DamagedCopy(key, field string) string {
	return k.Prefix + "d:" + strings.TrimPrefix(key, k.Prefix) + ":" + hex.EncodeToString([]byte(field))
}

// Handover is the hash that says where the commits of a group in other indexes end, and up to where this
// index was filled.
func (k Keys) Handover(group string) string { return k.Prefix + "h:" + group }

// StoryEdition holds the name of the edition of stories.
func (k Keys) StoryEdition() string { return k.Prefix + "t" }

// Story is the state of the story of a root, whose coordinates are given.
func (k Keys) Story(edition, root string) string {
	return k.Prefix + "t:" + edition + ":" + root
}

// Forgotten is the hash of the articles that were forgotten in any index of a namespace.
func Forgotten(namespace string) string { return namespace + ":forgotten" }

// Released is the hash of the records that were released in any index of a namespace.
func Released(namespace string) string { return namespace + ":released" }

// clusterMarkers is the number of markers on a cluster. They are spread evenly over the slots, so every
// master that serves 512 slots in a row holds at least one. If a master without a marker loses its data,
// nobody notices.
const clusterMarkers = 64

// slotCount is the number of slots of every Redis Cluster.
const slotCount = 16384

// Markers names the markers of an index (see watermarks). A single server has one marker. A namespace with a
// hash tag has one marker as well, because all its keys lie on one node.
func (k Keys) Markers(cluster bool) []string {
	if !cluster || strings.Contains(k.Prefix, "{") {
		return []string{k.Prefix + "life"}
	}
	names := make([]string, clusterMarkers)
	for n, missing := 0, clusterMarkers; missing > 0; n++ {
		tag := strconv.Itoa(n)
		if at := slotOf(tag) * clusterMarkers / slotCount; names[at] == "" {
			names[at] = k.Prefix + "life:{" + tag + "}"
			missing--
		}
	}
	return names
}

// slotOf is the slot of a hash tag: CRC-16/XMODEM modulo the number of slots, as Redis' cluster specification says.
func slotOf(tag string) int {
	crc := uint16(0)
	for _, c := range []byte(tag) {
		crc ^= uint16(c) << 8
		for range 8 {
			if carry := crc&0x8000 != 0; carry {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slotCount
}

// KeyKind is a kind of key of the index.
type KeyKind string

// The kinds of key.
const (
	KeyEntries KeyKind = "entries"     // hashes of entries
	KeyLists   KeyKind = "block lists" // hashes of block lists, or sets
	KeyDamaged KeyKind = "damaged"     // copies of damaged fields
	KeyOthers  KeyKind = "others"      // the counter, slices, markers, handovers
)

// Parse returns the kind of a key of the index and, of a key of entries, the slice in its name.
func (k Keys) Parse(key string) (kind KeyKind, slice int64, err error) {
	name := strings.TrimPrefix(key, k.Prefix)
	parts := strings.Split(name, ":")
	switch {
	case strings.Contains(name, "{"):
		// a fence, which has the name of the key that was written before it, or a marker
	case parts[0] == "o" && len(parts) < 3:
		return KeyEntries, 0, fmt.Errorf("redisindex: %q is no key of the index", key)
	case parts[0] == "o":
		slice, err = strconv.ParseInt(parts[1], 10, 64)
		return KeyEntries, slice, err
	case parts[0] == "b", parts[0] == "s":
		return KeyLists, 0, nil
	case parts[0] == "d":
		return KeyDamaged, 0, nil
	}
	return KeyOthers, 0, nil
}
