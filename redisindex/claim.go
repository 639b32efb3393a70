package redisindex

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/internal/telemetry"
	"echosieve/pipeline/article"
	"echosieve/pipeline/packed"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
)

// task is one article of a claim on its way to its verdict. It embeds the article's entry, as it is stored or
// will be stored.
type task struct {
	keyspace.Entry
	number uint64 // drawn for the article in this run; becomes its ticket unless the entry has one
	// the article's exact original in the same slice, whose entry is stored; the task stores none itself then
	repeats *task
	// candidates are the fingerprints to fetch entries of, the nearest first.
	candidates []candidate
	// relatives are the stored articles that this article resembles. After the step fetchEntries, only relatives with a
	// lower ticket are left, the best original first (relative.precedes).
	relatives []relative
	proposal  article.Verdict // the verdict that this run reaches
	verdict   article.Verdict // the verdict that is written in the entry; zero Kind: none yet
}

// claim is one run of the steps for the articles of one call of Claim.
//
// An article may repeat, exactly, an article that another worker has stored but not decided. The claim then
// has a task for that article too, because the root of the repeat is the root of that article and must be the
// same in every replay. Both workers reach the same verdict; the first one written counts.
type claim struct {
	x          *Index
	tasks      []*task
	claimed    []*task // for each article of the call; articles with the same identity share a task
	byIdentity map[keyspace.Identity]*task
	seen       map[int64]bool      // slices that exist, as far as this claim knows
	fetched    [][]*keyspace.Entry // entries of the fields that were fetched; see candidate.fetched
	call       *call
}

func newClaim(x *Index, articles []article.Article, by *call) *claim {
	c := &claim{
		x: x, claimed: make([]*task, len(articles)), byIdentity: make(map[keyspace.Identity]*task, len(articles)),
		seen: map[int64]bool{}, call: by,
	}
	for i := range articles {
		a := &articles[i]
		c.claimed[i] = c.task(x.keys.EntryOf(a))
	}
	return c
}

// task returns the claim's task for an article. If there is none, it adds one.
func (c *claim) task(e keyspace.Entry) *task {
	id := e.Identity()
	if t := c.byIdentity[id]; t != nil {
		return t
	}
	t := &task{Entry: e}
	c.byIdentity[id] = t
	c.tasks = append(c.tasks, t)
	return t
}

// open returns the tasks that still need a verdict of their own.
func (c *claim) open() []*task {
	var open []*task
	for _, t := range c.tasks {
		if t.repeats == nil && t.verdict.Kind == 0 {
			open = append(open, t)
		}
	}
	return open
}

// exec sends a pipeline and returns the first error of any of its commands. A missing key is no error. The
// step is the label of the metric and the name of the trace's span.
func (c *claim) exec(ctx context.Context, step string, pipe redis.Pipeliner) (err error) {
	if pipe.Len() == 0 {
		return nil
	}
	ctx, span := telemetry.Start(ctx, step)
	defer func() { telemetry.End(span, err) }()
	start := time.Now()
	cmds, err := pipe.Exec(ctx)
	c.x.metrics.roundTrip.WithLabelValues(step).Observe(time.Since(start).Seconds())
	if err := connection.FirstError(cmds, err); err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	return nil
}

// storeLists is step 1: it adds the fingerprints to the lists of their blocks, and registers the slices.
//
// It is a separate round trip, before storeEntries, because a cluster runs the commands of a pipeline in any
// order. Another worker may find an entry through one list, or as an exact repeat, and give it a ticket. From
// then on every article with a higher ticket must find the entry, so all lists must lead to it by then.
func (c *claim) storeLists(ctx context.Context) error {
	x, pipe := c.x, c.x.client.Pipeline()
	added := c.addToLists(ctx, pipe)
	c.registerSlices(ctx, pipe)
	// The ticket counter must outlive every entry: if it started over below existing tickets, copies would
	// pass as unique. Replays and exact repeats prolong the life of entries but draw no tickets, so the
	// counter's life is prolonged here.
	pipe.Expire(ctx, x.keys.Sequence(), 2*x.layout.Lifetime)
	if err := c.exec(ctx, "store_lists", pipe); err != nil {
		return err
	}
	return added()
}

// registerSlices queues the commands that say that the slices of the claim exist. Registrations expire after
// the entries.
func (c *claim) registerSlices(ctx context.Context, pipe redis.Pipeliner) {
	for _, t := range c.tasks {
		if !c.seen[t.Slice] {
			c.seen[t.Slice] = true
			key := c.x.keys.Exists(t.Slice)
			pipe.HSet(ctx, key, "", "")
			pipe.Expire(ctx, key, 2*c.x.layout.Lifetime)
		}
	}
}

