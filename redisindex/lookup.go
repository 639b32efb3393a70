package redisindex

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
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

// candidate is a fingerprint of some generation within the maximal distance of an article's.
type candidate struct {
	fieldRef
	distance int // bits
	at       int // its entries among batch.entries, once they are read
}

// nearest keeps the nearest of the candidates that it is offered, each once and at most `most` of them, so that its
// memory and the reads that follow do not depend on the length of the lists. Of equally near candidates it keeps the ones
// offered first. Not safe for concurrent use; reset prepares it for the next article.
type nearest struct {
	most   int
	limit  int // largest distance of a candidate, in bits
	cutoff int // largest distance that is still taken; shrinks from limit once `most` candidates are kept
	kept   int
	capped bool // a candidate was left out
	byBits [65][]candidate
}

func newNearest(most int) *nearest { return &nearest{most: most} }

// reset forgets all candidates. From now on only candidates within maxDistance are taken.
func (n *nearest) reset(maxDistance int) {
	for d := range n.byBits {
		n.byBits[d] = n.byBits[d][:0]
	}
	n.limit, n.cutoff, n.kept, n.capped = maxDistance, maxDistance, 0, false
}

// offerList offers the fingerprints of a block list that lie near fp.
func (n *nearest) offerList(generation int64, list string, fp simhash.Fingerprint) {
	for ; len(list) >= fingerprintBytes; list = list[fingerprintBytes:] {
		other := fingerprint(list)
		switch d := simhash.Distance(fp, other); {
		case d > n.cutoff:
			n.capped = n.capped || d <= n.limit
		case d == n.cutoff && n.capped && n.kept == n.most: // no room, and nothing to learn from asking whether it is known
		default:
			n.offer(candidate{fieldRef: fieldRef{generation, other}, distance: d})
		}
	}
}

// offer takes a candidate within the cutoff unless it is known or `most` candidates are as near. A candidate that made room for a
// nearer one is not taken again: from then on there is no room at its distance.
func (n *nearest) offer(c candidate) {
	if slices.Contains(n.byBits[c.distance], c) {
		return
	}
	if n.kept == n.most {
		n.capped = true
		if c.distance == n.cutoff {
			return
		}
		last := len(n.byBits[n.cutoff]) - 1
		n.byBits[n.cutoff] = n.byBits[n.cutoff][:last]
		n.kept--
	}
	n.byBits[c.distance] = append(n.byBits[c.distance], c)
	n.kept++
	for n.kept == n.most && len(n.byBits[n.cutoff]) == 0 {
		n.cutoff--
	}
}

// take returns a copy of the candidates, the nearest first.
func (n *nearest) take() []candidate {
	if n.kept == 0 {
		return nil
	}
	found := make([]candidate, 0, n.kept)
	for d := range n.byBits {
		found = append(found, n.byBits[d]...)
	}
	return found
}

// relative is a stored article that an item resembles: the item is a copy of it, or possibly one, if it is the earlier.
type relative struct {
	*entry
	field    fieldRef // where the entry lies
	judged   article.Judgement
	distance int // bits
}

// read reads the candidates' entries and notes, for each open item, its relatives with a lower ticket in the order of
// their tickets. Relatives without a ticket are helped to one first.
func (b *batch) read(ctx context.Context) error {
	open := b.open()
	if err := b.readEntries(ctx, open); err != nil {
		return err
	}
	for _, it := range open {
		b.judge(it)
	}
	if err := b.help(ctx, open); err != nil {
		return err
	}
	for _, it := range open {
		it.relatives = slices.DeleteFunc(it.relatives, func(r relative) bool {
			return r.ticket == 0 || !earlier(r.ticket, r.ref.Coordinates, it.ticket, it.ref.Coordinates)
		})
		slices.SortFunc(it.relatives, func(r, s relative) int {
			if earlier(r.ticket, r.ref.Coordinates, s.ticket, s.ref.Coordinates) {
				return -1
			}
			return 1
		})
	}
	return nil
}

// readEntries reads the entries of all candidates. A field that several items found is read once.
func (b *batch) readEntries(ctx context.Context, open []*item) error {
	pipe := b.x.client.Pipeline()
	at := map[fieldRef]int{}
	var fields []fieldRef
	var values []*redis.StringCmd
	for _, it := range open {
		for i := range it.found {
			c := &it.found[i]
			n, known := at[c.fieldRef]
			if !known {
				n = len(values)
				at[c.fieldRef] = n
				fields = append(fields, c.fieldRef)
				values = append(values, pipe.HGet(ctx, b.x.keys.entries(c.fieldRef), c.name()))
			}
			c.at = n
		}
	}
	if err := b.exec(ctx, "read", pipe); err != nil {
		return err
	}
	b.entries = make([][]*entry, len(values))
	for n, cmd := range values {
		entries, err := b.x.decodeField(fields[n], cmd.Val())
		if err != nil {
			return err
		}
		b.entries[n] = entries
	}
	return nil
}

// judge notes the item's relatives among the entries of its candidates, whatever their tickets.
func (b *batch) judge(it *item) {
	mine := &it.claim
	for _, c := range it.found {
		for _, e := range b.entries[c.at] {
			if e.ref.Coordinates == it.ref.Coordinates || !b.x.layout.within(e.ms, it.ms) {
				continue
			}
			theirs := &article.Article{Fingerprint: c.fingerprint, Digest: e.digest, LittleText: e.little, Signature: e.signature}
			if j := b.x.cfg.Compare(mine, theirs); j.Kind != 0 {
				it.relatives = append(it.relatives, relative{e, c.fieldRef, j, c.distance})
			}
		}
	}
}

// help gives each relative without a ticket one. Its own worker may be slow, or dead; a worker that comes later finds
// this ticket and keeps it. The ticket is drawn after the tickets of the open items, so it is higher, unless
// the relative's worker was faster and set its own.
func (b *batch) help(ctx context.Context, open []*item) error {
	var pending []relative
	seen := map[*entry]bool{}
	for _, it := range open {
		for _, r := range it.relatives {
			if r.ticket == 0 && !seen[r.entry] {
				seen[r.entry] = true
				pending = append(pending, r)
			}
		}
	}
	first, err := b.numbers(ctx, len(pending))
	if err != nil {
		return err
	}
	pipe := b.x.client.Pipeline()
	tickets := make([]*redis.Cmd, len(pending))
	for i, r := range pending {
		tickets[i] = b.setTicket(ctx, pipe, r.field, r.digest, first+uint64(i))
	}
	if err := b.exec(ctx, "ticket", pipe); err != nil {
		return err
	}
	for i, r := range pending {
		if reply, ok := tickets[i].Val().(string); ok { // else the entry is lost, and will draw a later ticket
			r.ticket = ticketNumber(reply)
			b.x.metrics.helped.Inc()
		}
	}
	return nil
}

// earlier orders articles by ticket, and by coordinates should a counter that was lost have dealt a ticket twice.
func earlier(ticket uint64, at article.Coordinates, thanTicket uint64, than article.Coordinates) bool {
	if ticket != thanTicket {
		return ticket < thanTicket
	}
	return at.Less(than)
}
