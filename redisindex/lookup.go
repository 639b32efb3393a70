package redisindex

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/lookup"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
)

// looking is steps 3 to 5 of a claim: what was stored before its articles, and resembles them.
type looking struct{ *claim }

// drawTickets is step 3: it draws a number for each open task, in the order of the call.
func (c looking) drawTickets(ctx context.Context) error {
	open := c.open()
	first, err := c.draw(ctx, "draw_tickets", len(open))
	for i, t := range open {
		t.number = first + uint64(i)
	}
	return err
}

// lookUp is step 4: it gives the entry of each open task its number as its ticket, unless the entry has a
// ticket already, fetches the block lists of the slices in reach, and selects the candidates.
//
// One round trip does both, although a cluster runs the commands of a pipeline in any order: the lists need
// only be read after the number was drawn, because whatever has a lower ticket was stored by then. But
// another worker may have given the entry a higher ticket:
//
//  1. this claim draws 1 for its article A, and reads the lists;
//  2. another worker stores the copy B, and draws 2 for it;
//  3. the other worker finds the entry of A without a ticket, and gives it 3;
//  4. this claim sets the ticket of A, and the reply is 3.
//
// So B is the earlier one, and the lists that were read lack it. A ticket above the task's own number shows
// this case, and the claim looks up once more. It also does so if a slice in reach exists that it did not
// know when it looked up. An overflow entry has the highest ticket in any case: no other article finds it, so
// it may name any that its claim read.
func (c looking) lookUp(ctx context.Context) error {
	open := c.open()
	return c.look(ctx, open, open)
}

// look selects the candidates of the open tasks, and gives tickets to the entries of those that are numbered.
func (c looking) look(ctx context.Context, open, numbered []*task) error {
	for again := len(open) > 0; again; {
		pipe := c.x.client.Pipeline()
		tickets := c.setTickets(ctx, pipe, numbered)
		l := c.queueLookups(ctx, pipe, open)
		if err := c.exec(ctx, "look_up", pipe); err != nil {
			return err
		}
		givenByOther, err := tickets()
		if err != nil {
			return err
		}
		foundSlice, err := l.read()
		if err != nil {
			return err
		}
		again = givenByOther || foundSlice
	}
	return nil
}

// setTickets queues the commands that give the entry of each task its number as its ticket. When the pipeline
// has run, the caller calls done: it says whether an entry has a ticket that was drawn after the task's
// number, and takes that ticket for the number.
func (c looking) setTickets(ctx context.Context, pipe redis.Pipeliner, open []*task) (
	done func() (givenByOther bool, err error)) {
	replies := make([]*redis.Cmd, len(open))
	for i, t := range open {
		replies[i] = c.eval(ctx, pipe, ticketScript, &t.Entry, keyspace.TicketBytes(t.number))
	}
	return func() (givenByOther bool, err error) {
		for i, t := range open {
			reply, ok := replies[i].Val().(string)
			if !ok {
				return false, errLost
			}
			if t.Ticket = keyspace.TicketNumber(reply); keyspace.IsWithdrawn(t.Ticket) {
				// another worker gave the entry a ticket above this number, and a third one withdrew it
				return false, errTicketChanged
			}
			if t.Ticket > t.number {
				givenByOther = givenByOther || t.Ticket != keyspace.MaxTicket // that one was not drawn
				t.number = t.Ticket
			}
		}
		return givenByOther, nil
	}
}

// lookups are the look-ups of some tasks in the slices that were known when they were queued.
type lookups struct {
	*claim
	open   []*task
	slices map[int64]*sliceInReach
	refs   []keyspace.ListRef // each list once
	needs  [][]int32          // for each task the indexes of its lists in refs
	lists  func() ([][]simhash.Fingerprint, error)
}

// sliceInReach is a slice that can hold candidates of a task.
type sliceInReach struct {
	number int              // of the slice in its claim, from 0
	exists *redis.StringCmd // whether Redis has the slice
	known  bool             // it is looked up
}

// listNumber tells the lists that a claim needs apart. A value has at most 33 bits, those of an anchor beside
// blocks of 32; there are at most 16 blocks, and the anchors.
func (s *sliceInReach) listNumber(b simhash.Block) uint64 {
	return uint64(s.number)<<40 | uint64(b.Index)<<34 | b.Value
}

