package redisindex

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/redisindex/indexid"
	"echosieve/simhash"
)

// Config says how long the index remembers an article, and how large its keys are.
//
// Window, Generations, ExpectedArticles, Buckets, BlockBits and Search.Blocks decide in which key an article lies, so every key
// holds them in its name. A change of ExpectedArticles within its size class has no effect. Any other change starts a new, empty
// index beside the old one. The old index expires by itself. Change these settings like the recipe: in all processes at once, and
// at a time when copies may pass.
type Config struct {
	// Namespace begins every key. It holds the recipe id, so that two recipes never mix.
	Namespace string
	// Window is how far apart the timestamps of two articles may be for one to be a copy of the other.
	Window time.Duration
	// Search is what the recipe requires of the index. The number of blocks decides under which keys an article is stored. The
	// number of probes and the rule only decide which articles are found, and may be changed while an index is in use.
	article.Search
	// Policy chooses the topics of copies. It may be changed while an index is in use (Index.SetPolicy): it touches only articles without a
	// verdict.
	article.Policy
	// UndecidedTimeout is how long a copy waits for the verdict of its original. If the worker of the original is dead, its partition
	// goes to another process after the session timeout of the consumer group, and that process decides the original. So the timeout
	// must be longer than the session timeout. If nobody decides the original in time, its record was deleted, and its copies go
	// on without it.
	UndecidedTimeout time.Duration

	// Generations is the number of spans into which the window is cut. A key belongs to one span and expires with it. With one
	// span, most articles look up in two spans; with two spans, in three; and so on. Look-ups are most of what an article costs,
	// and each further span in reach makes as many look-ups again, so the default is one. More spans free memory sooner: Redis
	// holds two windows of articles on average with one span, and 1.75 with two.
	Generations int `setting:"generations" range:"1..8" help:"Spans of the window, 1 to 8; each expires as a whole. Raised: memory is freed sooner, more look-ups. A change starts an empty index."`
	// MaxCandidates bounds the fingerprints whose entries are fetched for one article. The nearest are taken. If the original is
	// beyond the bound, its copy passes as unique. A verdict that was written does not change when the bound does.
	MaxCandidates int `setting:"max_candidates" range:"1..1000" help:"Most fingerprints compared with an article, nearest first. Raise it if copies pass in floods, lower it to save CPU."`
	// ExpectedArticles is the number of articles in one window. Keys are sized for it: too many small keys waste memory, and large
	// ones time. It is rounded up to its size class, a power of two.
	ExpectedArticles int `setting:"expected_articles" range:"1..1099511627776" help:"Articles in one window, rounded up to a power of two. Too low costs CPU, too high memory. A change starts an empty index."`
	// Buckets is the form of block lists in Redis. With "packed" a list is a field of a hash (packedLists). With "sets" it is a
	// Redis set, which other programs can read (setLists). Sets write less to the log of Redis where lists are long, but cost the
	// server more CPU time.
	Buckets string `setting:"buckets" help:"Form of block lists: packed (cheaper) or sets (readable by other tools; docs/tuning.md). A change starts an empty index."`
	// BlockBits is the width of block values in bits; 0 computes it from ExpectedArticles. With 4 blocks, 16 bits serve a few million
	// articles, 20 bits about 60 million, and 24 bits a billion. Wider blocks find fewer copies with the same number of probes.
	BlockBits int `setting:"block_bits" range:"0,6..32" help:"Width of block values, 6 to 32 bits. Raised: shorter lists, more memory, fewer copies found (docs/scale.md). 0: from expected_articles, at most 64 / blocks; sets: 16. A change starts an empty index."`
}

// Bounds of Config.Window.
const (
	MinWindow = time.Minute
	MaxWindow = 100 * 365 * 24 * time.Hour
)

// DefaultConfig returns the defaults of the settings. Namespace, Window and Search are left empty, because they have none.
func DefaultConfig() Config {
	return Config{UndecidedTimeout: time.Minute, Generations: 1, MaxCandidates: 24, ExpectedArticles: 1_000_000, Buckets: bucketsPacked}
}

// maxNamespaceBytes bounds a namespace without its recipe id. Every key begins with it, and it is committed beside each offset, where 1 KiB is for the index.
const maxNamespaceBytes = 160

// oneHashTag matches the braces that a namespace may have: exactly one hash tag of a Redis Cluster. With other braces fenceKey could not
// make a key in the slot of a given key.
var oneHashTag = regexp.MustCompile(`^[^{}]*\{[^{}]+\}[^{}]*$`)

