package redisindex

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/internal/base/tracing"
	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
)

// task is one article of a batch on its way to its verdict. It embeds the article's entry, as it is stored or will be stored.
type task struct {
	keyspace.Entry
	number  uint64 // drawn for the article in this run; becomes its ticket unless the entry has one
	repeats *task  // the article's exact original in the same span, whose entry is stored; the task stores none itself then
	// candidates are the fingerprints to fetch entries of, the nearest first.
	candidates []candidate
	// relatives are the stored articles that this article resembles. After the step fetchEntries, only relatives with a
	// lower ticket are left, the best original first (relative.precedes).
	relatives []relative
	proposal  article.Verdict // the verdict that this run reaches
	verdict   article.Verdict // the verdict that is written in the entry; zero Kind: none yet
}

// batch is one run of the steps for the articles of one call of Claim.
//
// An article may repeat, exactly, an article that another worker has stored but not decided. The batch then has a task for that
// article too, because the root of the repeat is the root of that article and must be the same in every replay. Both workers reach
// the same verdict; the first one written counts.
type batch struct {
	x          *Index
	tasks      []*task
	claimed    []*task // for each article of the call; articles with the same identity share a task
	byIdentity map[keyspace.Identity]*task
	spans      map[int64]bool      // for each span in reach: whether it exists
	fetched    [][]*keyspace.Entry // entries of the fields that were fetched; see candidate.fetched
	call       *call
}

func newBatch(x *Index, articles []article.Article, c *call) *batch {
	b := &batch{x: x, claimed: make([]*task, len(articles)), byIdentity: make(map[keyspace.Identity]*task, len(articles)), call: c}
	for i := range articles {
		a := &articles[i]
		b.claimed[i] = b.task(x.keys.EntryOf(a))
	}
	return b
}

// task returns the batch's task for an article. If there is none, it adds one.
func (b *batch) task(e keyspace.Entry) *task {
	id := e.Identity()
	if t := b.byIdentity[id]; t != nil {
		return t
	}
	t := &task{Entry: e}
	b.byIdentity[id] = t
	b.tasks = append(b.tasks, t)
	return t
}

// open returns the tasks that still need a verdict of their own.
func (b *batch) open() []*task {
	var open []*task
	for _, t := range b.tasks {
		if t.repeats == nil && t.verdict.Kind == 0 {
			open = append(open, t)
		}
	}
	return open
}

// exec sends a pipeline and returns the first error of any of its commands. A missing key is no error. The step is the label of
// the metric and the name of the trace's span.
func (b *batch) exec(ctx context.Context, step string, pipe redis.Pipeliner) (err error) {
	if pipe.Len() == 0 {
		return nil
	}
	ctx, span := tracing.Start(ctx, step)
	defer func() { tracing.End(span, err) }()
	start := time.Now()
	cmds, err := pipe.Exec(ctx)
	b.x.metrics.roundTrip.WithLabelValues(step).Observe(time.Since(start).Seconds())
	if err := connection.FirstError(cmds, err); err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	return nil
}

// storeLists is step 1: it adds the fingerprints to the lists of their blocks, and registers the spans.
//
// It is a separate round trip, before storeEntries, because a cluster runs the commands of a pipeline in any order. Another
// worker may find an entry through one list, or as an exact repeat, and give it a ticket. From then on every article with a higher
// ticket must find the entry, so all lists must lead to it by then.
func (b *batch) storeLists(ctx context.Context) error {
	x, pipe := b.x, b.x.client.Pipeline()
	added := b.addToLists(ctx, pipe)
	b.registerSpans(ctx, pipe)
	// The ticket counter must outlive every entry: if it started over below existing tickets, copies would pass as unique. Replays and
	// exact repeats prolong the life of entries but draw no tickets, so the counter's life is prolonged here.
	pipe.Expire(ctx, x.keys.Sequence(), 2*x.layout.Lifetime)
	if err := b.exec(ctx, "store_lists", pipe); err != nil {
		return err
	}
	return added()
}

// registerSpans queues the commands that say that the spans of the batch exist. Registrations expire after the entries.
func (b *batch) registerSpans(ctx context.Context, pipe redis.Pipeliner) {
	registered := map[int64]bool{}
	for _, t := range b.tasks {
		if !registered[t.Span] {
			registered[t.Span] = true
			key := b.x.keys.Exists(t.Span)
			pipe.HSet(ctx, key, "", "")
			pipe.Expire(ctx, key, 2*b.x.layout.Lifetime)
		}
	}
}

