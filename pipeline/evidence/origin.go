package evidence

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"echosieve/pipeline/article"
	"echosieve/pipeline/limits"
	"echosieve/simhash"
)

// SetOrigin says who published the article, at which address, and whether the publisher calls it a correction.
// Either name is empty if it is not known.
func (b *Builder) SetOrigin(publisher, address string, correction bool) {
	b.origin = [2]byte{hashOf(publisher, 255), hashOf(address, correctionBit-1)}
	if correction {
		b.origin[1] |= correctionBit
	}
}

// hashOf returns a hash of a name, 1 to most; 0 if the name is empty.
func hashOf(name string, most uint64) byte {
	if name == "" {
		return 0
	}
	return byte(1 + simhash.Mix(simhash.Hash(name))%most)
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
	text = strings.TrimLeftFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	end := 0
	for end < min(len(text), limits.HeadBytes) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if !unicode.IsLetter(r) {
			return corrections[strings.ToLower(text[:end])]
		}
		end += size
	}
	return false
}

// CompareArticles is Compare, with what signatures do not tell: the times and ids of the articles.
func CompareArticles(later, earlier *article.Article) Comparison {
	a, _ := Decode(later.Signature)
	b, _ := Decode(earlier.Signature)
	c := Compare(&a, &b)
	if c.Known {
		c.Apart, c.SameID = later.Time.Sub(earlier.Time).Abs(), article.SameID(later, earlier)
	}
	return c
}

// compareOrigins compares where a and b come from.
func (c *Comparison) compareOrigins(a, b *Signature) {
	page := func(s *Signature) byte { return s.raw[addressAt] &^ correctionBit }
	c.OnePublisher = a.raw[publisherAt] != 0 && a.raw[publisherAt] == b.raw[publisherAt]
	c.SameAddress = page(a) != 0 && page(a) == page(b)
	c.Correction = (a.raw[addressAt]|b.raw[addressAt])&correctionBit != 0
}

// soon tells whether a publisher sends a report again within the time between the two.
func (e evidence) soon() bool { return e.Apart <= time.Duration(limits.Day)*time.Hour }

// versions tells whether the publisher of both articles says that they are versions of one.
func (e evidence) versions() bool {
	return e.OnePublisher && (e.SameID || e.SameAddress || e.Correction && e.soon())
}

// corrected tells whether one is the correction of the other: the publisher of both says so, or gave both one id, and
// a number or a main word differs.
func (e evidence) corrected() bool {
	return e.OnePublisher && e.soon() && (e.SameID || e.Correction) && (e.otherNumbers() > 0 || e.CommonAll < e.LeastAll ||
		e.HeadContradictions > 0 || e.OtherMain > 0)
}

// house tells whether the publisher of both articles published them as two.
func (e evidence) house() bool { return e.OnePublisher && !e.versions() }

// otherNumbers counts the numbers that differ in places that both have, or are missing, none of them forgiven.
func (e evidence) otherNumbers() int { return e.Contradictions + e.LeastValues - e.CommonValues }

// again is the share of the shorter text that the other one has if a publisher sends one report twice. Other outlets
// edit a report; its publisher puts another report on the same form.
//
// Later than after a day and a half, the publisher sends only a part again. Many numbers in common tell one report from
// another one whatever the words.
func (e evidence) again() float64 {
	part := e.Longer >= limits.Longer
	switch {
	case !e.house() || e.soon() && e.CommonValues > limits.Numbers+1:
		return 0
	case !e.soon() && !part:
		return 1
	case !e.soon() || e.CommonAll < e.LeastAll || !e.Flash && e.Lead <= halfLead:
		return (1 + limits.Contained) / 2
	case part || e.CommonAll > 1 && e.SameForemost:
		return limits.Beginning
	}
	return limits.Contained
}
