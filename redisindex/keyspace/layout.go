package keyspace

import (
	"cmp"
	"fmt"
	"math/bits"
	"strconv"
	"time"

	"echosieve/pipeline/lookup"
)

// Numbers of entries in a hash, and of fingerprints in a block list, at the expected volume: at least so
// many, and less than twice as many. With fewer, the overhead of each hash or list takes most of the memory.
// With more, each look-up reads more, and Redis searches hashes of entries, which are listpacks, from the
// front. Example: 8 entries in a hash instead of 4 save 16 bytes for each article, but beside 5 million
// articles the server needs a third more CPU time.
const (
	EntriesPerHash = 4
	// One bit less in a block value doubles the length of every list: each look-up then finds more of the
	// copies whose bits differ, and reads twice as many fingerprints, and each article writes twice as many
	// to the log.
	fingerprintsPerList = 8
)

// Bounds, in bits, of the numbers in names of keys: the number of a hash of entries, and the value of a block.
const (
	minKeyBits = 6
	maxKeyBits = 32
)

const (
	// hashBits is the number of high bits of a block value that are in the key of the hash of its list, if
	// the other bits are between minFieldBits and maxFieldBits. These name the field. With more hashes fewer
	// lists share a command. With fewer there are few keys to spread over a cluster, and hashes so large that
	// Redis stands still while one expires: 3 ms for 2^13 fields.
	hashBits     = 7
	minFieldBits = 12
	maxFieldBits = 13
)

// fieldBits is the number of low bits of a block value that name the field of its list.
func fieldBits(blockBits int) int { return min(max(minFieldBits, blockBits-hashBits), maxFieldBits) }

// setBlockBits is the width of block values with redis.buckets: sets, unless Config.BlockBits says otherwise.
const setBlockBits = 16

// version is that of entries. An entry of an unknown version is treated as damaged, so the version is in every key:
// processes of two versions beside each other share no entry.
const version = 4

// MaxEntries is the number of entries that the field of one fingerprint holds. Further entries with that
// fingerprint are overflow entries: each lies in a separate field, whose name is fingerprint and digest.
// Replays and exact repeats find it there, but it is not offered as an original.
//
// An overflow entry is invisible to other articles. It must therefore lose every comparison: its ticket is
// maxTicket, so any article that it finds counts as the earlier one (lua/ticket.lua).
const MaxEntries = lookup.MaxEntries

// Plan returns where an index of this configuration stores an article and looks it up. The configuration must
// be valid. It is for tools that explain why an index finds an article or does not.
func (c Config) Plan() lookup.Plan { return newLayout(c).Plan }

// Layout says in which keys the index keeps entries and block lists, and how long. It follows from a Config.
// Only newLayout computes it.
type Layout struct {
	windowMs int64
	sliceMs  int64 // length of a slice; whole seconds, at most windowMs
	// of a key after its last write: the window, and the time by which processing may fall behind
	Lifetime   time.Duration
	shardBits  int         // width of the number of a hash of entries
	fieldBits  int         // width of the number of a block list in its hash
	Sets       bool        // block lists are Redis sets, else fields of hashes
	Plan       lookup.Plan // where an article is stored and looked up
	MaxEntries int         // number of entries that the field of a fingerprint holds; tests set a smaller one
	tag        string      // names the layout in every key, so that two layouts never use one key
}

// newLayout returns the layout that a configuration makes. The configuration must be valid.
func newLayout(c Config) Layout {
	seconds := max(1, (int64(c.Window/time.Second)+int64(c.Slices)-1)/int64(c.Slices))
	class := bits.Len(uint(max(1, c.ExpectedArticles/c.Slices-1)))
	keyBits := func(perKey uint) int { return min(max(minKeyBits, class-bits.Len(perKey)), maxKeyBits) }
	blockBits := c.BlockBits
	if c.Buckets == BucketsSets {
		blockBits = cmp.Or(blockBits, min(setBlockBits, 64/c.Blocks))
	}
	if blockBits == 0 {
		blockBits = min(keyBits(fingerprintsPerList), c.widestBlock())
	}
	shardBits := keyBits(EntriesPerHash)
	kind := strconv.Itoa(fieldBits(blockBits))
	if c.Buckets == BucketsSets {
		kind = BucketsSets
	}
	return Layout{
		windowMs:   c.Window.Milliseconds(),
		sliceMs:    seconds * 1000,
		Lifetime:   c.Window + min(c.Window/2, time.Duration(seconds)*time.Second) + time.Second,
		shardBits:  shardBits,
		fieldBits:  fieldBits(blockBits),
		MaxEntries: MaxEntries,
		Sets:       c.Buckets == BucketsSets,
		Plan:       lookup.New(c.Search, blockBits),
		tag: fmt.Sprintf("%s.%d.%dx%d.%s.%d", strconv.FormatInt(seconds, 36), shardBits, c.Blocks, blockBits,
			kind, version),
	}
}

// widestBlock is the largest width of block values, in bits, that an index chooses itself. Wider blocks than
// 64 / Blocks overlap: one bit changes two blocks. With few bits in MaxDistance, copies without overlaps
// always have a block in common, and could then have none. With more bits nothing is certain, and an overlap
// of a quarter costs .002 of recall (docs/benchmarks.md).
func (c Config) widestBlock() int {
	width := 64 / c.Blocks
	if c.MaxDistance >= c.Blocks {
		width += width / 4
	}
	return min(width, maxKeyBits)
}

// LifetimeSeconds is lifetime in the unit of EXPIRE.
func (l Layout) LifetimeSeconds() int64 { return int64(l.Lifetime / time.Second) }

// Slice returns the number of the slice in which a time lies, counted from 1970. The time is in milliseconds
// since 1970.
func (l Layout) Slice(ms int64) int64 { return ms / l.sliceMs }

// Start returns when a slice starts, in milliseconds since 1970.
func (l Layout) Start(slice int64) int64 { return slice * l.sliceMs }

// Reach returns the first and the last slice that can hold a copy of an article of that time.
func (l Layout) Reach(ms int64) (first, last int64) {
	return l.Slice(max(0, ms-l.windowMs)), l.Slice(saturate(ms, l.windowMs))
}

// Keeps says whether no entry of the slice can have expired yet. It counts on records that are processed
// after the time of their timestamps.
func (l Layout) Keeps(slice int64, now time.Time) bool {
	return now.UnixMilli() < saturate(l.Start(slice), l.Lifetime.Milliseconds())
}

// Within says whether two times are at most the window apart. Neither time is negative, so nothing overflows.
func (l Layout) Within(a, b int64) bool {
	return max(a, b)-min(a, b) <= l.windowMs
}

// saturate adds two numbers that are not negative. If the sum would overflow, it returns the largest number.
func saturate(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return 1<<63 - 1
}

// WindowTime is an article's time in the window: milliseconds since 1970, and 0 for earlier times.
func WindowTime(t time.Time) int64 { return max(0, t.UnixMilli()) }