// storeEntries is step 2: it stores the entries. Most fingerprints are new, and HSETNX stores their entries,
// because a script costs the server more CPU time. If the fingerprint has a field already, a second round
// trip runs the script.
func (c *claim) storeEntries(ctx context.Context) error {
	x, pipe := c.x, c.x.client.Pipeline()
	entries, isNew := make([][]byte, len(c.tasks)), make([]*redis.BoolCmd, len(c.tasks))
	for i, t := range c.tasks {
		f := t.Field()
		key := x.keys.Entries(f)
		entries[i] = t.Append(nil, x.layout.Start(t.Slice))
		isNew[i] = pipe.HSetNX(ctx, key, f.Name(), entries[i])
		pipe.Expire(ctx, key, x.layout.Lifetime)
	}
	if err := c.exec(ctx, "store_entries", pipe); err != nil {
		return err
	}
	pipe = x.client.Pipeline()
	var tasks []*task
	var replies []*redis.Cmd
	for i, t := range c.tasks {
		if isNew[i].Val() {
			continue
		}
		f := t.Field()
		tasks = append(tasks, t)
		replies = append(replies, storeScript.EvalSha(ctx, pipe, []string{x.keys.Entries(f)},
			f.Name(), t.Digest[:], entries[i], x.keys.Layout.MaxEntries, x.layout.LifetimeSeconds(), t.HiddenDigest()))
	}
	if err := c.exec(ctx, "store_entries", pipe); err != nil {
		return err
	}
	for i, cmd := range replies {
		if err := c.stored(tasks[i], cmd.Val()); err != nil {
			return err
		}
	}
	return nil
}

// stored handles the reply of store.lua for a task: the entry was stored, or another entry with its digest is
// there already.
//
// An exact repeat within the slice of its original stores nothing. A replay of the repeat finds the entry of
// the original by the digest again, and so gets the same verdict.
func (c *claim) stored(t *task, reply any) error {
	switch r := reply.(type) {
	case int64:
		if r == 1 {
			c.x.metrics.overflow.Inc()
		}
		return nil
	case string:
		e, _, err := keyspace.CutEntry(t.Field(), c.x.layout.Start(t.Slice), r)
		if err != nil {
			return c.x.keys.Damage(&t.Entry)
		}
		if e.Coordinates == t.Coordinates { // the article's own entry: its record was delivered before
			if len(e.VerdictBytes) > 0 {
				c.x.metrics.replayed.Inc()
			}
			return c.useStored(t, &e)
		}
		// Entries do not keep sums and anchors. The original has the same text, so the repeat's do. Sums can
		// differ only if the text was cut into other words, and then only in their size.
		e.Sums, e.Anchors = t.Sums, t.Anchors
		t.repeats = c.task(e)
		return c.useStored(t.repeats, &e)
	default:
		return fmt.Errorf("store_entries: reply of type %T", reply)
	}
}

// useStored takes over what the stored entry of a task's article says: the verdict, if there is one, and the
// id. The id differs if the setting of the id's field was changed since the article was stored.
func (c *claim) useStored(t *task, e *keyspace.Entry) error {
	t.ID = e.ID
	if len(e.VerdictBytes) > 0 {
		var ok bool
		if t.verdict, ok = packed.DecodeVerdict(e.VerdictBytes, t.Ref()); !ok {
			return c.x.keys.Damage(&t.Entry)
		}
	}
	return nil
}

// drawTickets is step 3: it draws a number for each open task, in the order of the call.
func (c *claim) drawTickets(ctx context.Context) error {
	open := c.open()
	first, err := c.draw(ctx, "draw_tickets", len(open))
	for i, t := range open {
		t.number = first + uint64(i)
	}
	return err
}

// draw draws n consecutive numbers from the ticket counter and returns the first one.
func (c *claim) draw(ctx context.Context, step string, n int) (first uint64, err error) {
	if n == 0 {
		return 0, nil
	}
	pipe, key, highest := c.x.client.Pipeline(), c.x.keys.Sequence(), c.x.losses.HighestTicket()
	last := pipe.IncrBy(ctx, key, int64(n))
	pipe.Expire(ctx, key, 2*c.x.layout.Lifetime)
	if err := c.exec(ctx, step, pipe); err != nil {
		return 0, err
	}
	if v := last.Val(); v < int64(n) || v >= keyspace.Withdrawn {
		return 0, &keyspace.KeyError{Key: key, Err: fmt.Errorf("the ticket counter is %d", v)}
	}
	first = uint64(last.Val()) - uint64(n) + 1
	c.x.losses.Drawn(highest, first, uint64(last.Val()))
	return first, nil
}

// verdicts returns the verdicts of the articles of the call. Every task is decided by now.
func (c *claim) verdicts() []article.Verdict {
	verdicts := make([]article.Verdict, len(c.claimed))
	for i, t := range c.claimed {
		verdicts[i] = t.verdict
		if o := t.repeats; o != nil {
			verdicts[i] = exactRepeat(&o.Entry, o.verdict)
		}
	}
	return verdicts
}

// exactRepeat is the verdict of an article that stores no entry, because an entry with its digest is in the
// same slice. The argument verdict is that of the stored article.
func exactRepeat(o *keyspace.Entry, verdict article.Verdict) article.Verdict {
	return article.ExactVerdict(o.Ref(), verdict.Root)
}

// addWitnesses offers the stored articles of a claim whose steps began at start.
func (c *claim) addWitnesses(start time.Time) {
	for _, t := range c.claimed {
		if t.repeats != nil {
			continue // it has no entry
		}
		c.x.losses.AddWitness(start, t.Field(), func() (lists []keyspace.ListRef) {
			if t.LittleText {
				return nil
			}
			for _, block := range c.x.layout.Plan.AppendStored(nil, &t.Article) {
				lists = append(lists, keyspace.ListRef{Slice: t.Slice, Block: block.Index, Value: block.Value})
			}
			return lists
		})
	}
}
