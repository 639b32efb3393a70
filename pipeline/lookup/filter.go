package lookup

import "echosieve/simhash"

// Filter chooses, among the fingerprints in the lists that are looked up for one article in one slice, the candidates. Not safe for
// concurrent use.
type Filter struct {
	plan *Plan
	met  map[simhash.Fingerprint]struct{} // in one list so far, and beyond its reach
}

// NewFilter returns a filter for an article.
func (p *Plan) NewFilter() *Filter {
	return &Filter{plan: p, met: map[simhash.Fingerprint]struct{}{}}
}

// Reset makes the filter ready for another article or slice.
func (f *Filter) Reset() { clear(f.met) }

// Accepts says whether a fingerprint in a list of the block, at that Hamming distance in bits, is a candidate: it is within Plan.Reach of
// the list, or within the largest distance of the recipe and was offered before, from another list. Lists hold each fingerprint once.
func (f *Filter) Accepts(block int, fp simhash.Fingerprint, distance int) bool {
	return distance <= f.plan.maxDistance && (distance <= f.plan.Reach(block) || f.again(fp))
}

// again says whether the fingerprint was met before.
func (f *Filter) again(fp simhash.Fingerprint) bool {
	_, met := f.met[fp]
	if !met {
		f.met[fp] = struct{}{}
	}
	return met
}
