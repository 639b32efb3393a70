package redisindex

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"echosieve/pipeline/article"
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
	Generations int `koanf:"generations" help:"pieces of the window that expire as a whole, 1 to 8: more free memory sooner but cost look-ups; a change starts an empty index"`
	// MaxCandidates bounds the entries' fields read for one article, nearest first. The cap can let a copy
	// through as unique; it never changes an answer once given.
	MaxCandidates int `koanf:"max_candidates" help:"most fingerprints within the maximal distance whose articles are read for one article, nearest first"`
	// ExpectedArticles is the number of articles in one window, by which keys are sized: small keys waste
	// memory, large ones time. Only its size class counts, the next power of two.
	ExpectedArticles int `koanf:"expected_articles" help:"articles in one window, by which Redis keys are sized (rounded up to a power of two); a change starts an empty index"`
	// Buckets is how Redis keeps the fingerprints of a block value: "packed", as fields of hashes, or "sets", as a Redis set
	// each, which other programs can read and which writes less to the log where packed lists are long, but costs the server more.
	Buckets string `koanf:"buckets" help:"how Redis keeps the fingerprints of a block value: packed (less CPU and memory) or sets (plain Redis sets, for other tools to read), see docs/tuning.md; a change starts an empty index"`
	// BlockBits is the width of a block list's key. With 4 blocks 16 bits serve up to a few million articles; 20, up to
	// about 60 million, and 24, up to a billion, find less, which probes have to make up for.
	BlockBits int `koanf:"block_bits" help:"width in bits of the block values in Redis keys, 6 to 32; 0: by expected_articles, but without overlaps (16 for 4 blocks; 16 as well with buckets: sets), see docs/tuning.md; a change starts an empty index"`
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
