// Package article holds the article type of Echosieve and the terms in which the other packages speak of an
// article: its record's Coordinates, its Ref, the Digest of its text, the Verdict on it with its Kind and
// Reason, and the Rule that compares two articles. Packages recipe and pipeline make an Article; an index
// stores and judges it.
package article

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"echosieve/simhash"

	"golang.org/x/net/idna"
)

// Coordinates name one Kafka record permanently. Kafka never changes them and uses them only once, unless the
// topic is deleted and recreated.
type Coordinates struct {
	Topic     string
	Partition int32
	Offset    int64
}

// String returns "topic/partition/offset". A topic name never holds a slash, so the form is unambiguous.
func (c Coordinates) String() string {
	text := strconv.AppendInt(append(append(make([]byte, 0, 64), c.Topic...), '/'), int64(c.Partition), 10)
	return string(strconv.AppendInt(append(text, '/'), c.Offset, 10))
}

// ParseCoordinates reads the form that String returns.
func ParseCoordinates(s string) (Coordinates, error) {
	parts := strings.Split(s, "/")
	if len(parts) == 3 && parts[0] != "" {
		partition, badPartition := strconv.ParseUint(parts[1], 10, 31)
		offset, badOffset := strconv.ParseUint(parts[2], 10, 63)
		if badPartition == nil && badOffset == nil {
			return Coordinates{Topic: parts[0], Partition: int32(partition), Offset: int64(offset)}, nil
		}
	}
	return Coordinates{}, fmt.Errorf("%q is not of the form topic/partition/offset", s)
}

// Compare orders coordinates by topic, partition and offset. Of two articles with equal tickets, the one with
// the lower coordinates counts as the earlier one.
func (c Coordinates) Compare(d Coordinates) int {
	return cmp.Or(cmp.Compare(c.Topic, d.Topic), cmp.Compare(c.Partition, d.Partition), cmp.Compare(c.Offset, d.Offset))
}

// Ref names an article in outputs, for readers who look the article up.
type Ref struct {
	ID string
	Coordinates
}

// Unnamed says whether the article has no id of its own: its coordinates stand for it.
func (r Ref) Unnamed() bool { return r.ID == r.String() }

// Digest identifies a normalised text: the first 16 bytes of a SHA-256. Articles with equal digests are exact
// copies of each other and have equal fingerprints.
type Digest [16]byte

// Content is what a record's value says of an article: the part that people read. It is separate from Article
// because a batch waits for the index without its texts: once the recipe has made an Article of Text, only
// the record holds the text.
type Content struct {
	// ID is the publisher's id of the article, 1 to MaxIDBytes long. An article without an id, or with a
	// longer one, gets its coordinates.
	ID string
	// Text is the body, with or without markup. Only Text decides what the article resembles.
	Text string
	// Title, Publisher and URL are for reports, and tell where the text comes from: see Origin. Each is "" if
	// the record does not say it. Longer ones than MaxTitleBytes and MaxPublisherBytes are cut. A URL longer
	// than MaxURLBytes counts as missing.
	Title, Publisher, URL string
	// Published is when the publisher says that it published the article; zero if that is unknown or was not asked.
	Published time.Time
	// Credit is whom the record names as the origin of the article, at most MaxPublisherBytes; "" if that is unknown or
	// was not asked.
	Credit string
	// UnreadTime is a time of publication that could not be read, at most 80 bytes; "" if there is none.
	UnreadTime string
}

// Article is one article on its way to its verdict. The recipe makes it of Content.Text, and package pipeline
// adds Coordinates, ID and Time. The same Coordinates always come with the same other fields, as long as the
// recipe is the same. The index never changes an Article.
type Article struct {
	Coordinates
	ID   string    // at most MaxIDBytes
	Time time.Time // record timestamp, by which the index tells whether two articles are within one window
	// Undated, unless zero, says that nothing is known of the article's time, which is then within every window. It is the
	// time by which an index in memory forgets the article. Only archives have such articles.
	Undated time.Time
	// Fingerprint stands for the article in the index: its SimHash, or, for little text, the first 8 bytes of
	// Digest, big-endian.
	Fingerprint simhash.Fingerprint
	// SimHash is the SimHash of the features, however few they are; 0 if there are none.
	SimHash simhash.Fingerprint
	// Sums are the sums behind SimHash, by which probes are chosen. Nil: no probes are looked up.
	Sums *simhash.Sums
	// Anchors are hashes that sample the wording, the foremost first; see evidence.Builder.AppendAnchors.
	// The article is looked up by them as well as by its fingerprint. Little text and articles of classic
	// recipes have none.
	Anchors []uint64
	// Signature summarises the article for the second check, in at most MaxSignatureBytes. The index keeps
	// it. It is nil for little text and in classic recipes.
	Signature []byte
	// Digest identifies the normalised text together with the fingerprint: equal digests mean the same text,
	// cut into the same words.
	Digest Digest
	// Features is the number of different words that count in SimHash.
	Features int
	// LittleText says that the text has too few different words for its SimHash to mean anything. The article is a
	// copy only of articles with the same Digest, and only its own fingerprint is looked up.
	LittleText bool
	// Empty says that cleaning left no letter or digit of the text. All such texts have the same digest, so
	// they must not be compared.
	Empty bool
	// TooCostly says that the text is many times as long when it is clean. It counts as Empty, and all other fields are
	// unset: its words would take as many times as long as those of an ordinary text.
	TooCostly bool
	// CostlyPage says that the text is an HTML document that would take too long to be read as one (package page).
	CostlyPage bool
	// Released says that an operator has taken the verdict of a copy back, and that this is its record again. It is a
	// copy only of an article with the same Digest: of another release of the same record.
	Released bool
	// CleanBytes is the length of the clean text in bytes, for reports. RepeatedBytes and FurnitureBytes of it
	// are left out of fingerprint and signature: sentences that the publisher repeats, and the lines of the page around
	// the article.
	CleanBytes, RepeatedBytes, FurnitureBytes int
	// Script is the main script of the beginning of the article, for reports.
	Script Script
	// Sentences are hashes of its different sentences, in ascending order, from which it is learnt what a publisher
	// repeats (package learnt). Nil: nothing is learnt.
	Sentences []uint64
}

