package redisindex

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
)

// candidate is a stored fingerprint that the look-ups for an article found, see lookup.Filter.
type candidate struct {
	keyspace.FieldRef
	distance int // bits
	fetched  int // index of its entries in claim.fetched, once they are fetched
}

// lookUp is step 5: it fetches the block lists of the open tasks in the slices in reach, and selects the candidates. A list that
// several tasks need is fetched once.
//
// Look-ups are most of what an article costs in Redis: 1 to 2.5 us each, mostly for cache misses.
func (c *claim) lookUp(ctx context.Context) error {
	x, open := c.x, c.open()
	most := len(open) * (x.cfg.Blocks + 1) * (x.cfg.Probes + 1)
	refs := make([]keyspace.ListRef, 0, most) // each list once
	at := make(map[keyspace.ListRef]int32, most)
	needs := make([][]int32, len(open)) // for each task the indexes of its lists in refs
	var blocks []simhash.Block
	for i, t := range open {
		blocks = x.layout.Plan.AppendLookups(blocks[:0], &t.Article)
		for slice, last := x.layout.Reach(t.Millis()); slice <= last; slice++ {
			if !c.exists[slice] {
				continue
			}
			if t.LittleText {
				t.candidates = append(t.candidates, candidate{FieldRef: keyspace.FieldRef{Slice: slice, Fingerprint: t.Fingerprint}})
				continue
			}
			if needs[i] == nil {
				needs[i] = make([]int32, 0, 2*len(blocks))
			}
			for _, block := range blocks {
				ref := keyspace.ListRef{Slice: slice, Block: block.Index, Value: block.Value}
				n, seen := at[ref]
				if !seen {
					n = int32(len(refs))
					at[ref] = n
					refs = append(refs, ref)
				}
				needs[i] = append(needs[i], n)
			}
		}
	}
	lists, err := c.fetchLists(ctx, refs)
	if err != nil {
		return err
	}
	near := newNearest(&x.layout.Plan, x.cfg.MaxCandidates)
	for i, t := range open {
		x.metrics.lookups.Observe(float64(len(needs[i])))
		if !t.LittleText {
			near.reset()
			for _, n := range needs[i] {
				near.offerList(refs[n], lists[n], t.Fingerprint)
			}
			t.candidates = near.take()
			if near.capped {
				x.metrics.capped.Inc()
			}
		}
		x.metrics.candidates.Observe(float64(len(t.candidates)))
	}
	return nil
}

// nearest selects the nearest of the candidates that it is offered: each once, and at most `most` of them. So its memory, and the
// number of fields that are fetched afterwards, do not depend on the length of the lists. Of equally near candidates it keeps
// the first ones offered. Not safe for concurrent use. Call reset before each article.
type nearest struct {
	filter *lookup.Filter
	slice  int64 // for whose lists the filter works
	most   int
	cutoff int  // largest distance in bits that is still accepted; shrinks once `most` candidates are kept
	kept   int  // number of candidates in byBits
	capped bool // a candidate was left out
	byBits [65][]candidate
}

func newNearest(plan *lookup.Plan, most int) *nearest {
	return &nearest{filter: plan.NewFilter(), most: most}
}

// reset forgets all candidates.
func (n *nearest) reset() {
	for d := range n.byBits {
		n.byBits[d] = n.byBits[d][:0]
	}
	n.cutoff, n.kept, n.capped = len(n.byBits)-1, 0, false
	n.filter.Reset()
}

// offerList offers the fingerprints of a list that is looked up for the fingerprint fp. All lists of a slice are offered one after another.
func (n *nearest) offerList(ref keyspace.ListRef, list string, fp simhash.Fingerprint) {
	if ref.Slice != n.slice {
		n.slice = ref.Slice
		n.filter.Reset()
	}
	room := n.room()
	for ; len(list) >= keyspace.FingerprintBytes; list = list[keyspace.FingerprintBytes:] {
		other := keyspace.FirstFingerprint(list)
		d := simhash.Distance(fp, other)
		if d > room { // in a flood, nearly all
			continue
		}
		switch {
		case !n.filter.Accepts(ref.Block, other, d):
		case d > n.cutoff:
			n.capped = true
		default:
			n.offer(candidate{FieldRef: keyspace.FieldRef{Slice: ref.Slice, Fingerprint: other}, distance: d})
		}
		room = n.room()
	}
}

// room returns the largest distance at which a fingerprint can change anything: below the cutoff once `most` candidates are kept and one was
// left out.
func (n *nearest) room() int {
	if n.capped && n.kept == n.most {
		return n.cutoff - 1
	}
	return len(n.byBits) - 1
}

// offer accepts a candidate within the cutoff, unless it is kept already or `most` candidates are at least as near. A candidate
// that was removed for a nearer one cannot come back: from then on there is no room at its distance.
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
	candidates := make([]candidate, 0, n.kept)
	for d := range n.byBits {
		candidates = append(candidates, n.byBits[d]...)
	}
	return candidates
}

