package figures

import "fmt"

// Rates are the usual figures over copies and hard negatives. A rate of no pairs is 0.
type Rates struct {
	Recall            float64 `json:"recall"`
	Precision         float64 `json:"precision"`
	FalsePositiveRate float64 `json:"false_positive_rate"` // of hard negatives
}

// Intervals are the intervals of the figures of a PairsResult; nil for a rate of no pairs.
type Intervals struct {
	Recall            *Interval `json:"recall"`
	Precision         *Interval `json:"precision"`
	F1                *Interval `json:"f1"`
	FalsePositiveRate *Interval `json:"false_positive_rate"`
	CandidateRecall   *Interval `json:"candidate_recall"`
}

// rate computes the figures over all kinds. Each figure is a share of some of the pairs, and its families are
// the families of these pairs.
func (r *PairsResult) rate(list []judged) {
	var recall, precision, alarms, candidates, f1 []term
	for _, p := range list {
		isCopy := p.Label == Copy
		if p.Label == Partial || p.Label == Version {
			continue
		}
		if isCopy {
			recall = append(recall, p.term(p.Flagged))
			candidates = append(candidates, p.term(p.Candidate))
		} else {
			alarms = append(alarms, p.term(p.Flagged))
		}
		if p.Flagged {
			precision = append(precision, p.term(isCopy))
		}
		if isCopy || p.Flagged { // F1 is 2 found / (2 found + missed + false alarms)
			t := p.term(false)
			if isCopy && p.Flagged {
				t.part, t.whole = 2, 2
			}
			f1 = append(f1, t)
		}
	}
	r.Recall, r.Precision, r.FalsePositiveRate = rateOf(recall), rateOf(precision), rateOf(alarms)
	r.F1, r.CandidateRecall = rateOf(f1), rateOf(candidates)
	r.Intervals = Intervals{interval(recall), interval(precision), interval(f1), interval(alarms), interval(candidates)}
}

func rateOf(terms []term) float64 {
	part, whole := 0, 0
	for _, t := range terms {
		part, whole = part+t.part, whole+t.whole
	}
	return ratio(part, whole)
}

// Figure is a figure over all kinds.
type Figure struct {
	Name     string
	Value    float64
	Interval *Interval // nil for a rate of no pairs
}

// Figures lists the figures over all kinds.
func (r *PairsResult) Figures() []Figure {
	return []Figure{
		{"recall", r.Recall, r.Intervals.Recall},
		{"precision", r.Precision, r.Intervals.Precision},
		{"F1", r.F1, r.Intervals.F1},
		{"false-positive rate", r.FalsePositiveRate, r.Intervals.FalsePositiveRate},
		{"candidate recall", r.CandidateRecall, r.Intervals.CandidateRecall},
	}
}

// warnings returns the figures that may be chance, and the number of such kinds.
func (r *PairsResult) warnings() []string {
	out := []string{}
	for _, f := range r.Figures() {
		switch i := f.Interval; {
		case i == nil:
		case i.Few:
			out = append(out, fmt.Sprintf("%s: fewer than %d families stand behind it (%d): it may be chance", f.Name,
				FewFamilies, i.Families))
		case i.Largest > 0.5:
			out = append(out, fmt.Sprintf("%s: one family has %.0f %% of its pairs and decides it", f.Name,
				100*i.Largest))
		}
	}
	few := 0
	for _, k := range r.Kinds {
		if k.Interval.Few {
			few++
		}
	}
	if few > 0 {
		out = append(out, fmt.Sprintf(
			"fewer than %d families stand behind the rate of %d of %d kinds: each of these rates may be chance",
			FewFamilies, few, len(r.Kinds)))
	}
	return out
}
