package redisindex

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"echosieve/pipeline/lookup"
	"echosieve/simhash"
)

// The number of entries in a hash and of fingerprints in a list at the expected volume, at least and less than twice as
// many. Below it the overhead of a hash or list weighs; above it look-ups read too much, and Redis searches its listpacks, from the
// front, too long: with 16 entries in a hash, an article takes 6 bytes less, and the server searches up to 32 entries. Fuller lists of fewer bits find more with the same look-ups.
const (
	perHash = 4
	perList = 32
)

// Bounds of the bits that tell keys of one kind apart.
const (
	minKeyBits = 6
	maxKeyBits = 32
)

// Plan is where an index of this configuration, which must be valid, stores articles and looks them up.
func (c Config) Plan() lookup.Plan { return newLayout(c).plan }

// layout is where the index puts what, as it follows from a Config.
type layout struct {
	windowMs     int64
	generationMs int64         // whole seconds, at most windowMs
	lifetime     time.Duration // of a key after its last write: the window, and as long as processing may fall behind
	shardBits    int
	plan         lookup.Plan
	tag          string // names the layout in every key
}

func newLayout(c Config) layout {
	seconds := max(1, (int64(c.Window/time.Second)+int64(c.Generations)-1)/int64(c.Generations))
	class := bits.Len(uint(max(1, c.ExpectedArticles/c.Generations-1)))
	keyBits := func(perKey uint) int { return min(max(minKeyBits, class-bits.Len(perKey)), maxKeyBits) }
	blockBits := c.BlockBits
	kind := strconv.Itoa(listFieldBits)
	if c.Buckets == bucketsSets {
		kind = bucketsSets
		blockBits = cmp.Or(blockBits, min(setBlockBits, 64/c.Blocks))
	}
	if blockBits == 0 {
		blockBits = min(keyBits(perList), 64/c.Blocks) // wider ones would overlap, and the pigeonhole principle fail
	}
	shardBits := keyBits(perHash)
	return layout{
		windowMs:     c.Window.Milliseconds(),
		generationMs: seconds * 1000,
		lifetime:     c.Window + min(c.Window/2, time.Duration(seconds)*time.Second) + time.Second,
		shardBits:    shardBits,
		plan:         lookup.New(c.Search, blockBits),
		tag:          fmt.Sprintf("%s.%d.%dx%d.%s", strconv.FormatInt(seconds, 36), shardBits, c.Blocks, blockBits, kind),
	}
}

// lifetimeSeconds is lifetime as EXPIRE wants it.
func (l layout) lifetimeSeconds() int64 { return int64(l.lifetime / time.Second) }

// generation numbers the piece of time in which a timestamp lies.
func (l layout) generation(ms int64) int64 { return ms / l.generationMs }

// reach returns the first and the last generation in which an article of that time can have a copy.
func (l layout) reach(ms int64) (first, last int64) {
	return l.generation(max(0, ms-l.windowMs)), l.generation(saturate(ms, l.windowMs))
}

// within says whether two times are at most the window apart. Neither is negative, so nothing overflows.
func (l layout) within(a, b int64) bool {
	return max(a, b)-min(a, b) <= l.windowMs
}

// saturate adds two numbers that are not negative and stays at the largest one instead of overflowing.
func saturate(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return 1<<63 - 1
}

// windowTime is an article's time in the window: milliseconds since 1970, and 1970 for anything earlier.
func windowTime(t time.Time) int64 { return max(0, t.UnixMilli()) }

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
