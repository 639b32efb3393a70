package redisindex

import (
	"context"

	"echosieve/simhash"
)

// look reads the block lists of the open items in the generations in reach and picks the candidates. A list that
// several items share is read once.
func (b *batch) look(ctx context.Context) error {
	x, open := b.x, b.open()
	most := len(open) * (x.cfg.Blocks + 1) * (x.cfg.Probes + 1)
	refs := make([]blockRef, 0, most) // each once
	at := make(map[blockRef]int32, most)
	reads := make([][]int32, len(open)) // for each item the refs it reads
	var blocks []simhash.Block
	for i, it := range open {
		blocks = x.layout.plan.AppendLookups(blocks[:0], &it.claim)
		for g, last := x.layout.reach(it.ms); g <= last; g++ {
			if !b.generations[g] {
				continue
			}
			if it.claim.LittleText {
				it.found = append(it.found, candidate{fieldRef: fieldRef{g, it.claim.Fingerprint}})
				continue
			}
			if reads[i] == nil {
				reads[i] = make([]int32, 0, 2*len(blocks))
			}
			for _, block := range blocks {
				ref := blockRef{g, block.Index, block.Value}
				n, known := at[ref]
				if !known {
					n = int32(len(refs))
					at[ref] = n
					refs = append(refs, ref)
				}
				reads[i] = append(reads[i], n)
			}
		}
	}
	lists, err := b.readLists(ctx, refs)
	if err != nil {
		return err
	}
	near := newNearest(x.cfg.MaxCandidates)
	for i, it := range open {
		x.metrics.lookups.Observe(float64(len(reads[i])))
		if !it.claim.LittleText {
			near.reset(x.cfg.MaxDistance)
			for _, n := range reads[i] {
				near.offerList(refs[n].generation, lists[n], it.claim.Fingerprint)
			}
			it.found = near.take()
			if near.capped {
				x.metrics.capped.Inc()
			}
		}
		x.metrics.candidates.Observe(float64(len(it.found)))
	}
	return nil
}
