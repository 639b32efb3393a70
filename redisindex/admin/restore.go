package admin

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/pipeline/article"
	"echosieve/pipeline/packed"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
)

// Restorer gives articles back to an index that has lost them, with the verdicts that were published.
// Services may claim at the same time. Safe for concurrent use.
//
// An entry is stored with its ticket and its verdict in one step, so a restored article is never undecided:
// nobody waits for it, and nobody decides it again. That is safe under three conditions:
//
//  1. The caller restores an article only if its record, its original and its root are all below the
//     committed offsets. So the root was published, is not delivered again, and keeps its verdict. Otherwise
//     this could happen: the copy C is restored, with the root O; O was not published before the loss, and is
//     delivered again; O becomes a copy of P; the chain of C then ends in an article that was not published
//     as unique.
//  2. A restored article counts as earlier than every article that is claimed after StartRestore. The ticket
//     of a restored article is the time of its record in milliseconds, but at most the ceiling; StartRestore
//     raises the counter to the ceiling, so tickets drawn later are above it. An article that is claimed
//     while its original is not yet restored passes as unique, as it would without a refill. An article that
//     finds a restored entry becomes its copy, and takes over its root. By 1 the root is unique.
//  3. Among restored articles tickets only decide which of several relatives is named as original. The times
//     of records give every process, and a refill that is run again, the same order.
//
// So every chain of originals ends in a published article, and nothing is lost, whatever is claimed in
// between, and wherever a refill is killed.
//
// A field finds entries by digest. If the entry of another article with the same digest is there (a service
// has claimed the same text before the refill came to it, or an exact repeat was restored before its
// original), the article gets a hidden entry: replays of its record get the published verdict, and new
// articles find the other entry.
type Restorer struct {
	tools   *Tools
	ceiling uint64
}

// maxCeiling bounds Restorer.ceiling in case the clock of this machine is wrong. It leaves nearly all tickets
// for claims.
const maxCeiling = 1 << 46

// StartRestore raises the ticket counter to a time, that of the call, and returns a Restorer. Entries of
// articles that are claimed from now on have higher tickets than restored entries.
func (t *Tools) StartRestore(ctx context.Context, now time.Time) (*Restorer, error) {
	ceiling := min(max(1, now.UnixMilli()), maxCeiling)
	err := t.session.Patiently(ctx, "raise the ticket counter", func() error {
		key, pipe := t.keys.Sequence(), t.client.Pipeline()
		held := pipe.IncrBy(ctx, key, 0)
		if err := connection.Execute(ctx, pipe); err != nil {
			return err
		}
		pipe = t.client.Pipeline()
		// Two processes that raise the counter at the same time raise it too far. The tickets in between are not used.
		pipe.IncrBy(ctx, key, max(0, ceiling-held.Val()))
		pipe.Expire(ctx, key, 2*t.keys.Layout.Lifetime)
		return connection.Execute(ctx, pipe)
	})
	return &Restorer{t, uint64(ceiling)}, err
}

// Published is an article with the verdict that was published for it.
type Published struct {
	article.Article
	Verdict   article.Verdict
	Forgotten bool // replays of its record get the verdict, and no other article finds it
}

// Restored is the outcome for one article of a call of Restorer.Restore.
type Restored uint8

// The outcomes.
const (
	RestoredNew  Restored = iota // its entry was stored
	RestoredHeld                 // nothing had to be stored: a replay gets the verdict already
	// its entry was stored as a hidden one, because an entry of the same text is stored already.
	RestoredHidden
	RestoredDiffers   // the index has another verdict for it, which stays
	RestoredForgotten // the index has a hidden entry of it
)

// Restore stores articles with their verdicts. It may be called again with the same articles, after an error too.
// It tries again for a minute while Redis is away.
func (r *Restorer) Restore(ctx context.Context, published []Published) (outcomes []Restored, err error) {
	if len(published) == 0 {
		return nil, nil
	}
	err = r.tools.session.Patiently(ctx, "restore", func() (err error) {
		for range fieldsOfEntry*len(published) + 1 { // a run ends at the first damaged field, which is set aside
			if outcomes, err = r.run(ctx, published); err == nil || r.tools.session.LoadAgain(err) {
				return err
			}
			var again bool
			if again, err = r.tools.index.Repair(ctx, err); !again {
				return err
			}
		}
		return err
	})
	return outcomes, err
}

// fieldsOfEntry are those where the scripts look for an entry: of its fingerprint, its digest, and its hidden digest.
const fieldsOfEntry = 3

// decided is the entry of an article with the verdict that was published.
type decided struct {
	keyspace.Entry
	verdict article.Verdict
	outcome Restored
}

