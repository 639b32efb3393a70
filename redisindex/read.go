package redisindex

import (
	"context"
	"slices"

	"echosieve/pipeline/article"

	"github.com/redis/go-redis/v9"
)

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
