package redisindex

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
	"echosieve/pipeline/packed"
	"echosieve/redisindex/keyspace"
)

// Pauses between two reads of an undecided original.
const (
	firstPause = time.Millisecond
	maxPause   = 50 * time.Millisecond
)

// deciding is step 6 of a claim: verdicts, each after that of its original.
type deciding struct{ *claim }

// decide is step 6: it writes a verdict for each open task. A copy waits until its original has a verdict, each task
// for itself alone: the claim first writes all verdicts that it can reach, in the order of tickets, and only then
// waits. If claims waited as a whole, two of them could wait for each other without end. Example: claim A has articles
// 1 and 4, claim B has 2 and 3; 3 repeats 1, and 4 repeats 2. A must write the verdict of 1 before it waits for 2, and
// B must write the verdict of 2 before it waits for 1.
func (c deciding) decide(ctx context.Context) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier, pauses.MaxInterval = firstPause, 2, maxPause
	for {
		ready, awaited, err := c.propose()
		switch {
		case err != nil:
		case len(ready) > 0:
			err = c.writeVerdicts(ctx, ready)
		case len(awaited) > 0:
			err = c.wait(ctx, awaited, pauses.NextBackOff())
		case len(c.open()) > 0: // the order of tickets makes this impossible
			err = errors.New("decide: articles of one claim wait for each other")
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// propose reaches the verdicts of the open tasks whose originals are decided, and returns these tasks. It
// also returns the undecided originals of the other tasks, each once. Originals that this claim will decide
// itself are left out.
func (c deciding) propose() (ready []*task, awaited []relative, err error) {
	seen := map[*keyspace.Entry]bool{}
	for _, t := range c.open() {
		original, decided, err := c.proposal(t)
		if err != nil {
			return nil, nil, err
		}
		if decided {
			ready = append(ready, t)
			continue
		}
		own := c.byIdentity[original.Identity()]
		if (own == nil || own.repeats != nil) && !seen[original.Entry] {
			seen[original.Entry] = true
			awaited = append(awaited, original)
		}
	}
	return ready, awaited, nil
}

// proposal sets the task's proposal: a copy of the first relative of which the article is a copy; otherwise
// possibly a copy of the first relative; otherwise unique. If the original has no verdict yet, proposal
// returns the original and sets nothing.
func (c deciding) proposal(t *task) (original relative, decided bool, err error) {
	for _, r := range t.relatives {
		if !r.judged.Kind.IsCopy() {
			continue
		}
		root, decided, err := c.rootOf(r)
		if err != nil || !decided {
			return r, false, err
		}
		if root.Coordinates == t.Coordinates {
			// Redis lost this article's entry after r was decided to be its copy. Two copies must not name each other.
			continue
		}
		t.proposal = c.verdictOf(r, root)
		return relative{}, true, nil
	}
	t.proposal = article.Verdict{Kind: article.Unique, Root: t.Ref()}
	for _, r := range t.relatives {
		if r.judged.Kind == article.Possible {
			t.proposal = c.verdictOf(r, t.Ref())
			break
		}
	}
	return relative{}, true, nil
}

// verdictOf is the verdict of an article whose original is r. The destination is chosen here, before the
// verdict is written: if processes have different policies, the destination of the first verdict that is
// written counts, as its kind does.
func (c deciding) verdictOf(r relative, root article.Ref) article.Verdict {
	return article.Verdict{
		Kind: r.judged.Kind, Reason: r.judged.Reason, Likeness: r.judged.Likeness, Original: r.Ref(), Root: root,
		Distance:    r.distance,
		Destination: c.x.policy.Load().Destination(r.judged),
	}
}

// rootOf returns the article at the end of the chain of originals that starts at r. That article is no copy.
// Until r has a verdict, the root is not known, and decided is false.
func (c deciding) rootOf(r relative) (root article.Ref, decided bool, err error) {
	verdict, ok := r.Verdict()
	if !ok {
		return article.Ref{}, false, c.x.keys.Damage(r.Entry)
	}
	if t := c.byIdentity[r.Identity()]; verdict.Kind == 0 && t != nil {
		verdict = t.verdict
	}
	return verdict.Root, verdict.Kind != 0, nil
}

// writeVerdicts writes the proposals of the tasks. Each proposal is written only if the entry still has the
// ticket with which the proposal was reached.
func (c deciding) writeVerdicts(ctx context.Context, ready []*task) error {
	pipe := c.x.client.Pipeline()
	replies := make([]*redis.Cmd, len(ready))
	for i, t := range ready {
		replies[i] = c.eval(ctx, pipe, decideScript, &t.Entry, keyspace.TicketBytes(t.Ticket),
			packed.AppendVerdict(nil, t.proposal, t.Ref()))
	}
	if err := c.exec(ctx, "decide", pipe); err != nil {
		return err
	}
	for i, t := range ready {
		switch reply := replies[i].Val().(type) {
		case string:
			verdict, ok := packed.DecodeVerdict([]byte(reply), t.Ref())
			if !ok {
				return c.x.keys.Damage(&t.Entry)
			}
			t.verdict = verdict
		case int64:
			return errTicketChanged
		default:
			return errLost
		}
	}
	return nil
}

// wait pauses, because other workers decide the awaited originals, and then fetches their entries again. If
// an original has had no verdict for too long, wait withdraws its ticket instead.
func (c deciding) wait(ctx context.Context, awaited []relative, pause time.Duration) error {
	c.call.endWait() // Redis has served all steps: now the call waits for another worker, and not for long
	for _, r := range awaited {
		if c.waitedEnough(r) {
			return c.withdraw(ctx, r)
		}
	}
	c.x.metrics.waits.Inc()
	if err := c.x.sleep(ctx, pause); err != nil {
		return err
	}
	pipe := c.x.client.Pipeline()
	values := make([]*redis.StringCmd, len(awaited))
	for i, r := range awaited {
		f := r.Field()
		values[i] = pipe.HGet(ctx, c.x.keys.Entries(f), f.Name())
	}
	if err := c.exec(ctx, "wait", pipe); err != nil {
		return err
	}
	for i, r := range awaited {
		entries, err := c.x.keys.DecodeField(r.Field(), values[i].Val())
		if err == nil {
			err = r.update(entries)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// update sets the verdict of the relative, if there is one by now, from the newly fetched entries of its field.
func (r relative) update(fetched []*keyspace.Entry) error {
	for _, e := range fetched {
		if e.Identity() != r.Identity() {
			continue
		}
		if len(e.VerdictBytes) == 0 && e.Ticket != r.Ticket {
			return errTicketChanged
		}
		r.VerdictBytes = e.VerdictBytes
		return nil
	}
	return errLost
}

// waitedEnough says whether the claim shall no longer wait for the verdict of r.
func (c deciding) waitedEnough(r relative) bool {
	if c.comesLater(r.Coordinates) {
		return true
	}
	now := c.x.now()
	since, waiting := c.call.undecided[r.Identity()]
	if !waiting {
		c.call.undecided[r.Identity()], since = now, now
	}
	return now.Sub(since) >= c.x.cfg.UndecidedTimeout
}

// comesLater says whether the record at these coordinates follows the articles of this claim in their own
// partition. Partitions are decided in order, so the worker that stored its entry is dead, and the record is
// delivered again only after this claim. A wait for its verdict would not end before Config.UndecidedTimeout.
func (c deciding) comesLater(at article.Coordinates) bool {
	later := false
	for _, t := range c.claimed {
		if own := t.Coordinates; own.Topic == at.Topic && own.Partition == at.Partition {
			if own.Offset >= at.Offset {
				return false
			}
			later = true
		}
	}
	return later
}

// withdraw takes the ticket away from an undecided original. Then the claim is run again: it finds the
// original without a ticket and gives it a higher ticket than its own articles have. If the original's worker
// goes on after all, it finds that ticket and becomes the later one of the two. A verdict that this worker
// reached before is not written, because decide.lua requires the ticket with which the verdict was reached.
func (c deciding) withdraw(ctx context.Context, r relative) error {
	pipe := c.x.client.Pipeline()
	cmd := c.eval(ctx, pipe, withdrawScript, r.Entry, keyspace.TicketBytes(r.Ticket))
	if err := c.exec(ctx, "wait", pipe); err != nil {
		return err
	}
	delete(c.call.undecided, r.Identity())
	if withdrawn, _ := cmd.Bool(); withdrawn {
		c.x.metrics.withdrawn.Inc()
		c.x.log.WarnContext(ctx,
			"an article had no verdict in time, so its copies no longer wait for it: its record was not delivered "+
				"again (it was deleted or skipped, or its worker is away)",
			"article", r.Ref().String(), "id", r.ID, "ticket", r.Ticket, "limit", c.x.cfg.UndecidedTimeout)
	}
	return errTicketChanged
}
