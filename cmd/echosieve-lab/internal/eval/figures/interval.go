package figures

import (
	"math"
	"math/rand/v2"
	"slices"
)

// FewFamilies is the number of families below which a rate may be chance.
const FewFamilies = 20

const (
	resamples    = 2000
	intervalSeed = 1
	tail         = 0.025 // probability beyond each end of an interval
)

// Interval tells how far a rate can be trusted: the rate of other pairs of the same sort lies between Low and High with a
// probability of 95 %. Pairs of one family are alike and tend to be right or wrong together, so families are resampled,
// not pairs.
type Interval struct {
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Families int     `json:"families"`       // that stand behind the rate
	Largest  float64 `json:"largest_family"` // share of the rate's pairs that are of the largest family
	Few      bool    `json:"few_families"`   // Families is less than FewFamilies
}

// term is what one pair adds to a rate: part to its numerator, whole to its denominator, which is more than 0.
type term struct {
	families    []string
	part, whole int
}

// family is the pairs of a rate that are resampled together.
type family struct{ part, whole, pairs int }

// interval returns the 95 % interval of the rate that the terms make: the percentiles of a cluster bootstrap over
// families, from a fixed seed. Resamples of n families that are all right show no error, whatever n is. So the interval
// reaches at least to the rate that n families without an error leave possible (Clopper and Pearson's bound). It is nil
// without a term.
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

// familiesOf joins the terms that name a family in common, directly or through other terms. A term that names none is a
// family by itself. The order is that of the terms.
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
