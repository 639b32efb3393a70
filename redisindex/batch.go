package redisindex

import (
	"context"
	"errors"
	"fmt"
	"time"

	"echosieve/pipeline/article"

	"github.com/redis/go-redis/v9"
)

// item is one article on its way to its verdict.
type item struct {
	claim   article.Article
	ref     article.Ref
	ms      int64 // time in the window
	home    fieldRef
	number  uint64      // drawn for it in this run
	ticket  uint64      // what its entry has
	repeats *item       // the article whose entry answers for this one: same generation, same digest
	found   []candidate // fingerprints to read, nearest first
	// relatives are the stored articles that it resembles; after the step read only those with a lower ticket, the lowest first.
	relatives []relative
	proposal  article.Verdict // the verdict that this run reaches
	verdict   article.Verdict // the verdict in its entry; zero Kind: undecided
}

// identity tells items apart. The digest guards against coordinates that, against all rules, come with two texts.
type identity struct {
	article.Coordinates
	digest article.Digest
}

// batch is one run of the steps over one call's claims. Items beyond those claimed are articles of other
// calls that a claim repeats exactly and that have no verdict yet: the batch reaches it for them, as their own
// worker would, because the repeat's root depends on it and must be the same in every replay.
type batch struct {
	x           *Index
	items       []*item
	claimed     []*item // the item of each claim; one item for claims with the same coordinates
	known       map[identity]*item
	generations map[int64]bool // those that exist, of those in reach
	entries     [][]*entry     // of the fields read, see candidate.at
	waits       waits
}

// waits says since when a call of Claim waits for the verdicts of which articles. It outlives the runs of the call.
type waits map[identity]time.Time

func newBatch(x *Index, claims []article.Article, w waits) *batch {
	b := &batch{x: x, claimed: make([]*item, len(claims)), known: make(map[identity]*item, len(claims)), waits: w}
	for i := range claims {
		b.claimed[i] = b.item(claims[i])
	}
	return b
}

// item returns the batch's item for a claim and adds it if need be.
func (b *batch) item(c article.Article) *item {
	id := identity{c.Coordinates, c.Digest}
	if it := b.known[id]; it != nil {
		return it
	}
	ms := windowTime(c.Time)
	it := &item{
		claim: c, ref: article.Ref{ID: c.ID, Coordinates: c.Coordinates}, ms: ms,
		home: fieldRef{b.x.layout.generation(ms), c.Fingerprint},
	}
	b.known[id] = it
	b.items = append(b.items, it)
	return it
}

// open returns the items that need a verdict of their own.
func (b *batch) open() []*item {
	var open []*item
	for _, it := range b.items {
		if it.repeats == nil && it.verdict.Kind == 0 {
			open = append(open, it)
		}
	}
	return open
}

// exec sends a pipeline and returns the first error of any of its commands; a missing key is none.
func (b *batch) exec(ctx context.Context, step string, pipe redis.Pipeliner) error {
	if pipe.Len() == 0 {
		return nil
	}
	start := time.Now()
	cmds, err := pipe.Exec(ctx)
	b.x.metrics.roundTrip.WithLabelValues(step).Observe(time.Since(start).Seconds())
	for _, cmd := range cmds {
		if e := cmd.Err(); e != nil && !errors.Is(e, redis.Nil) {
			return fmt.Errorf("%s: %w", step, aboutData(cmd, e))
		}
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("%s: %w", step, err)
	}
	return nil
}

// draw draws a number for each open item, in claim order.
func (b *batch) draw(ctx context.Context) error {
	open := b.open()
	first, err := b.numbers(ctx, len(open))
	for i, it := range open {
		it.number = first + uint64(i)
	}
	return err
}

// numbers draws n consecutive numbers from the counter and returns the first.
func (b *batch) numbers(ctx context.Context, n int) (first uint64, err error) {
	if n == 0 {
		return 0, nil
	}
	pipe, key, known := b.x.client.Pipeline(), b.x.keys.sequence(), b.x.life.highest.Load()
	last := pipe.IncrBy(ctx, key, int64(n))
	pipe.Expire(ctx, key, 2*b.x.layout.lifetime)
	if err := b.exec(ctx, "ticket", pipe); err != nil {
		return 0, err
	}
	if v := last.Val(); v < int64(n) || v >= maxTicket {
		return 0, &keyError{key: key, err: fmt.Errorf("the ticket counter is %d", v)}
	}
	first = uint64(last.Val()) - uint64(n) + 1
	b.x.life.drew(known, first, uint64(last.Val()))
	return first, nil
}

// ticket gives each open item's entry its number, unless it has a ticket, and reads which generations exist.
// That is read after drawing: a lower ticket's generation was registered before it was drawn, hence is seen. A ticket above
// the item's own number was drawn by a helper, maybe after another node of a cluster answered: it is read again.
func (b *batch) ticket(ctx context.Context) error {
	open := b.open()
	if len(open) == 0 {
		return nil
	}
	pipe := b.x.client.Pipeline()
	tickets := make([]*redis.Cmd, len(open))
	for i, it := range open {
		tickets[i] = b.setTicket(ctx, pipe, it.home, it.claim.Digest, it.number)
	}
	if err := b.readGenerations(ctx, pipe, open); err != nil {
		return err
	}
	helped := false
	for i, it := range open {
		reply, ok := tickets[i].Val().(string)
		if !ok {
			return errLost
		}
		it.ticket = ticketNumber(reply)
		helped = helped || it.ticket > it.number
	}
	if helped {
		return b.readGenerations(ctx, b.x.client.Pipeline(), open)
	}
	return nil
}

// readGenerations runs the pipeline and reads with it which of the generations in reach of the items exist.
func (b *batch) readGenerations(ctx context.Context, pipe redis.Pipeliner, open []*item) error {
	exist := map[int64]*redis.StringCmd{}
	for _, it := range open {
		for g, last := b.x.layout.reach(it.ms); g <= last; g++ {
			if exist[g] == nil {
				exist[g] = pipe.HGet(ctx, b.x.keys.exists(g), "")
			}
		}
	}
	if err := b.exec(ctx, "ticket", pipe); err != nil {
		return err
	}
	b.generations = make(map[int64]bool, len(exist))
	for g, cmd := range exist {
		b.generations[g] = cmd.Err() == nil
	}
	return nil
}

func (b *batch) setTicket(ctx context.Context, pipe redis.Pipeliner, f fieldRef, d article.Digest, number uint64) *redis.Cmd {
	return ticketScript.EvalSha(ctx, pipe, []string{b.x.keys.entries(f)}, f.name(), d[:], ticketBytes(number))
}

// matches answers the claims, once everything is decided.
func (b *batch) matches() []article.Verdict {
	matches := make([]article.Verdict, len(b.claimed))
	for i, it := range b.claimed {
		matches[i] = it.verdict
		if o := it.repeats; o != nil {
			matches[i] = article.Verdict{Kind: article.Exact, Reason: article.ReasonDigest, Original: o.ref, Root: o.verdict.Root}
		}
	}
	return matches
}
