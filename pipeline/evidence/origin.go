package evidence

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"echosieve/pipeline/article"
	"echosieve/pipeline/limits"
	"echosieve/simhash"
)

// SetOrigin says who published the article, at which address and under which title, and whether the publisher calls it
// a correction. Each text is empty if it is not known.
func (b *Builder) SetOrigin(publisher, address, title string, correction bool) {
	b.origin = hashOf(publisher, publisherBits) | hashOf(address, nameBits)<<publisherBits |
		hashOf(title, nameBits)<<(publisherBits+nameBits)
	if correction {
		b.origin |= correctionBit
	}
}

// hashOf returns a hash of a name in some bits; 0 if the name is empty.
func hashOf(name string, bits int) uint64 {
	if name == "" {
		return 0
	}
	return 1 + simhash.Mix(simhash.Hash(name))%(1<<bits-1)
}

// corrections are the words with which publishers mark a correction, in lower case.
var corrections = map[string]bool{
	"corrected": true, "correction": true, "corrections": true, "corrects": true, "correcting": true,
	"corrigendum": true, "erratum": true, "updated": true, "更正": true, "更新": true, "订正": true, "勘误": true,
	"訂正": true, "정정": true, "korrektur": true, "berichtigung": true, "rectificatif": true, "correctif": true,
	"corrección": true, "correção": true, "исправление": true,
}

// IsCorrection tells whether the first word of a title or text says that it is a correction.
func IsCorrection(text string) bool {
	noLetter := func(r rune) bool { return !unicode.IsLetter(r) }
	text = strings.TrimLeftFunc(text, noLetter)
	end := strings.IndexFunc(text[:min(len(text), limits.HeadBytes)], noLetter)
	return end > 0 && corrections[strings.ToLower(text[:end])]
}

// CompareArticles is Compare, with what signatures do not tell: the times and ids of the articles. Where the publisher
// gives no ids, the address is one.
func CompareArticles(later, earlier *article.Article) Comparison {
	a, _ := Decode(later.Signature)
	b, _ := Decode(earlier.Signature)
	c := Compare(&a, &b)
	if c.Known {
		c.Apart = later.Time.Sub(earlier.Time).Abs()
		c.SameID = article.SameID(later, earlier) || c.SameAddress && later.ID == later.String() &&
			earlier.ID == earlier.String()
	}
	return c
}

// compareOrigins compares where a, the later one, and b come from.
func (c *Comparison) compareOrigins(a, b *Signature) {
	of, as := a.origin(), b.origin()
	const publisher, address, title = 1<<publisherBits - 1, (1<<nameBits - 1) << publisherBits,
		(1<<nameBits - 1) << (publisherBits + nameBits)
	c.Publishers = [2]uint32{uint32(of & publisher), uint32(as & publisher)}
	c.OnePublisher = of&publisher != 0 && (of^as)&publisher == 0
	c.TwoPublishers = (of^as)&publisher != 0
	c.OtherTitle = (of^as)&title != 0 && of&title != 0 && as&title != 0
	c.SameAddress = of&address != 0 && (of^as)&address == 0
	c.Correction = of&correctionBit != 0
}

// versions tells whether the publisher of both articles says that they are versions of one.
func (c *Comparison) versions() bool {
	return c.OnePublisher && (c.SameID || c.SameAddress || c.Correction)
}

// corrected tells whether the later one is a correction: the publisher of both says so, or gave both one id, and a
// number or a main word differs.
func (c *Comparison) corrected() bool {
	return c.OnePublisher && (c.Correction || c.SameID && (c.Contradictions+c.HeadContradictions > 0 ||
		c.CommonAll < c.LeastAll || c.NewNumber || c.OtherMain > 0))
}

// house tells whether the publisher of both articles published them as two.
func (c *Comparison) house() bool { return c.OnePublisher && !c.versions() }

// added is the share of its word pairs that only the later article has.
func (c *Comparison) added() float64 { return 1 - c.Contained }

// newNumber tells whether the later article has a number that the earlier one has not.
func (c *Comparison) newNumber() bool {
	return c.NewNumber || c.Contradictions+c.HeadContradictions > 0
}

// soon tells whether a publisher sends a report again within the time between the two.
func (c *Comparison) soon() bool { return c.Apart <= time.Duration(limits.Day)*time.Hour }

// Never are pairs of publishers whose articles are nothing to each other, by the hashes of their names. The hash 0 stands
// for all publishers. Each pair is there both ways.
type Never map[[2]uint32]bool

// ParseNever reads pairs of names of publishers: "a.example b.example", or "a.example *" for one that is compared with
// nobody, itself included.
func ParseNever(pairs []string) (Never, error) {
	never := Never{}
	for _, pair := range pairs {
		names := strings.Fields(pair)
		if len(names) != 2 || names[0] == "*" {
			return nil, fmt.Errorf("never has %q: name two publishers, or one and *", pair)
		}
		one, other := uint32(hashOf(names[0], publisherBits)), uint32(0)
		if names[1] != "*" {
			other = uint32(hashOf(names[1], publisherBits))
		}
		never[[2]uint32{one, other}], never[[2]uint32{other, one}] = true, true
	}
	return never, nil
}

// Names tells whether a pair names the publisher, and whether the publisher is compared with nobody.
func (n Never) Names(publisher string) (named, alone bool) {
	hash := uint32(hashOf(publisher, publisherBits))
	for pair := range n {
		named = named || hash != 0 && pair[0] == hash
	}
	return named, hash != 0 && n[[2]uint32{hash, 0}]
}

// apart tells whether two articles are of such a pair.
func (n Never) apart(c *Comparison) bool {
	p := c.Publishers
	return n[p] || n[[2]uint32{p[0], 0}] && p[0] != 0 || n[[2]uint32{0, p[1]}] && p[1] != 0
}