// queueLookups queues the commands that read which slices in reach of the tasks exist, and the block lists of
// those that are known. A list that several tasks need is fetched once.
//
// Look-ups are most of what an article costs in Redis: 1 to 2.5 us each, mostly for cache misses.
func (c looking) queueLookups(ctx context.Context, pipe redis.Pipeliner, open []*task) *lookups {
	x := c.x
	most := len(open) * (x.cfg.Blocks + 2) * (x.cfg.Probes + 1)
	l := &lookups{
		claim: c.claim, open: open, slices: map[int64]*sliceInReach{},
		refs: make([]keyspace.ListRef, 0, most), needs: make([][]int32, len(open)),
	}
	at := make(map[uint64]int32, most) // by listNumber: a map of ListRef would need twice the time
	needs := make([]int32, 0, most)
	var blocks []simhash.Block
	for i, t := range open {
		t.candidates = nil // those of an earlier look are found again
		blocks = blocks[:0]
		if !t.LittleText { // else it is in no list: its candidates are its fingerprint in each slice
			blocks = x.keys.Layout.Plan.AppendLookups(blocks, &t.Article)
		}
		first := len(needs)
		for slice, last := x.keys.Layout.Reach(t.Millis()); slice <= last; slice++ {
			s := l.slices[slice]
			if s == nil {
				exists := c.seen[slice] || x.slices.Contains(slice)
				s = &sliceInReach{len(l.slices), pipe.HGet(ctx, x.keys.Exists(slice), ""), exists}
				l.slices[slice] = s
			}
			if !s.known {
				continue
			}
			if t.LittleText {
				same := keyspace.FieldRef{Slice: slice, Fingerprint: t.Fingerprint}
				t.candidates = append(t.candidates, candidate{FieldRef: same})
			}
			for _, block := range blocks {
				list := s.listNumber(block)
				n, seen := at[list]
				if !seen {
					n = int32(len(l.refs))
					at[list] = n
					l.refs = append(l.refs, keyspace.ListRef{Slice: slice, Block: block.Index, Value: block.Value})
				}
				needs = append(needs, n)
			}
		}
		l.needs[i] = needs[first:]
	}
	l.lists = x.keys.FetchLists(ctx, pipe, l.refs)
	return l
}

// read selects the candidates from the replies. It says whether it found a slice that was not looked up; the
// candidates are incomplete then.
func (l *lookups) read() (foundSlice bool, err error) {
	for slice, s := range l.slices {
		exists := s.exists.Err() == nil
		if exists {
			l.x.slices.Add(slice, struct{}{})
		} else {
			l.x.slices.Remove(slice)
		}
		l.seen[slice] = exists
		foundSlice = foundSlice || exists && !s.known
	}
	lists, err := l.lists()
	if err != nil || foundSlice {
		return foundSlice, err
	}
	for _, list := range lists {
		l.x.metrics.members.Add(float64(len(list)))
	}
	near := lookup.NewNearest(&l.x.keys.Layout.Plan, l.x.cfg.MaxCandidates)
	for i, t := range l.open {
		l.x.metrics.lookups.Observe(float64(len(l.needs[i])))
		if !t.LittleText {
			near.Reset()
			for _, n := range l.needs[i] {
				near.Offer(l.refs[n].Slice, l.refs[n].Block, lists[n], t.Fingerprint)
			}
			for _, c := range near.Take() {
				field := keyspace.FieldRef{Slice: c.Slice, Fingerprint: c.Fingerprint}
				t.candidates = append(t.candidates, candidate{FieldRef: field, distance: c.Distance})
			}
			if near.Capped {
				l.x.metrics.capped.Inc()
			}
		}
		l.x.metrics.candidates.Observe(float64(len(t.candidates)))
	}
	return false, nil
}

// fetchEntries is step 5: it fetches the entries of the candidates. For each open task it keeps the relatives
// with a lower ticket, the best original first. Relatives without a ticket are given one first.
func (c looking) fetchEntries(ctx context.Context) error {
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
func (c looking) fetchCandidates(ctx context.Context, open []*task) error {
	pipe, now := c.x.client.Pipeline(), time.Now()
	most := 0
	for _, t := range open {
		most += len(t.candidates)
	}
	at := make(map[keyspace.FieldRef]int, most)
	type field struct {
		keyspace.FieldRef
		value  *redis.StringCmd
		listed bool // the list of another fingerprint led to it
	}
	fields := make([]field, 0, most)
	for _, t := range open {
		for i := range t.candidates {
			near := &t.candidates[i]
			n, seen := at[near.FieldRef]
			if !seen {
				n = len(fields)
				at[near.FieldRef] = n
				value := pipe.HGet(ctx, c.x.keys.Entries(near.FieldRef), near.Name())
				fields = append(fields, field{FieldRef: near.FieldRef, value: value})
			}
			near.fetched = n
			fields[n].listed = fields[n].listed || !t.LittleText && near.FieldRef != t.Field()
		}
	}
	if err := c.exec(ctx, "fetch_entries", pipe); err != nil {
		return err
	}
	c.fetched = make([][]*keyspace.Entry, len(fields))
	for n, f := range fields {
		if f.value.Err() != nil && f.listed && c.x.keys.Layout.Keeps(f.Slice, now) {
			c.x.metrics.missing.Inc()
		}
		var err error
		if c.fetched[n], err = c.x.keys.DecodeField(f.FieldRef, f.value.Val()); err != nil {
			return err
		}
	}
	return nil
}

// judge collects the relatives among the entries of the task's candidates, whatever their tickets. Only here
// are articles compared.
func (c looking) judge(t *task) {
	for _, near := range t.candidates {
		for _, e := range c.fetched[near.fetched] {
			if e.Coordinates == t.Coordinates || !c.x.keys.Layout.Within(e.Millis(), t.Millis()) {
				continue
			}
			if j := c.x.cfg.Compare(&t.Article, &e.Article); j.Kind != 0 {
				t.relatives = append(t.relatives, relative{e, j, near.distance})
			}
		}
	}
}

// giveTickets gives a ticket to each relative without one. The relative's own worker may be slow or dead; if
// it goes on later, it finds this ticket and uses it. The ticket is drawn after the tickets of the open
// tasks, so it is higher, unless the relative's own worker set its ticket first.
func (c looking) giveTickets(ctx context.Context, open []*task) error {
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
		replies[i] = c.eval(ctx, pipe, ticketScript, e, keyspace.TicketBytes(first+uint64(i)))
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
