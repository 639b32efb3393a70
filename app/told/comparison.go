package told

import (
	"fmt"
	"strings"

	"echosieve/pipeline/changes"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/text"
	"echosieve/simhash"
)

// Comparison says what B is to A, if B came later, and why.
type Comparison struct {
	Recipe string `json:"recipe"`
	Judged
	Explanation string           `json:"explanation"`
	Topic       string           `json:"topic"` // where policy sends B: unique, possible, duplicate
	Found       bool             `json:"found"` // the look-ups of the service lead from B to A
	Blocks      int              `json:"blocks"`
	BlockBits   int              `json:"block_bits"`   // width of each
	Probes      int              `json:"probes"`       // most values that are looked up for a block besides its own
	EqualBlocks []int            `json:"equal_blocks"` // 0 has the most significant bits
	Lookups     int              `json:"lookups"`      // for B
	FoundBy     []string         `json:"found_by"`     // the look-ups that lead from B to A
	A           Text             `json:"a"`
	B           Text             `json:"b"`
	Texts       []changes.Run    `json:"texts,omitempty"`
	Changes     *changes.Changes `json:"changes,omitempty"` // what B has that A lacks; nil: it is not known

	compared evidence.Comparison
}

// Text is one of the two texts.
type Text struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"` // SimHash, hexadecimal
	Bits        string `json:"bits"`        // the fingerprint in binary digits, most significant first
	Digest      string `json:"digest"`      // digest of the normalised text, hexadecimal
	Features    int    `json:"features"`    // different words that count
	LittleText  bool   `json:"little_text"`
	CleanBytes  int    `json:"clean_bytes"`
	// LeftOut is the share of the clean text that the fingerprint ignores: lines around the article, and
	// sentences that the publisher repeats.
	LeftOut  float64    `json:"left_out"`
	Repeated []Repeated `json:"repeated,omitempty"` // those sentences
}

func newText(a *Article) Text {
	m := a.Made
	return Text{
		Name: a.Record, Fingerprint: m.SimHash.String(), Bits: m.SimHash.Bits(), Digest: fmt.Sprintf("%x", m.Digest),
		Features: m.Features, LittleText: m.LittleText, CleanBytes: m.CleanBytes, LeftOut: m.LeftOut(),
		Repeated: a.Repeated,
	}
}

// Compare compares two articles, of which both have Made. found says that the service has found a when b came: the
// anchor that did so may be lost with the text, and b is judged as if it were there.
func (t *Judge) Compare(earlier, later *Article, found bool) Comparison {
	a, b := earlier.Made, later.Made
	judgement := t.plan.Judge(&t.index.Rule, b, a)
	if found {
		judgement = t.index.Compare(b, a)
	}
	c := Comparison{
		Recipe:      t.recipe.ID(),
		compared:    evidence.CompareArticles(b, a),
		Topic:       t.index.Destination(judgement).String(),
		Found:       found || t.plan.Finds(b, a),
		Blocks:      t.plan.Layout.Count,
		BlockBits:   t.plan.Layout.Width(0),
		Probes:      t.plan.Probes,
		EqualBlocks: []int{},
		FoundBy:     []string{},
		A:           newText(earlier),
		B:           newText(later),
	}
	c.Judged = t.tell(judgement, simhash.Distance(a.SimHash, b.SimHash), c.compared)
	all := t.plan.Lookups(b, a)
	c.Lookups = len(all)
	for _, l := range all {
		switch {
		case !l.Found || !c.Found: // little text is found by its digest only
		case l.Block == c.Blocks:
			c.FoundBy = append(c.FoundBy, fmt.Sprintf("anchor %d", l.Number))
		case l.Number == 0:
			c.EqualBlocks = append(c.EqualBlocks, l.Block)
			c.FoundBy = append(c.FoundBy, fmt.Sprintf("block %d", l.Block))
		default:
			c.FoundBy = append(c.FoundBy, fmt.Sprintf("block %d probe %d", l.Block, l.Number))
		}
	}
	c.Explanation = t.explain(&c, judgement)
	return c
}

// WhatIsNew says what is new in the later article, from the texts of both.
func WhatIsNew(earlier, later *Article) *changes.Changes {
	return changes.Between(changes.Version{Title: earlier.Title, Text: earlier.Text},
		changes.Version{Title: later.Title, Text: later.Text})
}

// Align aligns the texts of two articles as people read them: without markup, which does not count for verdicts.
func Align(earlier, later *Article) []changes.Run {
	side := func(a *Article) changes.Side {
		s := changes.Side{Text: strings.TrimSpace(text.Readable(a.Text)), Repeated: map[string]bool{}}
		for _, r := range a.Repeated {
			s.Repeated[r.Sentence] = true
		}
		return s
	}
	return changes.AlignSides(side(earlier), side(later), text.Clean)
}
