// Package article holds the one article type of Echosieve and what is said of an article: where its record stands (Coordinates), what
// identifies its text (Digest), and the Verdict on it. Packages recipe and pipeline fill an Article in, an index stores and judges it.
package article

import (
	"strconv"
	"time"

	"echosieve/simhash"
)

// Coordinates name one Kafka record permanently: they never change and are never used again.
type Coordinates struct {
	Topic     string
	Partition int32
	Offset    int64
}

// String returns "topic/partition/offset". A topic name never holds a slash, so the form is unambiguous.
func (c Coordinates) String() string {
	return c.Topic + "/" + strconv.Itoa(int(c.Partition)) + "/" + strconv.FormatInt(c.Offset, 10)
}

// Less orders coordinates by topic, partition and offset. It breaks ties between equal tickets.
func (c Coordinates) Less(d Coordinates) bool {
	if c.Topic != d.Topic {
		return c.Topic < d.Topic
	}
	if c.Partition != d.Partition {
		return c.Partition < d.Partition
	}
	return c.Offset < d.Offset
}

// Ref names an article: a reader of the output finds it by these fields.
type Ref struct {
	ID string
	Coordinates
}

// Digest identifies a normalised text: the first 16 bytes of a SHA-256. Equal digests mean "exact copy" and
// equal fingerprints.
type Digest [16]byte

// Content is what a record's value says of an article: the part that people read. It is separate from Article because a batch waits for
// the index without its texts: once the recipe has made an Article of Text, nothing holds the text but the record.
type Content struct {
	// ID is the publisher's id of the article, 1 to MaxIDBytes long. An article without an id, or with a longer one, gets its
	// coordinates.
	ID string
	// Text is the body, with or without markup. Only Text decides what the article is a copy of.
	Text string
	// Title, Source and URL are for reports. Each is "" if the record does not say it.
	Title, Source, URL string
}

// Article is one article on its way to its verdict. The recipe makes it of Content.Text, and package pipeline adds Coordinates, ID and
// Time. The same Coordinates always come with the same other fields, as long as the recipe is the same. The index never changes an
// Article.
type Article struct {
	Coordinates
	ID   string    // at most MaxIDBytes
	Time time.Time // record timestamp: places the article in the window
	// Fingerprint stands for the article in the index: its SimHash, or, for little text, the first 8 bytes of
	// Digest, big-endian.
	Fingerprint simhash.Fingerprint
	// SimHash is the SimHash of the features, however few they are; 0 if there are none.
	SimHash simhash.Fingerprint
	// Sums are the sums behind SimHash, from which probes are chosen; nil: no probes.
	Sums *simhash.Sums
	// Anchors are samples of the wording, under which the article is looked up beside its fingerprint (see
	// signature.Builder.AppendAnchors), the foremost first; none for little text and in classic recipes.
	Anchors []uint64
	// Signature summarises the article for the second check, at most MaxSignatureBytes; nil for little text and in classic recipes.
	// The index keeps it.
	Signature []byte
	// Digest identifies the normalised text together with the fingerprint: equal digests mean the same text, cut into the same words.
	Digest Digest
	// Features is the number of different words that count.
	Features int
	// LittleText says that the text has too few features for its SimHash to mean anything: the article is a copy of articles
	// with the same Digest only, and only its own fingerprint is looked up.
	LittleText bool
	// Empty says that no letter or digit is left of the text. All such texts have the same digest and must not be compared.
	Empty bool
	// CleanBytes is the length of the clean text.
	CleanBytes int
}

// Ref names the article.
func (a *Article) Ref() Ref { return Ref{ID: a.ID, Coordinates: a.Coordinates} }

// MaxIDBytes is the longest article id the index stores. The decoder replaces longer ids by coordinates.
const MaxIDBytes = 512

// MaxSignatureBytes is the longest signature the index stores.
const MaxSignatureBytes = 256
