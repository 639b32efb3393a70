package figures

import (
	"math"
	"math/rand/v2"
	"slices"
)

// FewFamilies is a limit: a rate of fewer families may be chance.
const FewFamilies = 20

const (
	resamples    = 2000
	intervalSeed = 1
	tail         = 0.025 // probability beyond each end of an interval
)

// Interval is the 95 % interval of a rate: with a probability of 95 %, the rate of all pairs of this sort is
// between Low and High. Pairs of one family are alike and tend to be right or wrong together. So families are
// resampled, not pairs.
type Interval struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Families int     `json:"families"`       // number of families of the rate
	Largest  float64 `json:"largest_family"` // share of the largest family in the pairs of the rate
	Few      bool    `json:"few_families"`   // Families is less than FewFamilies
}

// term is one pair of a rate. The rate is the sum of all part divided by the sum of all whole. whole is more than 0.
type term struct {
	families    []string
	part, whole int
}

// family holds the pairs of a rate that are resampled together.
type family struct{ part, whole, pairs int }

// interval returns the 95 % interval of the rate of the terms, nil if there are none. Its ends are
// percentiles of a cluster bootstrap over families, from a fixed seed. If n families show no error, no
// resample shows one, however small n is, and the bootstrap alone would give an interval of length 0. So the
// interval reaches at least to the bound of Clopper and Pearson: the error rate at which n families without
// an error are still likely enough.
func interval(terms []term) *Interval {
	if len(terms) == 0 {
		return nil
	}
	families := familiesOf(terms)
	random := rand.New(rand.NewPCG(intervalSeed, 0))
	rates := make([]float64, resamples)
	for i := range rates {
		part, whole := 0, 0
		for range families {
			f := families[random.IntN(len(families))]
			part, whole = part+f.part, whole+f.whole
		}
		rates[i] = ratio(part, whole)
	}
	slices.Sort(rates)
	unseen := 1 - math.Pow(tail, 1/float64(len(families)))
	largest := slices.MaxFunc(families, func(a, b family) int { return a.pairs - b.pairs })
	return &Interval{
		Low: min(quantile(rates, tail), 1-unseen), High: max(quantile(rates, 1-tail), unseen),
		Families: len(families), Largest: ratio(largest.pairs, len(terms)), Few: len(families) < FewFamilies,
	}
}

// familiesOf puts terms into one family if they name a family in common, directly or through other terms. A
// term that names none is a family by itself. The families are in the order of the first term of each.
func familiesOf(terms []term) []family {
	parents := map[string]string{}
	rootOf := func(name string) string {
		for parents[name] != name {
			parents[name] = parents[parents[name]]
			name = parents[name]
		}
		return name
	}
	for _, t := range terms {
		for _, name := range t.families {
			if _, known := parents[name]; !known {
				parents[name] = name
			}
			parents[rootOf(name)] = rootOf(t.families[0])
		}
	}
	var out []family
	places := map[string]int{}
	for _, t := range terms {
		place := len(out)
		if len(t.families) > 0 {
			root := rootOf(t.families[0])
			if known, found := places[root]; found {
				place = known
			} else {
				places[root] = place
			}
		}
		if place == len(out) {
			out = append(out, family{})
		}
		f := &out[place]
		f.part, f.whole, f.pairs = f.part+t.part, f.whole+t.whole, f.pairs+1
	}
	return out
}

// quantile returns the smallest value such that at least the share q of the values is not larger; 0 if there
// are none. The values must be sorted.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

func ratio(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