// relative is a stored article that a task's article resembles. If the stored article is the earlier one, the task's article is a copy
// or possibly a copy of it, as judged says.
type relative struct {
	*keyspace.Entry
	judged   article.Judgement
	distance int // bits
}

// precedes says whether r is a better original than s: one with the id of the article is, so that a revision names its earlier version
// and not an agency text that both repeat; of two others the earlier one is.
func (r relative) precedes(s relative) bool {
	if r.judged.SameID != s.judged.SameID {
		return r.judged.SameID
	}
	return r.Before(s.Entry)
}

// fetchEntries is step 6: it fetches the entries of the candidates. For each open task it keeps the relatives with a lower ticket,
// the best original first. Relatives without a ticket are given one first.
func (c *claim) fetchEntries(ctx context.Context) error {
	open := c.open()
	if err := c.fetchCandidates(ctx, open); err != nil {
		return err
	}
	for _, t := range open {
		c.judge(t)
	}
	if err := c.giveTickets(ctx, open); err != nil {
		return err
	}
	for _, t := range open {
		t.keepEarlier()
	}
	return nil
}

// keepEarlier keeps the relatives that came before the task's article, the best original first.
func (t *task) keepEarlier() {
	t.relatives = slices.DeleteFunc(t.relatives, func(r relative) bool {
		return r.Ticket == 0 || !r.Before(&t.Entry) || r.Ticket == keyspace.MaxTicket
	})
	slices.SortFunc(t.relatives, func(r, s relative) int {
		if r.precedes(s) {
			return -1
		}
		return 1
	})
}

// fetchCandidates fetches the entries of all candidates. A field that is a candidate of several tasks is fetched once.
func (c *claim) fetchCandidates(ctx context.Context, open []*task) error {
	pipe, now := c.x.client.Pipeline(), time.Now()
	at := map[keyspace.FieldRef]int{}
	var fields []keyspace.FieldRef
	var values []*redis.StringCmd
	var listed []bool // the list of another fingerprint led to the field
	for _, t := range open {
		for i := range t.candidates {
			near := &t.candidates[i]
			n, seen := at[near.FieldRef]
			if !seen {
				n = len(values)
				at[near.FieldRef] = n
				fields = append(fields, near.FieldRef)
				listed = append(listed, false)
				values = append(values, pipe.HGet(ctx, c.x.keys.Entries(near.FieldRef), near.Name()))
			}
			near.fetched = n
			listed[n] = listed[n] || !t.LittleText && near.FieldRef != t.Field()
		}
	}
	if err := c.exec(ctx, "fetch_entries", pipe); err != nil {
		return err
	}
	c.fetched = make([][]*keyspace.Entry, len(values))
	for n, cmd := range values {
		if listed[n] {
			c.x.losses.CountCandidate(cmd.Err() != nil, c.x.layout.Keeps(fields[n].Slice, now), c.x.metrics.missing)
		}
		entries, err := c.x.keys.DecodeField(fields[n], cmd.Val())
		if err != nil {
			return err
		}
		c.fetched[n] = entries
	}
	return nil
}

// judge collects the relatives among the entries of the task's candidates, whatever their tickets. Only here are articles
// compared.
func (c *claim) judge(t *task) {
	for _, near := range t.candidates {
		for _, e := range c.fetched[near.fetched] {
			if e.Coordinates == t.Coordinates || !c.x.layout.Within(e.Millis(), t.Millis()) {
				continue
			}
			if j := c.x.cfg.Compare(&t.Article, &e.Article); j.Kind != 0 {
				t.relatives = append(t.relatives, relative{e, j, near.distance})
			}
		}
	}
}

// giveTickets gives a ticket to each relative without one. The relative's own worker may be slow or dead; if it goes on later, it finds
// this ticket and uses it. The ticket is drawn after the tickets of the open tasks, so it is higher, unless the relative's own worker
// set its ticket first.
func (c *claim) giveTickets(ctx context.Context, open []*task) error {
	var without []*keyspace.Entry
	seen := map[*keyspace.Entry]bool{}
	for _, t := range open {
		for _, r := range t.relatives {
			if r.Ticket == 0 && !seen[r.Entry] {
				seen[r.Entry] = true
				without = append(without, r.Entry)
			}
		}
	}
	first, err := c.draw(ctx, "give_tickets", len(without))
	if err != nil {
		return err
	}
	pipe := c.x.client.Pipeline()
	replies := make([]*redis.Cmd, len(without))
	for i, e := range without {
		replies[i] = c.setTicket(ctx, pipe, e, first+uint64(i))
	}
	if err := c.exec(ctx, "give_tickets", pipe); err != nil {
		return err
	}
	for i, e := range without {
		// Without a reply the entry is lost. If its record is delivered again, it draws a later ticket.
		if reply, ok := replies[i].Val().(string); ok {
			if e.Ticket = keyspace.TicketNumber(reply); keyspace.IsWithdrawn(e.Ticket) {
				return errTicketChanged
			}
			c.x.metrics.ticketsGiven.Inc()
		}
	}
	return nil
}
