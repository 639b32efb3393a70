package redisindex

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/internal/telemetry"
	"echosieve/pipeline/article"
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

func newClaim(by *call) *claim {
	n := len(by.articles)
	c := &claim{
		x: by.x, claimed: make([]*task, n), byIdentity: make(map[keyspace.Identity]*task, n), seen: map[int64]bool{},
		call: by,
	}
	for i := range by.articles {
		c.claimed[i] = c.task(c.x.keys.Layout.EntryOf(&by.articles[i]))
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

// candidate is a stored fingerprint that the look-ups for an article found.
type candidate struct {
	keyspace.FieldRef
	distance int // bits
	fetched  int // index of its entries in claim.fetched, once they are fetched
}

// relative is a stored article that a task's article resembles. If the stored article is the earlier one, the
// task's article is a copy or possibly a copy of it, as judged says.
type relative struct {
	*keyspace.Entry
	judged   article.Judgement
	distance int // bits
}

// precedes says whether r is a better original than s: one with the id of the article is, so that a revision
// names its earlier version and not an agency text that both repeat; of two others the earlier one is.
func (r relative) precedes(s relative) bool {
	if r.judged.SameID != s.judged.SameID {
		return r.judged.SameID
	}
	return r.Before(s.Entry)
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

// eval queues a script for an entry. All of these take the fingerprint and the digest first.
func (c *claim) eval(ctx context.Context, pipe redis.Pipeliner, script *redis.Script, e *keyspace.Entry, more ...any,
) *redis.Cmd {
	f, args := e.Field(), make([]any, 2, 2+len(more))
	args[0], args[1] = f.Name(), e.Digest[:]
	return script.EvalSha(ctx, pipe, []string{c.x.keys.Entries(f)}, append(args, more...)...)
}

// draw draws n consecutive numbers from the ticket counter and returns the first one.
func (c *claim) draw(ctx context.Context, step string, n int) (first uint64, err error) {
	if n == 0 {
		return 0, nil
	}
	pipe, key, highest := c.x.client.Pipeline(), c.x.keys.Sequence(), c.x.losses.HighestTicket()
	last := pipe.IncrBy(ctx, key, int64(n))
	pipe.Expire(ctx, key, 2*c.x.keys.Layout.Lifetime)
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
			verdicts[i] = article.ExactVerdict(o.Ref(), o.verdict.Root)
		}
	}
	return verdicts
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
			for _, block := range c.x.keys.Layout.Plan.AppendStored(nil, &t.Article) {
				lists = append(lists, keyspace.ListRef{Slice: t.Slice, Block: block.Index, Value: block.Value})
			}
			return lists
		})
	}
}

// call is one call of Claim. It outlives the runs of its claim.
type call struct {
	x         *Index
	articles  []article.Article
	undecided map[keyspace.Identity]time.Time // since when the call waits for the verdict of an article
	waits     bool                            // as far as health knows
}

func newCall(x *Index, articles []article.Article) *call {
	return &call{x: x, articles: articles, undecided: map[keyspace.Identity]time.Time{}}
}

// String says whose work the call is.
func (c *call) String() string {
	return fmt.Sprintf("verdicts from %s on (articles: %d)", c.articles[0], len(c.articles))
}

// endWait reports that the call no longer waits for Redis.
func (c *call) endWait() {
	if c.waits {
		c.waits = false
		c.x.health("redis", c, nil)
	}
}
