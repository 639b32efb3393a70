// Package keyspace says where an index keeps what in Redis: its settings, the names and the layout of its
// keys, and the bytes of entries, verdicts and block lists. It decides nothing, and sends no command itself.
//
// Every key begins with a prefix, here ns: <redis.namespace>:<recipe id>:<layout>. The layout names the
// length of a slice, the size class, the kind of block lists and the version of entries. g is the number of a
// slice: milliseconds since 1970, divided by the length. A slice is as long as window / the number of slices.
//
//	ns:b:<g>:<block>:<high bits, hex>  hash: block lists by the low 12 or 13 bits of a block value; the last
//	                                   block: anchors
//	ns:s:<g>:<block>:<value, hex>      set, with redis.buckets: sets, in place of ns:b: fingerprints as signed
//	                                   decimal numbers
//	ns:o:<g>:<shard, hex>              hash: entries (entry.go) by fingerprint
//	ns:g:<g>                           hash: the slice exists; written before tickets are drawn, read after
//	ns:d:<key>:<field, hex>            hash: copy of a damaged field
//	ns:seq                             string: ticket counter
//	ns:h:<group>                       hash: where the group's commits of other indexes end, and up to where this
//	                                   index was filled
//	ns:t, ns:t:<n>:<root>              string: generation of the stories; state of a story in it (package stories)
//	ns:life, cluster: 64 ns:life:{n}   hash: seen, raised every 3 seconds; lost, the last loss; cured, the last
//	                                   loss that was refilled
//
// <redis.namespace>:forgotten is a hash of all indexes of the namespace: the coordinates and id of each
// article that was forgotten, and when.
//
// Keys expire one window plus the lesser of a slice and half a window after their last write, which allows
// for lag. The counter and seen only grow, so a lower number shows that Redis has lost writes. The process
// that notices it raises both.
package keyspace

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"echosieve/pipeline/article"
)

// Config says how long the index remembers an article, and how large its keys are.
//
// Window, Slices, ExpectedArticles, Buckets, BlockBits and Search.Blocks decide in which key an article
// lies, so every key holds them in its name. A change of ExpectedArticles within its size class has no
// effect. Any other change starts a new, empty index beside the old one. The old index expires by itself.
// Change these settings like the recipe: in all processes at once, and at a time when copies may pass.
type Config struct {
	// Namespace begins every key. It holds the recipe id, so that two recipes never mix.
	Namespace string
	// Window is how far apart the timestamps of two articles may be for one to be a copy of the other.
	Window time.Duration
	// Search is what the recipe requires of the index. The number of blocks decides under which keys an
	// article is stored. The number of probes and the rule only decide which articles are found, and may be
	// changed while an index is in use.
	article.Search
	// Policy chooses the topics of copies. It may be changed while an index is in use (Index.SetPolicy): it
	// touches only articles without a verdict.
	article.Policy
	// UndecidedTimeout is how long a copy waits for the verdict of its original. If the worker of the
	// original is dead, its partition goes to another process after the session timeout of the consumer
	// group, and that process decides the original. So the timeout must be longer than the session timeout.
	// If nobody decides the original in time, its record was deleted, and its copies go on without it.
	UndecidedTimeout time.Duration

	// Slices is the number of slices into which the window is cut. A key belongs to one slice and
	// expires with it. With one slice, most articles look up in two slices; with two slices, in three; and so
	// on. Look-ups are most of what an article costs, and each further slice in reach makes as many look-ups
	// again, so the default is one. More slices free memory sooner: Redis holds two windows of articles on
	// average with one slice, and 1.75 with two.
	Slices int `setting:"-"`
	// MaxCandidates bounds the fingerprints whose entries are fetched for one article. The nearest are taken.
	// If the original is beyond the bound, its copy passes as unique. A verdict that was written does not
	// change when the bound does.
	MaxCandidates int `setting:"-"`
	// ExpectedArticles is the number of articles in one window. Keys are sized for it: too many small keys
	// waste memory, and large ones time. It is rounded up to its size class, a power of two.
	ExpectedArticles int `setting:"expected_articles" range:"1..1099511627776"`
	// Buckets is the form of block lists in Redis. With "packed" a list is a field of a hash (packedLists).
	// With "sets" it is a Redis set, which other programs can read (setLists). Sets write less to the log of
	// Redis where lists are long, but cost the server more CPU time.
	Buckets string `setting:"buckets"`
	// BlockBits is the width of block values in bits; 0 computes it from ExpectedArticles, up to 26 bits for
	// 3 blocks, which serve a billion articles. Wider blocks find fewer copies with the same number of
	// probes.
	BlockBits int `setting:"-"`
}

// The values of the setting redis.buckets: the ways in which Redis can hold block lists.
const (
	BucketsPacked = "packed"
	BucketsSets   = "sets"
)

// DefaultConfig returns the defaults of the settings. Namespace, Window and Search are left empty, because
// they have none.
func DefaultConfig() Config {
	return Config{UndecidedTimeout: time.Minute, Slices: 1, MaxCandidates: 24, ExpectedArticles: 1_000_000,
		Buckets: BucketsPacked}
}

// maxNamespaceBytes bounds a namespace without its recipe id. Every key begins with it, and it is committed
// beside each offset, where 1 KiB is for the index.
const maxNamespaceBytes = 160

// oneHashTag matches the braces that a namespace may have: exactly one hash tag of a Redis Cluster. With
// other braces fenceKey could not make a key in the slot of a given key.
var oneHashTag = regexp.MustCompile(`^[^{}]*\{[^{}]+\}[^{}]*$`)

// Validate returns all mistakes in the configuration, joined; nil if there are none. Package config checks ranges.
func (c Config) Validate() error {
	var errs []error
	if c.Namespace == "" {
		errs = append(errs, errors.New("namespace is empty"))
	}
	if len(c.BaseNamespace()) > maxNamespaceBytes {
		errs = append(errs, fmt.Errorf("namespace has %d bytes, at most %d are allowed", len(c.BaseNamespace()),
			maxNamespaceBytes))
	}
	if strings.ContainsAny(c.Namespace, "{}") && !oneHashTag.MatchString(c.Namespace) {
		errs = append(errs, fmt.Errorf("namespace %q has braces that are not one hash tag", c.Namespace))
	}
	if c.Buckets != BucketsPacked && c.Buckets != BucketsSets {
		errs = append(errs, fmt.Errorf("buckets is %q, must be %s or %s", c.Buckets, BucketsPacked, BucketsSets))
	}
	return errors.Join(errs...)
}

// BaseNamespace is the namespace without the recipe id, which is the setting redis.namespace. Rights are
// granted for all recipes.
func (c Config) BaseNamespace() string {
	if i := strings.LastIndexByte(c.Namespace, ':'); i > 0 {
		return c.Namespace[:i]
	}
	return c.Namespace
}
