package redisindex

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
)

// Restorer gives articles back to an index that has lost them, with the verdicts that were published. Services may claim at the same
// time. Safe for concurrent use.
//
// An entry is stored with its ticket and its verdict in one step, so a restored article is never undecided: nobody waits for it, and
// nobody decides it again. That is safe under three conditions:
//
//  1. The caller restores an article only if its record, its original and its root are all below the committed offsets. So the root was
//     published, is not delivered again, and keeps its verdict. Otherwise this could happen: the copy C is restored, with the root O;
//     O was not published before the loss, and is delivered again; O becomes a copy of P; the chain of C then ends in an article that
//     was not published as unique.
//  2. A restored article counts as earlier than every article that is claimed after StartRestore. The ticket of a restored article is
//     the time of its record in milliseconds, but at most the ceiling; StartRestore raises the counter to the ceiling, so tickets drawn
//     later are above it. An article that is claimed while its original is not yet restored passes as unique, as it would
//     without a refill. An article that finds a restored entry becomes its copy, and takes over its root. By 1 the root is
//     unique.
//  3. Among restored articles tickets only decide which of several relatives is named as original. The times of records give every
//     process, and a refill that is run again, the same order.
//
// So every chain of originals ends in a published article, and nothing is lost, whatever is claimed in between, and wherever a refill is
// killed.
//
// A field finds entries by digest. If the entry of another article with the same digest is there (a service has claimed the same text
// before the refill came to it, or an exact repeat was restored before its original), the article gets a hidden entry: replays of its
// record get the published verdict, and new articles find the other entry.
type Restorer struct {
	x       *Index
	ceiling uint64
}

// maxCeiling bounds Restorer.ceiling in case the clock of this machine is wrong. It leaves nearly all tickets for claims.
const maxCeiling = 1 << 46

// StartRestore raises the ticket counter, and returns a Restorer. Entries of articles that are claimed from now on have higher tickets
// than restored entries.
func (x *Index) StartRestore(ctx context.Context) (*Restorer, error) {
	ceiling := min(max(1, time.Now().UnixMilli()), maxCeiling)
	err := x.patiently(ctx, "raise the ticket counter", func() error {
		key, pipe := x.keys.sequence(), x.client.Pipeline()
		held := pipe.IncrBy(ctx, key, 0)
		if err := execute(ctx, pipe); err != nil {
			return err
		}
		pipe = x.client.Pipeline()
		// Two processes that raise the counter at the same time raise it too far. The tickets in between are not used.
		pipe.IncrBy(ctx, key, max(0, ceiling-held.Val()))
		pipe.Expire(ctx, key, 2*x.layout.lifetime)
		return execute(ctx, pipe)
	})
	return &Restorer{x, uint64(ceiling)}, err
}

// Restored is what became of an article that was given to Restorer.Restore.
type Restored uint8

// The outcomes.
const (
	RestoredNew     Restored = iota // its entry was stored
	RestoredHeld                    // nothing had to be stored: a replay gets the verdict already
	RestoredHidden                  // its entry was stored as a hidden one, because another article of the same text has the place
	RestoredDiffers                 // the index has another verdict for it, which stays
)

// Restore stores articles with their verdicts; verdicts[i] belongs to articles[i]. It may be called again with the same articles, after
// an error too. It tries again for a minute while Redis is away.
func (r *Restorer) Restore(ctx context.Context, articles []article.Article, verdicts []article.Verdict) (outcomes []Restored, err error) {
	if len(articles) == 0 {
		return nil, nil
	}
	err = r.x.patiently(ctx, "restore", func() (err error) {
		for range runsPerAttempt {
			if outcomes, err = r.run(ctx, articles, verdicts); err == nil {
				return nil
			}
			var again bool
			if again, err = r.x.repair(ctx, err); !again {
				return err
			}
		}
		return err
	})
	return outcomes, err
}

