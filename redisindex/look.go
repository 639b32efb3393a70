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

// blockKey names the set of a block in a generation. Below the volume for which all of a block's bits pay, sets
// that agree in the low bits share a key: fewer, fuller sets; what they hold is measured anyway.
func (x *Index) blockKey(generation int64, block simhash.Block) string {
	return x.keys.block(x.blockRef(generation, block))
}

func (x *Index) blockRef(generation int64, block simhash.Block) blockRef {
	return blockRef{generation, block.Index, block.Value & (1<<x.layout.blockBits - 1)}
}

// look reads the block sets of the open items in the generations in reach and picks the candidates. A set that
// several items share is read once.
func (b *batch) look(ctx context.Context) error {
	x, pipe, open := b.x, b.x.client.Pipeline(), b.open()
	sets := map[blockRef]*redis.IntSliceCmd{}
	reads := make([][]blockRef, len(open))
	var blocks []simhash.Block
	for i, it := range open {
		blocks = simhash.AppendBlocks(blocks[:0], it.claim.Fingerprint, x.cfg.MaxDistance)
		for g, last := x.layout.reach(it.ms); g <= last; g++ {
			if !b.generations[g] {
				continue
			}
			if it.claim.LittleText {
				it.found = append(it.found, candidate{fieldRef: fieldRef{g, it.claim.Fingerprint}})
				continue
			}
			for _, block := range blocks {
				ref := x.blockRef(g, block)
				reads[i] = append(reads[i], ref)
				if sets[ref] == nil {
					sets[ref] = redis.NewIntSliceCmd(ctx, "SMEMBERS", x.keys.block(ref))
					_ = pipe.Process(ctx, sets[ref]) // queues only
				}
			}
		}
	}
	if err := b.exec(ctx, "look", pipe); err != nil {
		return err
	}
	for _, set := range sets {
		x.metrics.members.Add(float64(len(set.Val())))
	}
	for i, it := range open {
		x.metrics.lookups.Observe(float64(len(reads[i])))
		for _, ref := range reads[i] {
			for _, m := range sets[ref].Val() {
				fp := simhash.Fingerprint(m)
				if d := simhash.Distance(it.claim.Fingerprint, fp); d <= x.cfg.MaxDistance {
					it.found = append(it.found, candidate{fieldRef{ref.generation, fp}, d})
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
				if e.ticket == 0 && !seen[e] && b.alike(it, c, e) != 0 {
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

// alike says as what the item would repeat the entry if that were the earlier one; zero: not at all.
func (b *batch) alike(it *item, c candidate, e *entry) pipeline.Kind {
	switch {
	case e.ref.Coordinates == it.ref.Coordinates, !b.x.layout.within(e.ms, it.ms):
		return 0
	case e.digest == it.claim.Digest:
		return pipeline.Exact
	case !e.little && !it.claim.LittleText && c.distance <= b.x.cfg.MaxDistance:
		return pipeline.Near
	default:
		return 0
	}
}

// propose reaches the verdict of an item: the alike entry with the lowest ticket, if lower than its own.
func (b *batch) propose(it *item) {
	it.proposal = pipeline.Match{Kind: pipeline.Unique, Root: it.ref}
	lowest, at := it.ticket, it.ref.Coordinates
	for _, c := range it.found {
		for _, e := range b.entries[c.fieldRef] {
			kind := b.alike(it, c, e)
			if kind == 0 || e.ticket == 0 || !earlier(e.ticket, e.ref.Coordinates, lowest, at) {
				continue
			}
			root := b.root(e)
			if root.Coordinates == it.ref.Coordinates {
				continue // it counts itself as our copy, from before Redis lost our entry: two copies must not name each other
			}
			lowest, at = e.ticket, e.ref.Coordinates
			it.proposal = pipeline.Match{Kind: kind, Original: e.ref, Root: root, Distance: c.distance}
		}
	}
}

// earlier orders articles by ticket, and by coordinates should a lost counter have dealt a ticket twice.
func earlier(ticket uint64, at pipeline.Coordinates, thanTicket uint64, than pipeline.Coordinates) bool {
	if ticket != thanTicket {
		return ticket < thanTicket
	}
	return at.Less(than)
}

// root is the unique article at the end of the chain that starts at e, as far as known: from its verdict, else
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
