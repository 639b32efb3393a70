package eval

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"echosieve/pipeline"
	"echosieve/simhash"
)

// Labels of a pair.
const (
	Partial      = -1 // partly the same: counts in nothing but its own kind
	HardNegative = 0  // looks alike but is no copy
	Copy         = 1
)

// Pair is two articles and what they are to each other.
type Pair struct {
	A, B  string // article ids
	Label int
	Kind  string // how the copy was edited, or in what the look-alike looks alike
}

// ParsePair reads a line "id_a id_b label kind", separated by tabs; further columns are ignored. The header line that
// begins with id_a is told. With labelled false the first two columns are enough.
func ParsePair(line string, labelled bool) (p Pair, header bool, err error) {
	fields := strings.Split(line, "\t")
	if fields[0] == "id_a" {
		return Pair{}, true, nil
	}
	if len(fields) < 2 || labelled && len(fields) < 4 {
		return Pair{}, false, errors.New("want id_a, id_b, label and kind, separated by tabs")
	}
	p = Pair{A: fields[0], B: fields[1]}
	if labelled {
		p.Kind = fields[3]
		if p.Label, err = strconv.Atoi(fields[2]); err != nil || p.Label < Partial || p.Label > Copy {
			return Pair{}, false, fmt.Errorf("label %q is not -1, 0 or 1", fields[2])
		}
	}
	return p, false, nil
}

// Rates are the usual figures over copies and hard negatives. A rate without a case is 0.
type Rates struct {
	Recall            float64 `json:"recall"`
	Precision         float64 `json:"precision"`
	FalsePositiveRate float64 `json:"false_positive_rate"` // of hard negatives
}

// AtDistance is what a plain limit of K bits would give.
type AtDistance struct {
	K int `json:"k"`
	Rates
}

// KindResult counts the pairs of one kind.
type KindResult struct {
	Label    int `json:"label"`
	N        int `json:"n"`
	Flagged  int `json:"flagged"`  // held to be copies
	Possible int `json:"possible"` // look alike, but not enough; 0 for recipes where distance alone decides
}

// PairsResult is what Pairs found out.
type PairsResult struct {
	Docs  int `json:"docs"`
	Pairs int `json:"pairs"` // that count: without those ignored
	Rates
	F1              float64               `json:"f1"`
	CandidateRecall float64               `json:"candidate_recall"` // copies that a look-up by blocks finds at all
	Kinds           map[string]KindResult `json:"kinds"`
	Distance        []AtDistance          `json:"distance"`
}

// MaxPlainDistance is the largest limit for which plain distance is reported, in bits.
const MaxPlainDistance = 32

// IgnoredKind is the kind under which pairs of the ignore list are counted, with the label of partial copies.
const IgnoredKind = "ignored"

// Pairs judges each pair. Pairs in ignore, in either order, count in nothing but a kind of their own, those of unknown
// articles nowhere. A labelled pair of an unknown article is an error. Should pairs of one kind have different labels,
// those of the label met later stand as "kind (label)".
func Pairs(articles map[string]pipeline.Article, pairs, ignore []Pair, judge Judge) (PairsResult, error) {
	ignored := map[[2]string]bool{}
	r := PairsResult{Docs: len(articles), Kinds: map[string]KindResult{}}
	for _, p := range ignore {
		a, knownA := articles[p.A]
		b, knownB := articles[p.B]
		if knownA && knownB && !ignored[[2]string{p.A, p.B}] {
			r.addKind(Pair{p.A, p.B, Partial, IgnoredKind}, judge(b, a))
		}
		ignored[[2]string{p.A, p.B}], ignored[[2]string{p.B, p.A}] = true, true
	}
	var now counts
	var plain [MaxPlainDistance + 1]counts
	candidates := 0
	for _, p := range pairs {
		if ignored[[2]string{p.A, p.B}] {
			continue
		}
		a, knownA := articles[p.A]
		b, knownB := articles[p.B]
		if !knownA || !knownB {
			return PairsResult{}, fmt.Errorf("pair %s, %s: no such article", p.A, p.B)
		}
		r.Pairs++
		verdict := judge(b, a)
		r.addKind(p, verdict)
		now.add(p.Label, verdict.Flagged)
		distance := simhash.Distance(a.SimHash, b.SimHash)
		for k := range plain {
			plain[k].add(p.Label, distance <= k)
		}
		if p.Label == Copy && verdict.Candidate {
			candidates++
		}
	}
	r.Rates = now.rates()
	r.F1 = ratio(2*now.found, 2*now.found+now.missed+now.alarms)
	r.CandidateRecall = ratio(candidates, now.found+now.missed)
	for k, c := range plain {
		r.Distance = append(r.Distance, AtDistance{k, c.rates()})
	}
	return r, nil
}

func (r *PairsResult) addKind(p Pair, verdict Judgement) {
	name := p.Kind
	if k, known := r.Kinds[name]; known && k.Label != p.Label {
		name = fmt.Sprintf("%s (%d)", p.Kind, p.Label)
	}
	k := r.Kinds[name]
	k.Label = p.Label
	k.N++
	if verdict.Flagged {
		k.Flagged++
	}
	if verdict.Possible {
		k.Possible++
	}
	r.Kinds[name] = k
}

type counts struct{ found, missed, alarms, negatives int }

func (c *counts) add(label int, flagged bool) {
	switch {
	case label == Copy && flagged:
		c.found++
	case label == Copy:
		c.missed++
	case label == HardNegative:
		c.negatives++
		if flagged {
			c.alarms++
		}
	}
}

func (c *counts) rates() Rates {
	return Rates{
		Recall:            ratio(c.found, c.found+c.missed),
		Precision:         ratio(c.found, c.found+c.alarms),
		FalsePositiveRate: ratio(c.alarms, c.negatives),
	}
}

func ratio(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