// run stores block lists and then entries, as the steps storeLists and storeEntries of a claim do.
func (r *Restorer) run(ctx context.Context, articles []article.Article, verdicts []article.Verdict) ([]Restored, error) {
	x := r.x
	if err := x.ensureScripts(ctx); err != nil {
		return nil, err
	}
	b := newBatch(x, articles, nil)
	if err := b.storeLists(ctx); err != nil {
		return nil, err
	}
	for i, t := range b.claimed {
		if t.proposal.Kind == 0 { // of a record that was published twice, the first verdict counts
			t.proposal = verdicts[i]
			t.ticket = min(max(1, uint64(t.ms())), r.ceiling)
		}
	}
	outcomes, hide, err := r.storeDecided(ctx, b.tasks)
	if err != nil {
		return nil, err
	}
	for _, t := range hide {
		t.Digest, t.ticket = article.Digest(t.hiddenDigest()), maxTicket
	}
	hidden, _, err := r.storeDecided(ctx, hide)
	if err != nil {
		return nil, err
	}
	results := make([]Restored, len(articles))
	for i, t := range b.claimed {
		results[i] = outcomes[t]
		if outcome, ok := hidden[t]; ok {
			if results[i] = outcome; outcome == RestoredNew {
				results[i] = RestoredHidden
			}
		}
	}
	return results, nil
}

// storeDecided stores the entries of the tasks with their proposals as verdicts. It returns the tasks that must be hidden: the entry of
// another article with their digest is there.
func (r *Restorer) storeDecided(ctx context.Context, tasks []*task) (outcomes map[*task]Restored, hide []*task, err error) {
	pipe := r.x.client.Pipeline()
	replies := make([]*redis.Cmd, len(tasks))
	for i, t := range tasks {
		f, hidden := t.field(), t.hiddenDigest()
		if t.ticket == maxTicket {
			hidden = t.Digest[:]
		}
		replies[i] = restoreScript.EvalSha(ctx, pipe, []string{r.x.keys.entries(f)}, f.name(), t.Digest[:], t.appendDecided(nil, r.x.layout.start(t.span), t.proposal),
			r.x.maxEntries, r.x.layout.lifetimeSeconds(), hidden, len(appendCoordinates(nil, t.Coordinates)))
	}
	if err := execute(ctx, pipe); err != nil {
		return nil, nil, err
	}
	outcomes = make(map[*task]Restored, len(tasks))
	for i, t := range tasks {
		switch reply := replies[i].Val().(type) {
		case int64:
			outcomes[t] = RestoredNew
		case string:
			outcome, err := r.compare(t, reply)
			if err != nil {
				return nil, nil, err
			}
			outcomes[t] = outcome
			if outcome == RestoredHidden {
				hide = append(hide, t)
			}
		default:
			return nil, nil, fmt.Errorf("restore: reply of type %T", reply)
		}
	}
	return outcomes, hide, nil
}

// compare returns the outcome for a task whose place holds a stored entry.
func (r *Restorer) compare(t *task, stored string) (Restored, error) {
	e, _, err := cutEntry(t.field(), r.x.layout.start(t.span), stored)
	if err != nil {
		return 0, r.x.damaged(&t.entry)
	}
	var verdict article.Verdict // that a replay of the task's record would get
	if len(e.verdictBytes) > 0 {
		if verdict, err = decodeVerdict(e.verdictBytes, e.Ref()); err != nil {
			return 0, r.x.damaged(&t.entry)
		}
	}
	switch {
	case e.Coordinates == t.Coordinates && sameDecision(verdict, t.proposal):
		return RestoredHeld, nil
	case e.Coordinates == t.Coordinates:
		return RestoredDiffers, nil
	case verdict.Kind != 0 && sameDecision(t.proposal, exactRepeat(&e, verdict)):
		return RestoredHeld, nil
	default:
		return RestoredHidden, nil
	}
}

// sameDecision compares what decides. It leaves out the figures, which headers hold rounded, and the destination: a refill knows only the
// topic of an output, and the destinations unique and possible may have one topic. If the topics do differ, because the policy was changed
// between two deliveries of the record, the destination that is stored stays.
func sameDecision(a, b article.Verdict) bool {
	return a.Kind == b.Kind && a.Reason == b.Reason && a.Original == b.Original && a.Root == b.Root
}

// appendDecided encodes the entry with its ticket and a verdict.
func (e *entry) appendDecided(dst []byte, spanStart int64, v article.Verdict) []byte {
	start := len(dst)
	dst = appendVerdict(e.append(dst, spanStart), v, e.Ref())
	binary.BigEndian.PutUint16(dst[start:], uint16(len(dst)-start))
	copy(dst[start+ticketAt:], ticketBytes(e.ticket))
	return dst
}
