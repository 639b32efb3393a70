package redisindex

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"

	"echosieve/simhash"
)

// keys names every key of one index. Only the namespace may hold a cluster hash tag; without one the keys
// spread over all nodes.
type keys struct {
	prefix    string
	shardBits int
}

func newKeys(namespace string, l layout) keys {
	return keys{prefix: namespace + ":" + l.tag + ":", shardBits: l.shardBits}
}

// sequence is the ticket counter.
func (k keys) sequence() string { return k.prefix + "seq" }

// exists is the hash that says that a generation exists. It expires by the server's clock: those of processes may differ.
func (k keys) exists(generation int64) string {
	return k.prefix + "g:" + strconv.FormatInt(generation, 10)
}

// lists is the hash that holds the list.
func (k keys) lists(r blockRef) string { return k.block("b:", r.hash()) }

// set is the set that is the list.
func (k keys) set(r blockRef) string { return k.block("s:", r) }

func (k keys) block(kind string, r blockRef) string {
	buf := make([]byte, 0, 128)
	buf = append(append(buf, k.prefix...), kind...)
	buf = append(strconv.AppendInt(buf, r.generation, 10), ':')
	buf = append(strconv.AppendInt(buf, int64(r.block), 10), ':')
	return string(strconv.AppendUint(buf, r.value, 16))
}

// fieldRef names one field of entries: those of a fingerprint in a generation.
type fieldRef struct {
	generation  int64
	fingerprint simhash.Fingerprint
}

// entries is the hash that holds the field. The fingerprint is mixed first: those of one template differ in few
// bits and would crowd one shard.
func (k keys) entries(f fieldRef) string {
	shard := uint64(f.fingerprint) * 0x9E3779B97F4A7C15 >> (64 - k.shardBits)
	buf := make([]byte, 0, 128)
	buf = append(append(buf, k.prefix...), "o:"...)
	buf = append(strconv.AppendInt(buf, f.generation, 10), ':')
	return string(strconv.AppendUint(buf, shard, 16))
}

// name is the field's name within the hash.
func (f fieldRef) name() string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(f.fingerprint)))
}

// damaged is the hash that keeps a copy of a damaged field of another key.
func (k keys) damaged(key, field string) string {
	return k.prefix + "d:" + strings.TrimPrefix(key, k.prefix) + ":" + hex.EncodeToString([]byte(field))
}

// fingerprintBytes is the size of a fingerprint in a list and as a field's name.
const fingerprintBytes = 8

// fingerprint reads the first fingerprint of a list.
func fingerprint(list string) simhash.Fingerprint {
	return simhash.Fingerprint(binary.BigEndian.Uint64([]byte(list[:fingerprintBytes])))
}