// run stores block lists and then entries, as the first two steps of a claim do.
func (r *Restorer) run(ctx context.Context, published []Published) ([]Restored, error) {
	if err := r.tools.session.EnsureScripts(ctx); err != nil {
		return nil, err
	}
	var entries, hidden []*decided
	known := map[keyspace.Identity]*decided{}
	of, articles := make([]*decided, len(published)), make([]article.Article, len(published))
	for i, p := range published {
		articles[i] = p.Article
		e := r.tools.keys.Layout.EntryOf(&p.Article)
		d := known[e.Identity()]
		if d == nil { // of a record that was published twice, the first verdict counts
			e.Ticket = min(max(1, uint64(e.Millis())), r.ceiling)
			d = &decided{Entry: e, verdict: p.Verdict}
			known[e.Identity()] = d
			if p.Forgotten {
				hidden = append(hidden, d)
			} else {
				entries = append(entries, d)
			}
		}
		of[i] = d
	}
	if err := r.tools.index.StoreLists(ctx, articles); err != nil {
		return nil, err
	}
	if err := r.store(ctx, entries); err != nil {
		return nil, err
	}
	for _, d := range entries {
		if d.outcome == RestoredHidden {
			hidden = append(hidden, d)
		}
	}
	for _, d := range hidden {
		d.Digest, d.Ticket = article.Digest(d.HiddenDigest()), keyspace.MaxTicket
	}
	if err := r.store(ctx, hidden); err != nil {
		return nil, err
	}
	results := make([]Restored, len(published))
	for i, d := range of {
		switch {
		case published[i].Forgotten:
			results[i] = RestoredForgotten
		case d.Ticket == keyspace.MaxTicket && d.outcome == RestoredNew:
			results[i] = RestoredHidden
		default:
			results[i] = d.outcome
		}
	}
	return results, nil
}

// store stores the entries with their verdicts, and sets their outcomes: RestoredHidden if an entry must be hidden,
// because that of another article with its digest is there.
func (r *Restorer) store(ctx context.Context, entries []*decided) error {
	keys, pipe := r.tools.keys, r.tools.client.Pipeline()
	replies := make([]*redis.Cmd, len(entries))
	for i, d := range entries {
		f, hidden := d.Field(), d.HiddenDigest()
		if d.Ticket == keyspace.MaxTicket {
			hidden = d.Digest[:]
		}
		replies[i] = restoreScript.EvalSha(ctx, pipe, []string{keys.Entries(f)}, f.Name(), d.Digest[:],
			d.AppendDecided(nil, keys.Layout.Start(d.Slice), d.verdict), keys.Layout.MaxEntries,
			keys.Layout.LifetimeSeconds(), hidden, len(packed.AppendCoordinates(nil, d.Coordinates)))
	}
	if err := connection.Execute(ctx, pipe); err != nil {
		return err
	}
	for i, d := range entries {
		switch reply := replies[i].Val().(type) {
		case int64:
			d.outcome = RestoredNew
		case string:
			outcome, err := r.compare(d, reply)
			if err != nil {
				return err
			}
			d.outcome = outcome
		default:
			return fmt.Errorf("restore: reply of type %T", reply)
		}
	}
	return nil
}

// compare returns the outcome for an entry in whose place another one is stored.
func (r *Restorer) compare(d *decided, stored string) (Restored, error) {
	e, _, err := keyspace.CutEntry(d.Field(), r.tools.keys.Layout.Start(d.Slice), stored)
	verdict, ok := e.Verdict() // that a replay of the record would get
	if err != nil || !ok {
		return 0, r.tools.keys.Damage(&d.Entry)
	}
	switch {
	case e.Coordinates == d.Coordinates && sameDecision(verdict, d.verdict):
		return RestoredHeld, nil
	case e.Coordinates == d.Coordinates:
		return RestoredDiffers, nil
	case verdict.Kind != 0 && sameDecision(d.verdict, article.ExactVerdict(e.Ref(), verdict.Root)):
		return RestoredHeld, nil
	default:
		return RestoredHidden, nil
	}
}

// sameDecision compares what decides. It leaves out the figures, which headers hold rounded, and the
// destination: a refill knows only the topic of an output, and the destinations unique and possible may have
// one topic. If the topics do differ, because the policy was changed between two deliveries of the record,
// the destination that is stored stays.
func sameDecision(a, b article.Verdict) bool {
	return a.Kind == b.Kind && a.Reason == b.Reason && a.Original == b.Original && a.Root == b.Root
}

// Losses are the last losses that processes have written into the markers, a line for each marker.
type Losses string

// Losses returns the last losses of the index.
func (t *Tools) Losses(ctx context.Context) (all Losses, err error) {
	markers := t.markers()
	replies := make([]*redis.StringCmd, len(markers))
	err = t.session.Send(ctx, "markers", t.client, func(pipe redis.Pipeliner) {
		for i, key := range markers {
			replies[i] = pipe.HGet(ctx, key, "lost")
		}
	})
	for _, r := range replies {
		all += Losses(r.Val() + "\n")
	}
	return all, err
}

// Cure says in Redis that a refill has given back what these losses, which were known when it began, had taken; all
// processes then end their warnings. It does nothing, and returns false, if there was no loss.
func (t *Tools) Cure(ctx context.Context, losses Losses) (cured bool, err error) {
	last := int64(0)
	for line := range strings.Lines(string(losses)) {
		number, _, _ := strings.Cut(line, " ")
		at, _ := strconv.ParseInt(number, 10, 64) // 0: the marker has no loss
		last = max(last, at)
	}
	if last == 0 {
		return false, nil
	}
	return true, t.session.Send(ctx, "cure", t.client, func(pipe redis.Pipeliner) {
		pipe.HSet(ctx, t.markers()[0], "cured", last)
	})
}

// markers names the markers of the index.
func (t *Tools) markers() []string {
	_, cluster := t.client.(*redis.ClusterClient)
	return t.keys.Markers(cluster)
}
