package pipeline

import (
	"context"
	"time"

	"echosieve/simhash"
)

// Digest identifies a normalised text: the first 16 bytes of a SHA-256. Equal digests mean "exact copy" and
// equal fingerprints.
type Digest [16]byte

// Claim asks the index for the verdict on one article. The same Coordinates always come with the same
// other fields, as long as the recipe is the same.
type Claim struct {
	Coordinates
	ID     string    // article id, at most MaxIDBytes
	Time   time.Time // record timestamp: places the article in the window
	Digest Digest
	// Fingerprint is the article's SimHash. For little text it is the first 8 bytes of Digest, big-endian.
	Fingerprint simhash.Fingerprint
	// Sums are those behind Fingerprint, from which probes are chosen; nil: no probes.
	Sums *simhash.Sums
	// Anchors are what the article is looked up by beside its fingerprint; see Search.AppendPlaces. None: only by its
	// fingerprint.
	Anchors []uint64
	// Signature summarises the article for the second check, at most MaxSignatureBytes. The index keeps it.
	Signature []byte
	// LittleText says that the text has too few features for its fingerprint to mean anything: the
	// article matches only articles with the same Digest, and only it is asked for (no block look-ups).
	LittleText bool
}

// Traits are what the rule sees of the article.
func (c *Claim) Traits() Traits {
	return Traits{Fingerprint: c.Fingerprint, Digest: c.Digest, LittleText: c.LittleText, Signature: c.Signature}
}

// Ref names an article: what readers of the output need to find it.
type Ref struct {
	ID string
	Coordinates
}

// Kind is a verdict's kind.
type Kind uint8

// The kinds of verdict. The zero Kind is not a verdict.
const (
	Unique   Kind = iota + 1 // nobody published this before within the window
	Near                     // a copy of another article, as far as the recipe's rule can tell
	Exact                    // another article has the same normalised text
	Possible                 // looks like another article but is held to be none: no copy, for people to look at
)

// IsCopy says whether the verdict is that of a copy: Near or Exact.
func (k Kind) IsCopy() bool { return k == Near || k == Exact }

// String returns the kind as it stands in headers and metrics: "unique", "near", "exact" or "possible".
func (k Kind) String() string {
	switch k {
	case Unique:
		return "unique"
	case Near:
		return "near"
	case Exact:
		return "exact"
	case Possible:
		return "possible"
	default:
		return "none"
	}
}

// Match is the index's answer to a Claim.
type Match struct {
	Kind Kind
	// Test is the one that decided; TestNone for Unique.
	Test Test
	// Original is the earlier article that this one repeats, or, if Possible, looks like; of several, the one with
	// the lowest ticket. Zero for Unique.
	Original Ref
	// Root is the article at the end of the chain of originals, which is no copy, as far as known when the
	// verdict was reached. For Unique and Possible it is the article itself.
	Root Ref
	// Distance is the Hamming distance to the original, in bits; 0 for Unique and Exact.
	Distance int
}

// Index remembers articles for a window and answers each with the article it repeats, if any.
//
// Claim answers claims[i] in the i-th Match. Within one call earlier claims come first: a claim can repeat an
// earlier one of the same call, not a later one. Claim is idempotent and stable: the same Coordinates get
// the same Match again, for as long as the window remembers them, whatever was claimed in between and
// however often an earlier call failed half-way. Of two copies that can see each other at least one gets a verdict
// that IsCopy, and the earlier of two never for the sake of the later one.
//
// Claim blocks while its store is away and returns an error only when ctx ends; it never guesses. Safe for concurrent use.
type Index interface {
	Claim(ctx context.Context, claims []Claim) ([]Match, error)
}

// MaxIDBytes is the longest article id the index stores. The decoder replaces longer ids by coordinates.
const MaxIDBytes = 512

// MaxSignatureBytes is the longest signature the index stores.
const MaxSignatureBytes = 256
