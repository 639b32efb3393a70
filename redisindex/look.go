package redisindex

import (
	"cmp"
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline"
	"echosieve/simhash"
)

// candidate is a fingerprint of some generation within the maximal distance of an item's.
type candidate struct {
	fieldRef
	distance int
}

// look reads the block lists of the open items in the generations in reach and picks the candidates. A list that
// several items share is read once.
func (b *batch) look(ctx context.Context) error {
	x, open := b.x, b.open()
	most := len(open) * (x.cfg.Layout.Count + 1) * (x.cfg.Probes + 1)
	refs := make([]blockRef, 0, most) // each once
	at := make(map[blockRef]int32, most)
	reads := make([][]int32, len(open)) // for each item the refs it reads
	var blocks []simhash.Block
	for i, it := range open {
		blocks = x.cfg.AppendLooks(blocks[:0], it.claim.Fingerprint, it.claim.Sums, it.claim.Anchors)
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
	for i, it := range open {
		x.metrics.lookups.Observe(float64(len(reads[i])))
		for _, n := range reads[i] {
			for list := lists[n]; len(list) >= fingerprintBytes; list = list[fingerprintBytes:] {
				fp := fingerprint(list)
				if d := simhash.Distance(it.claim.Fingerprint, fp); d <= x.cfg.MaxDistance {
					it.found = append(it.found, candidate{fieldRef{refs[n].generation, fp}, d})
				}
			}
		}
		b.limit(it)
	}
	return nil
}

// limit keeps the nearest candidates; of equally near ones the oldest generation's come first.
func (b *batch) limit(it *item) {
	slices.SortFunc(it.found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.generation, b.generation),
			cmp.Compare(a.fingerprint, b.fingerprint))
	})
	it.found = slices.Compact(it.found)
	b.x.metrics.candidates.Observe(float64(len(it.found)))
	if most := b.x.cfg.MaxCandidates; len(it.found) > most {
		b.x.metrics.capped.Inc()
		it.found = it.found[:most]
	}
}

// read reads the candidates' entries, helps those that are pending, and proposes a verdict for each open item.
func (b *batch) read(ctx context.Context) error {
	open := b.open()
	if err := b.readEntries(ctx, open); err != nil {
		return err
	}
	if err := b.help(ctx, open); err != nil {
		return err
	}
	// In ticket order, so that an original of the same batch has its root proposed before it is asked for.
	slices.SortStableFunc(open, func(a, b *item) int { return cmp.Compare(a.ticket, b.ticket) })
	for _, it := range open {
		b.propose(it)
	}
	return nil
}

func (b *batch) readEntries(ctx context.Context, open []*item) error {
	pipe := b.x.client.Pipeline()
	values := map[fieldRef]*redis.StringCmd{}
	for _, it := range open {
		for _, c := range it.found {
			if values[c.fieldRef] == nil {
				values[c.fieldRef] = pipe.HGet(ctx, b.x.keys.entries(c.fieldRef), c.name())
			}
		}
	}
	if err := b.exec(ctx, "read", pipe); err != nil {
		return err
	}
	b.entries = make(map[fieldRef][]*entry, len(values))
	for ref, cmd := range values {
		for data := cmd.Val(); data != ""; {
			e, rest, err := cutEntry(data)
			if err != nil {
				return err
			}
			b.entries[ref] = append(b.entries[ref], &e)
			data = rest
		}
	}
	return nil
}

// help gives every pending entry that could be an original a ticket. Its own worker may be slow, or dead; it
// will find this ticket and keep it. Drawn after ours, the ticket is above ours unless the worker was faster.
func (b *batch) help(ctx context.Context, open []*item) error {
	type pending struct {
		fieldRef
		*entry
	}
	var waiting []pending
	seen := map[*entry]bool{}
	for _, it := range open {
		for _, c := range it.found {
			for _, e := range b.entries[c.fieldRef] {
				if e.ticket == 0 && !seen[e] && b.judge(it, c, e).Kind != 0 {
					seen[e] = true
					waiting = append(waiting, pending{c.fieldRef, e})
				}
			}
		}
	}
	first, err := b.numbers(ctx, len(waiting))
	if err != nil {
		return err
	}
	pipe := b.x.client.Pipeline()
	tickets := make([]*redis.Cmd, len(waiting))
	for i, p := range waiting {
		tickets[i] = b.setTicket(ctx, pipe, p.fieldRef, p.digest, first+uint64(i))
	}
	if err := b.exec(ctx, "ticket", pipe); err != nil {
		return err
	}
	for i, p := range waiting {
		if reply, ok := tickets[i].Val().(string); ok { // else it is lost, and will draw a later one
			p.ticket = ticketNumber(reply)
			b.x.metrics.helped.Inc()
		}
	}
	return nil
}

// judge says what the item would be to the entry if that were the earlier one.
func (b *batch) judge(it *item, c candidate, e *entry) pipeline.Judgement {
	if e.ref.Coordinates == it.ref.Coordinates || !b.x.layout.within(e.ms, it.ms) {
		return pipeline.Judgement{}
	}
	return b.x.cfg.Decide(it.claim.Traits(),
		pipeline.Traits{Fingerprint: c.fingerprint, Digest: e.digest, LittleText: e.little, Signature: e.signature})
}

// propose reaches the verdict of an item: a copy of the earliest entry of which it is one, else possibly one of the
// earliest entry that it looks like.
func (b *batch) propose(it *item) {
	it.proposal = b.earliest(it, pipeline.Kind.IsCopy)
	if it.proposal.Kind == 0 {
		it.proposal = b.earliest(it, func(k pipeline.Kind) bool { return k == pipeline.Possible })
	}
	if it.proposal.Kind == 0 {
		it.proposal = pipeline.Match{Kind: pipeline.Unique, Root: it.ref}
	}
}

// earliest returns the match with the lowest ticket below the item's among its candidates of a wanted kind.
func (b *batch) earliest(it *item, wanted func(pipeline.Kind) bool) (best pipeline.Match) {
	lowest, at := it.ticket, it.ref.Coordinates
	for _, c := range it.found {
		for _, e := range b.entries[c.fieldRef] {
			if e.ticket == 0 || !earlier(e.ticket, e.ref.Coordinates, lowest, at) {
				continue
			}
			j := b.judge(it, c, e)
			if !wanted(j.Kind) {
				continue
			}
			root := it.ref
			if j.Kind.IsCopy() {
				root = b.root(e)
				if root.Coordinates == it.ref.Coordinates {
					continue // it counts itself as our copy, from before Redis lost our entry: two copies must not name each other
				}
			}
			lowest, at = e.ticket, e.ref.Coordinates
			best = pipeline.Match{Kind: j.Kind, Test: j.Test, Original: e.ref, Root: root, Distance: c.distance}
		}
	}
	return best
}

// earlier orders articles by ticket, and by coordinates should a lost counter have dealt a ticket twice.
func earlier(ticket uint64, at pipeline.Coordinates, thanTicket uint64, than pipeline.Coordinates) bool {
	if ticket != thanTicket {
		return ticket < thanTicket
	}
	return at.Less(than)
}

// root is the article that is no copy at the end of the chain that starts at e, as far as known: from its verdict, else
// from what this batch proposes for it, else e itself.
func (b *batch) root(e *entry) pipeline.Ref {
	if m, err := decodeVerdict(e.verdict, e.ref); err == nil {
		return m.Root
	}
	if it := b.known[identity{e.ref.Coordinates, e.digest}]; it != nil && it.proposal.Kind != 0 {
		return it.proposal.Root
	}
	return e.ref
}
