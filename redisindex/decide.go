package redisindex

import (
	"context"
	"errors"
	"time"

	"echosieve/pipeline/article"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/go-redis/v9"
)

// errLookAgain says that tickets have changed since the batch looked: a ticket was withdrawn, or drawn after that. The
// batch is run again at once.
var errLookAgain = errors.New("a ticket was withdrawn")

// Pauses between two reads of an undecided original.
const (
	firstPause = time.Millisecond
	maxPause   = 50 * time.Millisecond
)

// decide writes a verdict for each open item. The first verdict written counts, whoever reached it.
//
// A copy's root is the root of its original, so a copy waits until its original has a verdict. It waits by itself: all
// verdicts of the batch that can be reached are written first, in the order of tickets, and each of them may be the
// one that another batch, or another item of this one, waits for. Among all articles without a verdict, in whichever
// process, the one with the lowest ticket has only decided articles before it. So it never waits, and there
// is always progress while every worker writes what it can. If batches waited as a whole, two could wait for each other
// without end.
func (b *batch) decide(ctx context.Context) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier, pauses.MaxInterval = firstPause, 2, maxPause
	for {
		ready, awaited, err := b.propose()
		switch {
		case err != nil:
		case len(ready) > 0:
			err = b.write(ctx, ready)
		case len(awaited) > 0:
			err = b.wait(ctx, awaited, pauses.NextBackOff())
		case len(b.open()) > 0: // against the order of tickets
			err = errors.New("decide: articles of one batch wait for each other")
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// propose reaches the verdicts of the open items whose originals are decided. It returns these items, and the undecided
// originals of the others, each once, except for those that are items of this batch.
func (b *batch) propose() (ready []*item, awaited []relative, err error) {
	seen := map[*entry]bool{}
	for _, it := range b.open() {
		original, decided, err := b.proposal(it)
		if err != nil {
			return nil, nil, err
		}
		if decided {
			ready = append(ready, it)
			continue
		}
		own := b.known[original.identity()]
		if (own == nil || own.repeats != nil) && !seen[original.entry] {
			seen[original.entry] = true
			awaited = append(awaited, original)
		}
	}
	return ready, awaited, nil
}

// proposal sets the item's proposal: a copy of the earliest relative of which it is one, else possibly one of the
// earliest that it looks like, else unique. If the original has no verdict yet, the item has no proposal, and the
// original is returned.
func (b *batch) proposal(it *item) (original relative, decided bool, err error) {
	for _, r := range it.relatives {
		if !r.judged.Kind.IsCopy() {
			continue
		}
		root, known, err := b.rootOf(r)
		if err != nil || !known {
			return r, false, err
		}
		if root.Coordinates == it.ref.Coordinates {
			continue // it was named a copy of this article before Redis lost this article's entry: two copies must not name each other
		}
		it.proposal = r.match(root)
		return relative{}, true, nil
	}
	for _, r := range it.relatives {
		if r.judged.Kind == article.Possible {
			it.proposal = r.match(it.ref)
			return relative{}, true, nil
		}
	}
	it.proposal = article.Verdict{Kind: article.Unique, Root: it.ref}
	return relative{}, true, nil
}

// match is the verdict of an article whose original is r.
func (r relative) match(root article.Ref) article.Verdict {
	return article.Verdict{Kind: r.judged.Kind, Reason: r.judged.Reason, Original: r.ref, Root: root, Distance: r.distance}
}

// rootOf is the article at the end of the chain of originals that starts at r, which is no copy. It is known once r has
// a verdict.
func (b *batch) rootOf(r relative) (root article.Ref, known bool, err error) {
	if len(r.verdict) > 0 {
		verdict, err := decodeVerdict(r.verdict, r.ref)
		if err != nil {
			return article.Ref{}, false, b.x.damaged(r.field, r.digest)
		}
		return verdict.Root, true, nil
	}
	if it := b.known[r.identity()]; it != nil && it.verdict.Kind != 0 {
		return it.verdict.Root, true, nil
	}
	return article.Ref{}, false, nil
}

// write writes the proposals of the items, each under the ticket with which it was reached.
func (b *batch) write(ctx context.Context, ready []*item) error {
	pipe := b.x.client.Pipeline()
	decided := make([]*redis.Cmd, len(ready))
	for i, it := range ready {
		decided[i] = decideScript.EvalSha(ctx, pipe, []string{b.x.keys.entries(it.home)},
			it.home.name(), it.claim.Digest[:], ticketBytes(it.ticket), appendVerdict(nil, it.proposal))
	}
	if err := b.exec(ctx, "decide", pipe); err != nil {
		return err
	}
	for i, it := range ready {
		switch reply := decided[i].Val().(type) {
		case string:
			verdict, err := decodeVerdict([]byte(reply), it.ref)
			if err != nil {
				return b.x.damaged(it.home, it.claim.Digest)
			}
			it.verdict = verdict
		case int64:
			return errLookAgain
		default:
			return errLost
		}
	}
	return nil
}

// wait waits a moment for the verdicts of originals that other workers decide, and reads their entries again. The ticket of
// one that had no verdict for too long is withdrawn.
func (b *batch) wait(ctx context.Context, awaited []relative, pause time.Duration) error {
	for _, r := range awaited {
		if b.waitedEnough(r) {
			return b.withdraw(ctx, r)
		}
	}
	b.x.metrics.waits.Inc()
	if err := b.x.sleep(ctx, pause); err != nil {
		return err
	}
	pipe := b.x.client.Pipeline()
	values := make([]*redis.StringCmd, len(awaited))
	for i, r := range awaited {
		values[i] = pipe.HGet(ctx, b.x.keys.entries(r.field), r.field.name())
	}
	if err := b.exec(ctx, "wait", pipe); err != nil {
		return err
	}
	for i, r := range awaited {
		entries, err := b.x.decodeField(r.field, values[i].Val())
		if err != nil {
			return err
		}
		if err := r.update(entries); err != nil {
			return err
		}
	}
	return nil
}

// update takes over the verdict of the article, if it has one by now, from the entries of its field.
func (r relative) update(now []*entry) error {
	for _, e := range now {
		if e.identity() != r.identity() {
			continue
		}
		if len(e.verdict) == 0 && e.ticket != r.ticket {
			return errLookAgain
		}
		r.verdict = e.verdict
		return nil
	}
	return errLost
}

// waitedEnough says whether the verdict of r is to be expected no more.
func (b *batch) waitedEnough(r relative) bool {
	if b.comesLater(r.ref.Coordinates) {
		return true
	}
	now := b.x.now()
	since, known := b.waits[r.identity()]
	if !known {
		b.waits[r.identity()], since = now, now
	}
	return now.Sub(since) >= b.x.cfg.UndecidedTimeout
}

// comesLater says whether the record at these coordinates follows the claims of this batch in their own partition. Its
// worker is dead then, because partitions are decided in order, and it will be delivered again only after this
// batch: to wait for it would be to wait for oneself.
func (b *batch) comesLater(at article.Coordinates) bool {
	later := false
	for _, it := range b.claimed {
		if c := it.claim.Coordinates; c.Topic == at.Topic && c.Partition == at.Partition {
			if c.Offset >= at.Offset {
				return false
			}
			later = true
		}
	}
	return later
}

// withdraw takes the ticket from an undecided original. The original counts as pending then. The batch looks again and helps it
// to a higher ticket than its own items have; if its worker comes after all, it finds that ticket and
// becomes the later one of the two. The verdict that it may have reached before is not written, since the
// decide script asks for the ticket under which it was reached.
func (b *batch) withdraw(ctx context.Context, r relative) error {
	pipe := b.x.client.Pipeline()
	cmd := withdrawScript.EvalSha(ctx, pipe, []string{b.x.keys.entries(r.field)}, r.field.name(), r.digest[:], ticketBytes(r.ticket))
	if err := b.exec(ctx, "wait", pipe); err != nil {
		return err
	}
	delete(b.waits, r.identity())
	if withdrawn, _ := cmd.Val().(int64); withdrawn == 1 {
		b.x.metrics.withdrawn.Inc()
		b.x.log.WarnContext(ctx, "an article had no verdict in time, so its copies do not wait for it any longer: its record was not delivered again (deleted, skipped, or its worker is away)",
			"article", r.ref.String(), "id", r.ref.ID, "ticket", r.ticket, "limit", b.x.cfg.UndecidedTimeout)
	}
	return errLookAgain
}