// Validate returns all mistakes in the configuration, joined; nil if there are none.
func (c Config) Validate() error {
	var errs []error
	if c.Namespace == "" {
		errs = append(errs, errors.New("namespace is empty"))
	}
	if len(c.base()) > maxNamespaceBytes {
		errs = append(errs, fmt.Errorf("namespace has %d bytes, at most %d are allowed", len(c.base()), maxNamespaceBytes))
	}
	if strings.ContainsAny(c.Namespace, "{}") && !oneHashTag.MatchString(c.Namespace) {
		errs = append(errs, fmt.Errorf("namespace %q has braces that are not one hash tag", c.Namespace))
	}
	for _, f := range []struct {
		name          string
		val, min, max int
	}{
		{"max_distance", c.MaxDistance, 0, 64},
		{"blocks", c.Blocks, 1, 64},
		{"probes", c.Probes, 0, simhash.MaxProbes},
		{"generations", c.Generations, 1, 8},
		{"max_candidates", c.MaxCandidates, 1, 1000},
		{"expected_articles", c.ExpectedArticles, 1, 1 << 40},
	} {
		if f.val < f.min || f.val > f.max {
			errs = append(errs, fmt.Errorf("%s is %d, must be between %d and %d", f.name, f.val, f.min, f.max))
		}
	}
	if c.Buckets != bucketsPacked && c.Buckets != bucketsSets {
		errs = append(errs, fmt.Errorf("buckets is %q, must be %s or %s", c.Buckets, bucketsPacked, bucketsSets))
	}
	if c.BlockBits != 0 && (c.BlockBits < minKeyBits || c.BlockBits > maxKeyBits) {
		errs = append(errs, fmt.Errorf("block_bits is %d, must be 0 or between %d and %d", c.BlockBits, minKeyBits, maxKeyBits))
	}
	if c.Window < MinWindow || c.Window > MaxWindow {
		errs = append(errs, fmt.Errorf("window is %s, must be between 1 minute and 100 years", c.Window))
	}
	if c.UndecidedTimeout <= 0 {
		errs = append(errs, fmt.Errorf("the timeout of undecided articles is %s, must be above 0", c.UndecidedTimeout))
	}
	return errors.Join(errs...)
}

// Numbers of entries in a hash, and of fingerprints in a block list, at the expected volume: at least so many, and less than twice as
// many. With fewer, the overhead of each hash or list takes most of the memory. With more, each look-up reads more, and Redis
// searches hashes of entries, which are listpacks, from the front. Example: 16 entries in a hash instead of 4 save 6 bytes for each
// article, but the server compares up to 32 entries.
const (
	entriesPerHash = 4
	// One bit less in a block value doubles the length of every list: each look-up then finds more of the copies whose bits differ,
	// and reads twice as many fingerprints.
	fingerprintsPerList = 32
)

// Bounds, in bits, of the numbers in names of keys: the number of a hash of entries, and the value of a block.
const (
	minKeyBits = 6
	maxKeyBits = 32
)

// Plan returns where an index of this configuration stores an article and looks it up. The configuration must be valid. It is for
// tools that explain why an index finds an article or does not.
func (c Config) Plan() lookup.Plan { return newLayout(c).plan }

// layout says in which keys the index keeps entries and block lists, and how long. It follows from a Config. Only newLayout
// computes it.
type layout struct {
	windowMs  int64
	spanMs    int64         // length of a span; whole seconds, at most windowMs
	lifetime  time.Duration // of a key after its last write: the window, and the time by which processing may fall behind
	shardBits int           // width of the number of a hash of entries
	plan      lookup.Plan   // where an article is stored and looked up
	tag       string        // names the layout in every key, so that two layouts never use one key
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
		// Wider blocks would overlap. Then one bit changes two blocks, and copies within the distance can have no block in common.
		blockBits = min(keyBits(fingerprintsPerList), 64/c.Blocks)
	}
	shardBits := keyBits(entriesPerHash)
	return layout{
		windowMs:  c.Window.Milliseconds(),
		spanMs:    seconds * 1000,
		lifetime:  c.Window + min(c.Window/2, time.Duration(seconds)*time.Second) + time.Second,
		shardBits: shardBits,
		plan:      lookup.New(c.Search, blockBits),
		tag:       fmt.Sprintf("%s.%d.%dx%d.%s.%d", strconv.FormatInt(seconds, 36), shardBits, c.Blocks, blockBits, kind, version),
	}
}

// lifetimeSeconds is lifetime in the unit of EXPIRE.
func (l layout) lifetimeSeconds() int64 { return int64(l.lifetime / time.Second) }

// span returns the number of the span in which a time lies, counted from 1970. The time is in milliseconds since 1970.
func (l layout) span(ms int64) int64 { return ms / l.spanMs }

// start returns when a span starts, in milliseconds since 1970.
func (l layout) start(span int64) int64 { return span * l.spanMs }

// reach returns the first and the last span that can hold a copy of an article of that time.
func (l layout) reach(ms int64) (first, last int64) {
	return l.span(max(0, ms-l.windowMs)), l.span(saturate(ms, l.windowMs))
}

// keeps says whether no entry of the span can have expired yet. It counts on records that are processed after the time of their timestamps.
func (l layout) keeps(span int64, now time.Time) bool {
	return now.UnixMilli() < saturate(l.start(span), l.lifetime.Milliseconds())
}

// within says whether two times are at most the window apart. Neither time is negative, so nothing overflows.
func (l layout) within(a, b int64) bool {
	return max(a, b)-min(a, b) <= l.windowMs
}

// saturate adds two numbers that are not negative. If the sum would overflow, it returns the largest number.
func saturate(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return 1<<63 - 1
}

