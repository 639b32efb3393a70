package inquiry

import (
	"fmt"
	"strings"

	"echosieve/pipeline/article"
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

// Says is the reason of a verdict as a part of a sentence; empty: it has none.
func Says(kind article.Kind, reason article.Reason) string {
	switch reason {
	case article.ReasonDigest:
		return "after cleaning, and apart from spaces and punctuation, the texts are the same"
	case article.ReasonDistance: // of classic recipes
		return "the fingerprints are near enough"
	}
	for _, row := range evidence.Rows() {
		if row.Kind == kind && row.Reason == reason {
			return row.Says
		}
	}
	return ""
}

// explain returns one sentence. Where the rule decided, it follows from the row.
func (t *Judge) explain(c *Comparison, j article.Judgement) string {
	var why string
	switch j.Reason {
	case article.ReasonDigest:
		return "Exact copy: " + Says(j.Kind, j.Reason) + "."
	case article.ReasonNone:
		return "No verdict: cleaning leaves no letter and no digit, so the record becomes a dead letter."
	case article.ReasonUnknown:
		why = "there is no signature to compare."
	case article.ReasonLittle:
		why = "of a text with so few different words only the same text is a copy."
	default:
		why = t.decided(c, j)
	}
	why += relations[j.Relation]
	switch j.Kind {
	case article.Near:
		why = "Near copy: " + why
		if c.Topic != article.ToDuplicate.String() {
			why += fmt.Sprintf(" The policy sends it to the topic %s.", c.Topic)
		}
	case article.Possible:
		why = "Possibly a copy, published as unique with a mark: " + why
	default:
		why = "Not a copy: " + why
	}
	if j.Kind.IsCopy() && !c.Found {
		why += " But the service would not notice: its look-ups do not find one from the other " +
			"(detection.probes, detection.anchors)."
	}
	return why
}

// decided says which row of the rule decided, and by which figure. Beyond the reach of look-ups no row is asked.
func (t *Judge) decided(c *Comparison, j article.Judgement) string {
	row, decider, with := t.rule.Explain(c.Distance, c.compared)
	switch {
	case c.Distance > t.index.MaxDistance || row == nil:
		return fmt.Sprintf("the fingerprints differ in %d bits, at most %d are allowed.",
			c.Distance, t.index.MaxDistance)
	case row.Reason != j.Reason:
		return fmt.Sprintf("the fingerprints differ in %d bits; at this distance the service compares only texts "+
			"that share an anchor (detection.anchors).", c.Distance)
	}
	figure := decider.String()
	if with != "" {
		figure += " with " + with
	}
	return row.Says + " (" + figure + ")."
}

// relations says what B is to A.
var relations = map[article.Relation]string{
	article.Equal:     " Neither has words of its own to speak of.",
	article.Contained: " B is contained in A.",
	article.Extends:   " B contains A and has more.",
	article.Revises:   " B revises A: both have the same id, or B corrects a figure of A.",
	article.Overlaps:  " Each has words that the other lacks.",
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