// storeEntries is step 2: it stores the entries. Most fingerprints are new, and HSETNX stores their entries, because a script costs the
// server more CPU time. If the fingerprint has a field already, a second round trip runs the script.
func (b *batch) storeEntries(ctx context.Context) error {
	x, pipe := b.x, b.x.client.Pipeline()
	entries, isNew := make([][]byte, len(b.tasks)), make([]*redis.BoolCmd, len(b.tasks))
	for i, t := range b.tasks {
		f := t.Field()
		key := x.keys.Entries(f)
		entries[i] = t.Append(nil, x.layout.Start(t.Span))
		isNew[i] = pipe.HSetNX(ctx, key, f.Name(), entries[i])
		pipe.Expire(ctx, key, x.layout.Lifetime)
	}
	if err := b.exec(ctx, "store_entries", pipe); err != nil {
		return err
	}
	pipe = x.client.Pipeline()
	var tasks []*task
	var replies []*redis.Cmd
	for i, t := range b.tasks {
		if isNew[i].Val() {
			continue
		}
		f := t.Field()
		tasks = append(tasks, t)
		replies = append(replies, storeScript.EvalSha(ctx, pipe, []string{x.keys.Entries(f)},
			f.Name(), t.Digest[:], entries[i], x.keys.Layout.MaxEntries, x.layout.LifetimeSeconds(), t.HiddenDigest()))
	}
	if err := b.exec(ctx, "store_entries", pipe); err != nil {
		return err
	}
	for i, cmd := range replies {
		if err := b.stored(tasks[i], cmd.Val()); err != nil {
			return err
		}
	}
	return nil
}

// stored handles the reply of store.lua for a task: the entry was stored, or another entry with its digest is there already.
//
// An exact repeat within the span of its original stores nothing. A replay of the repeat finds the entry of the original by the digest
// again, and so gets the same verdict.
func (b *batch) stored(t *task, reply any) error {
	switch r := reply.(type) {
	case int64:
		if r == 1 {
			b.x.metrics.overflow.Inc()
		}
		return nil
	case string:
		e, _, err := keyspace.CutEntry(t.Field(), b.x.layout.Start(t.Span), r)
		if err != nil {
			return b.x.keys.Damage(&t.Entry)
		}
		if e.Coordinates == t.Coordinates { // the article's own entry: its record was delivered before
			if len(e.VerdictBytes) > 0 {
				b.x.metrics.replayed.Inc()
			}
			return b.useStored(t, &e)
		}
		// Entries do not keep sums and anchors. The original has the same text, so the repeat's do. Sums can differ only if the
		// text was cut into other words, and then only in their size.
		e.Sums, e.Anchors = t.Sums, t.Anchors
		t.repeats = b.task(e)
		return b.useStored(t.repeats, &e)
	default:
		return fmt.Errorf("store_entries: reply of type %T", reply)
	}
}

// useStored takes over what the stored entry of a task's article says: the verdict, if there is one, and the id. The id differs if the
// setting of the id's field was changed since the article was stored.
func (b *batch) useStored(t *task, e *keyspace.Entry) (err error) {
	t.ID = e.ID
	if len(e.VerdictBytes) == 0 {
		return nil
	}
	if t.verdict, err = keyspace.DecodeVerdict(e.VerdictBytes, t.Ref()); err != nil {
		return b.x.keys.Damage(&t.Entry)
	}
	return nil
}

// drawTickets is step 3: it draws a number for each open task, in the order of the call.
func (b *batch) drawTickets(ctx context.Context) error {
	open := b.open()
	first, err := b.draw(ctx, "draw_tickets", len(open))
	for i, t := range open {
		t.number = first + uint64(i)
	}
	return err
}

// draw draws n consecutive numbers from the ticket counter and returns the first one.
func (b *batch) draw(ctx context.Context, step string, n int) (first uint64, err error) {
	if n == 0 {
		return 0, nil
	}
	pipe, key, highest := b.x.client.Pipeline(), b.x.keys.Sequence(), b.x.losses.HighestTicket()
	last := pipe.IncrBy(ctx, key, int64(n))
	pipe.Expire(ctx, key, 2*b.x.layout.Lifetime)
	if err := b.exec(ctx, step, pipe); err != nil {
		return 0, err
	}
	if v := last.Val(); v < int64(n) || v >= keyspace.Withdrawn {
		return 0, &keyspace.KeyError{Key: key, Err: fmt.Errorf("the ticket counter is %d", v)}
	}
	first = uint64(last.Val()) - uint64(n) + 1
	b.x.losses.Drawn(highest, first, uint64(last.Val()))
	return first, nil
}

