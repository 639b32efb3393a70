package redisindex

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/simhash"
)

// Config says what the index remembers and how it lays it out.
//
// Window, Generations and ExpectedArticles decide in which key an article lies, so they are part of every key's
// name: changing the generations' length or the size class of the expected articles starts a new, empty index
// beside the old one, which then expires by itself. Change them as you would change the recipe: with all
// processes at once and at a time when copies may pass.
type Config struct {
	// Namespace begins every key. It holds the recipe id, so that two recipes never mix.
	Namespace string
	// Window is how far apart the timestamps of two articles may be for one to be a copy of the other.
	Window time.Duration
	// Search is what the recipe asks of the index. The number of blocks decides where an
	// article lies, the rest only who meets it; the width of the blocks is this package's.
	article.Search
	// UndecidedTimeout is how long a copy waits for the verdict of its original. The original's worker may be dead: then its
	// partition goes to another process after the session timeout of the consumer group, which decides it. If
	// that does not happen, its record is gone, and its copies go on without it.
	UndecidedTimeout time.Duration

	// Generations is the number of pieces into which the window is cut; keys live and expire by piece. With one,
	// most articles look into two pieces, with two into three, and so on; look-ups are most of what an article
	// costs. More pieces free memory sooner: one keeps two windows of articles on average, two 1.75.
	Generations int `koanf:"generations" help:"Spans of the window, 1 to 8; each expires as a whole. Raised: memory is freed sooner, more look-ups. A change starts an empty index."`
	// MaxCandidates bounds the entries' fields read for one article, nearest first. The cap can let a copy
	// through as unique; it never changes an answer once given.
	MaxCandidates int `koanf:"max_candidates" help:"Most fingerprints compared with an article, nearest first. Raise it if copies pass in floods, lower it to save CPU."`
	// ExpectedArticles is the number of articles in one window, by which keys are sized: small keys waste
	// memory, large ones time. Only its size class counts, the next power of two.
	ExpectedArticles int `koanf:"expected_articles" help:"Articles in one window, rounded up to a power of two. Too low costs CPU, too high memory. A change starts an empty index."`
	// Buckets is how Redis keeps the fingerprints of a block value: "packed", as fields of hashes, or "sets", as a Redis set
	// each, which other programs can read and which writes less to the log where packed lists are long, but costs the server more.
	Buckets string `koanf:"buckets" help:"Form of block lists: packed (cheaper) or sets (readable by other tools; docs/tuning.md). A change starts an empty index."`
	// BlockBits is the width of a block list's key. With 4 blocks 16 bits serve up to a few million articles; 20, up to
	// about 60 million, and 24, up to a billion, find less, which probes have to make up for.
	BlockBits int `koanf:"block_bits" help:"Width of block values, 6 to 32 bits. Raised: shorter lists, more memory, fewer copies met (docs/scale.md). 0: from expected_articles, at most 64 / blocks; sets: 16. A change starts an empty index."`
}

// Bounds of Config.Window.
const (
	MinWindow = time.Minute
	MaxWindow = 100 * 365 * 24 * time.Hour
)

// DefaultConfig returns the defaults of what a user sets. Namespace, Window and Search are left empty.
func DefaultConfig() Config {
	return Config{UndecidedTimeout: time.Minute, Generations: 1, MaxCandidates: 24, ExpectedArticles: 1_000_000, Buckets: bucketsPacked}
}

// oneHashTag matches the braces that a namespace may have. With others there is no other key in the slot of one of ours (wait.go).
var oneHashTag = regexp.MustCompile(`^[^{}]*\{[^{}]+\}[^{}]*$`)

// Validate says everything that is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error
	if c.Namespace == "" {
		errs = append(errs, errors.New("namespace is empty"))
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