// LeftOut is the share of the clean text, from 0 to 1, that is left out of fingerprint and signature.
func (a *Article) LeftOut() float64 {
	return float64(a.RepeatedBytes+a.FurnitureBytes) / float64(max(1, a.CleanBytes))
}

// Ref names the article.
func (a *Article) Ref() Ref { return Ref{ID: a.ID, Coordinates: a.Coordinates} }

// MaxIDBytes is the length of the longest article id, in bytes. The decoder uses the coordinates in place of
// a longer id.
const MaxIDBytes = 512

// What a batch keeps of an article until its output is acknowledged is bounded, because a record of a few
// bytes can decompress to a title of a megabyte. In bytes.
const (
	MaxTitleBytes     = 512
	MaxPublisherBytes = 256
	MaxURLBytes       = 2048
)

// Cut returns a copy of the first most bytes of a text, or of fewer, so that no character is cut.
func Cut(text string, most int) string {
	if len(text) > most {
		for end := most; end > most-utf8.UTFMax; end-- {
			if utf8.RuneStart(text[end]) {
				most = end
				break
			}
		}
		text = text[:most]
	}
	return strings.Clone(text)
}

// MaxSignatureBytes is the length of the longest signature that an index stores, in bytes.
const MaxSignatureBytes = 256

// Script is the script in which most letters of an article are written.
type Script uint8

// The scripts that are told apart. Their names are label values of metrics.
const (
	NoScript Script = iota // no letters
	Latin
	Han
	Kana
	Hangul
	Cyrillic
	Greek
	Arabic
	Hebrew
	Devanagari
	Thai
	OtherScript
	Scripts // number of scripts
)

// String returns the name, such as "latin".
func (s Script) String() string {
	return [Scripts]string{
		"none", "latin", "han", "kana", "hangul", "cyrillic", "greek", "arabic", "hebrew", "devanagari", "thai",
		"other",
	}[s]
}

// Origin says where a text comes from, as far as fingerprint, signature and verdict depend on it.
type Origin struct {
	// Publisher is what the record names; empty if it names none. It decides which sentences are left
	// out.
	Publisher string
	// URL is the address of the article. Without a Publisher, its host is the publisher.
	URL string
	// Title may mark the text as a correction. Short texts of one publisher are other ones under other titles.
	Title string
	// Time is the record's timestamp. Zero stands for a text without a record: all rows of learnt sentences
	// count, even rows that begin later.
	Time time.Time
}

// Origin is where the text of a record with the timestamp comes from.
func (c *Content) Origin(at time.Time) Origin {
	return Origin{Publisher: c.Publisher, URL: c.URL, Title: c.Title, Time: at}
}

// maxNameBytes is the length of the longest name of a publisher that PublisherOf returns.
const maxNameBytes = 64

// PublisherOf returns who published an article: the publisher that its record names, without white space at its
// ends, else the host of its address without www. It is empty if neither is known. Verdicts and stories have this
// one definition. A name of more than 64 bytes is cut.
func PublisherOf(name, address string) string {
	if name = strings.TrimSpace(strings.ToValidUTF8(name, "")); name == "" {
		name = host(address)
	}
	return Cut(name, maxNameBytes)
}

// host returns the host of an address without www, in Unicode: Punycode names the same publisher. The address may have
// no scheme.
func host(address string) string {
	scheme, _, found := strings.Cut(address, "://")
	if (!found || strings.ContainsAny(scheme, "./?#")) && !strings.HasPrefix(address, "/") {
		address = "//" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	name := strings.TrimSuffix(strings.ToValidUTF8(strings.ToLower(u.Hostname()), ""), ".")
	if display, err := idna.Display.ToUnicode(name); err == nil { // an address of IPv6 is no name
		name = display
	}
	return strings.TrimPrefix(name, "www.")
}