// setTickets is step 4: it gives the entry of each open task its number as ticket, unless the entry has a ticket already. It also
// reads which spans exist.
//
// Spans are read after the numbers were drawn. An article with a lower ticket registered its span before its own ticket was drawn,
// so the batch sees that span. But on a cluster the nodes run the commands of one pipeline in any order:
//
//  1. the node of the spans answers this batch;
//  2. another worker registers a span, stores an article there, and draws a ticket;
//  3. that worker finds the entry of this batch without a ticket, and gives the entry a ticket that is higher than its own;
//  4. the node of the entry answers this batch with the higher ticket.
//
// So the other article is the earlier one, and its span was not seen. A ticket above the task's own number shows this case, and the
// spans are read again.
func (b *batch) setTickets(ctx context.Context) error {
	open := b.open()
	if len(open) == 0 {
		return nil
	}
	pipe := b.x.client.Pipeline()
	replies := make([]*redis.Cmd, len(open))
	for i, t := range open {
		replies[i] = b.setTicket(ctx, pipe, &t.Entry, t.number)
	}
	if err := b.fetchSpans(ctx, pipe, open); err != nil {
		return err
	}
	givenByOther := false
	for i, t := range open {
		reply, ok := replies[i].Val().(string)
		if !ok {
			return errLost
		}
		if t.Ticket = keyspace.TicketNumber(reply); keyspace.IsWithdrawn(t.Ticket) {
			return errTicketChanged // another worker gave the entry a ticket above this number, and a third one withdrew it
		}
		givenByOther = givenByOther || t.Ticket > t.number
	}
	if givenByOther {
		return b.fetchSpans(ctx, b.x.client.Pipeline(), open)
	}
	return nil
}

// setTicket queues the command that gives the entry a ticket unless it has one.
func (b *batch) setTicket(ctx context.Context, pipe redis.Pipeliner, e *keyspace.Entry, number uint64) *redis.Cmd {
	f := e.Field()
	return ticketScript.EvalSha(ctx, pipe, []string{b.x.keys.Entries(f)}, f.Name(), e.Digest[:], keyspace.TicketBytes(number))
}

// fetchSpans adds to the pipeline the commands that read which spans in reach of the tasks exist, and runs the pipeline.
func (b *batch) fetchSpans(ctx context.Context, pipe redis.Pipeliner, open []*task) error {
	exist := map[int64]*redis.StringCmd{}
	for _, t := range open {
		for s, last := b.x.layout.Reach(t.Millis()); s <= last; s++ {
			if exist[s] == nil {
				exist[s] = pipe.HGet(ctx, b.x.keys.Exists(s), "")
			}
		}
	}
	if err := b.exec(ctx, "set_tickets", pipe); err != nil {
		return err
	}
	b.spans = make(map[int64]bool, len(exist))
	for s, cmd := range exist {
		b.spans[s] = cmd.Err() == nil
	}
	return nil
}

// verdicts returns the verdicts of the articles of the call. Every task is decided by now.
func (b *batch) verdicts() []article.Verdict {
	verdicts := make([]article.Verdict, len(b.claimed))
	for i, t := range b.claimed {
		verdicts[i] = t.verdict
		if o := t.repeats; o != nil {
			verdicts[i] = exactRepeat(&o.Entry, o.verdict)
		}
	}
	return verdicts
}

// exactRepeat is the verdict of an article that stores no entry, because an entry with its digest is in the same span. The argument
// verdict is that of the stored article.
func exactRepeat(o *keyspace.Entry, verdict article.Verdict) article.Verdict {
	return article.ExactVerdict(o.Ref(), verdict.Root)
}

// addWitnesses offers the stored articles of a batch whose steps began at start.
func (b *batch) addWitnesses(start time.Time) {
	for _, t := range b.claimed {
		if t.repeats != nil {
			continue // it has no entry
		}
		b.x.losses.AddWitness(start, t.Field(), func() (lists []keyspace.ListRef) {
			if t.LittleText {
				return nil
			}
			var blocks []simhash.Block
			for _, block := range b.x.layout.Plan.AppendStored(blocks, &t.Article) {
				lists = append(lists, keyspace.ListRef{Span: t.Span, Block: block.Index, Value: block.Value})
			}
			return lists
		})
	}
}