// windowTime is an article's time in the window: milliseconds since 1970, and 0 for earlier times.
func windowTime(t time.Time) int64 { return max(0, t.UnixMilli()) }

// keys names every key of one index. Only the namespace may hold a cluster hash tag. Without a hash tag the keys spread over all
// nodes of a cluster.
type keys struct {
	prefix    string
	shardBits int
}

func newKeys(i indexid.ID, l layout) keys {
	return keys{prefix: i.Prefix(), shardBits: l.shardBits}
}

// IDOf returns the id of the index that a configuration makes in a database of Redis. The names of its keys are made from it.
func IDOf(c Config, database int) indexid.ID {
	l := newLayout(c)
	namespace := c.base()
	return indexid.ID{
		Place: indexid.Place{Database: database, Namespace: namespace, Recipe: strings.TrimPrefix(c.Namespace[len(namespace):], ":"), Layout: l.tag},
		Settings: map[string]string{
			"window": shortDuration(c.Window), "redis.generations": strconv.Itoa(c.Generations), "redis.buckets": c.Buckets,
			"redis.expected_articles": strconv.Itoa(c.ExpectedArticles), "redis.block_bits": strconv.Itoa(c.BlockBits),
			"detection.blocks": strconv.Itoa(c.Blocks),
		},
	}
}

// shortDuration is a duration as settings have it: 168h, where String says 168h0m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// databaseOf returns the number of the database that a client uses.
func databaseOf(client redis.UniversalClient) int {
	if server, ok := client.(*redis.Client); ok {
		return server.Options().DB
	}
	return 0 // a cluster has no other
}

// sequence is the ticket counter.
func (k keys) sequence() string { return k.prefix + sequenceKey }

// sequenceKey ends the name of the ticket counter. Every index that was used has one.
const sequenceKey = "seq"

// Counter is the key of the ticket counter of an index.
func Counter(of indexid.Place) string { return of.Prefix() + sequenceKey }

// exists is the hash whose existence says that the span holds entries. Redis expires it by its own clock, because the clocks of
// processes may differ.
func (k keys) exists(span int64) string {
	return k.prefix + "g:" + strconv.FormatInt(span, 10)
}

// listRef names one block list: the fingerprints of a span that are stored under the value of the block.
type listRef struct {
	span  int64
	block int
	value uint64
}

// listHash is the hash that holds the list as a field.
func (k keys) listHash(r listRef) string { return k.ofBlock("b:", r.hash()) }

// listSet is the Redis set that is the list.
func (k keys) listSet(r listRef) string { return k.ofBlock("s:", r) }

func (k keys) ofBlock(kind string, r listRef) string {
	buf := make([]byte, 0, 128)
	buf = append(append(buf, k.prefix...), kind...)
	buf = append(strconv.AppendInt(buf, r.span, 10), ':')
	buf = append(strconv.AppendInt(buf, int64(r.block), 10), ':')
	return string(strconv.AppendUint(buf, r.value, 16))
}

// fieldRef names one field of entries: the entries that have a fingerprint in a span.
type fieldRef struct {
	span        int64
	fingerprint simhash.Fingerprint
}

// entries is the hash that holds the field. Fingerprints of articles on one template differ in few bits. The multiplication spreads
// them over all hashes: they would crowd one hash otherwise.
func (k keys) entries(f fieldRef) string {
	shard := uint64(f.fingerprint) * 0x9E3779B97F4A7C15 >> (64 - k.shardBits)
	buf := make([]byte, 0, 128)
	buf = append(append(buf, k.prefix...), "o:"...)
	buf = append(strconv.AppendInt(buf, f.span, 10), ':')
	return string(strconv.AppendUint(buf, shard, 16))
}

// name is the field's name within the hash.
func (f fieldRef) name() string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(f.fingerprint)))
}

// damaged is the hash that holds a copy of a damaged field of another key.
func (k keys) damaged(key, field string) string {
	return k.prefix + "d:" + strings.TrimPrefix(key, k.prefix) + ":" + hex.EncodeToString([]byte(field))
}

// refill is the hash of a refill's progress. Keys that begin with its name and a colon are the leases of its parts.
func (k keys) refill(name string, losses uint32) string {
	return k.prefix + "r:" + name + ":" + strconv.FormatUint(uint64(losses), 36)
}

// clusterMarkers is the number of markers on a cluster. They are spread evenly over the slots, so every master that serves 512 slots
// in a row holds at least one. If a master without a marker loses its data, nobody notices.
const clusterMarkers = 64

// slotCount is the number of slots of every Redis Cluster.
const slotCount = 16384

// markers names the markers of an index (see watermarks). A single server has one marker. A namespace with a hash tag has one marker
// as well, because all its keys lie on one node.
func (k keys) markers(cluster bool) []string {
	if !cluster || strings.Contains(k.prefix, "{") {
		return []string{k.prefix + "life"}
	}
	names := make([]string, clusterMarkers)
	for n, missing := 0, clusterMarkers; missing > 0; n++ {
		tag := strconv.Itoa(n)
		if at := slotOf(tag) * clusterMarkers / slotCount; names[at] == "" {
			names[at] = k.prefix + "life:{" + tag + "}"
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
