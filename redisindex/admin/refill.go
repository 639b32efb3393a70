package admin

import (
	"context"
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/redisindex/connection"
)

// leaseTime is how long a part of a refill stays with a process that writes down no progress.
const leaseTime = 15 * time.Second

// Refill is the progress of a refill: which processes work at which parts, and how far they have come. It is
// kept in Redis, below the namespace, so that it is lost together with the entries that it speaks of. After a
// loss that the monitor has noticed, progress from before the loss is not used any more.
//
// If two processes work at one part, because one of them stood still for longer than leaseTime, both do the
// same work twice, and nothing else happens.
type Refill struct {
	tools  *Tools
	owner  string // of leases: this process
	key    string
	losses string // that were known when it began
}

// OpenRefill returns the progress of a refill. The name says what the refill reads. A new refill begins from
// the start of each part, and forgets what other processes have written under the name.
func (t *Tools) OpenRefill(ctx context.Context, name string, anew bool) (*Refill, error) {
	r := &Refill{tools: t, owner: rand.Text()}
	var err error
	if r.losses, err = t.knownLosses(ctx); err != nil {
		return nil, err
	}
	h := fnv.New32a()
	fmt.Fprint(h, r.losses) // writing to a hash never fails
	r.key = t.keys.Refill(name, h.Sum32())
	if !anew {
		return r, nil
	}
	err = t.session.Patiently(ctx, "refill", func() error {
		pipe := t.client.Pipeline()
		pipe.HSet(ctx, r.key, "run", r.owner)
		pipe.Expire(ctx, r.key, t.keys.Layout.Lifetime)
		return connection.Execute(ctx, pipe)
	})
	return r, err
}

// Range is the positions of a part that are done: From <= position < To.
type Range struct{ From, To int64 }

// reach returns what is done of the positions from a position on, as far as that is known: nothing if the
// range neither holds the position nor ends there.
func (r Range) reach(from int64) Range {
	if r.From <= from && from <= r.To {
		return r
	}
	return Range{from, from}
}

// knownLosses returns the last losses that processes have written into the markers.
func (t *Tools) knownLosses(ctx context.Context) (all string, err error) {
	err = t.session.Patiently(ctx, "markers", func() error {
		pipe := t.client.Pipeline()
		var replies []*redis.StringCmd
		for _, key := range t.markers() {
			replies = append(replies, pipe.HGet(ctx, key, "lost"))
		}
		if err := connection.Execute(ctx, pipe); err != nil {
			return err
		}
		all = ""
		for _, r := range replies {
			all += r.Val() + "\n"
		}
		return nil
	})
	return all, err
}

// LostMore says whether a loss was noticed since OpenRefill. Articles that were restored before may be lost again then.
func (r *Refill) LostMore(ctx context.Context) (bool, error) {
	now, err := r.tools.knownLosses(ctx)
	return now != r.losses, err
}

// Take takes a part for this process, which wants to do it from a position on. It returns what is done of
// that: the process goes on at To, and gives From to Done. A range that another run has written down and that
// begins later does not count: a run that reads further back does the part again. It is not ok if another
// process has the part. A process may take a part again that it has.
func (r *Refill) Take(ctx context.Context, part string, from int64) (done Range, ok bool, err error) {
	err = r.tools.session.Patiently(ctx, "refill", func() error {
		if err := r.tools.session.EnsureScripts(ctx); err != nil {
			return err
		}
		pipe := r.tools.client.Pipeline()
		lease := leaseScript.EvalSha(ctx, pipe, []string{r.key + ":" + part}, r.owner, int64(leaseTime/time.Second))
		run, written := pipe.HGet(ctx, r.key, "run"), pipe.HGet(ctx, r.key, part)
		if err := connection.Execute(ctx, pipe); err != nil {
			return err
		}
		n, _ := lease.Val().(int64)
		done, ok = Range{from, from}, n == 1
		if positions, found := strings.CutPrefix(written.Val(), run.Val()+" "); found {
			var known Range
			if n, _ := fmt.Sscan(positions, &known.From, &known.To); n == 2 {
				done = known.reach(from)
			}
		}
		return nil
	})
	return done, ok, err
}

// Done writes down what is done of a part. The lease goes on.
func (r *Refill) Done(ctx context.Context, part string, done Range) error {
	if _, _, err := r.Take(ctx, part, done.To); err != nil {
		return err
	}
	return r.set(ctx, part, fmt.Sprint(done.From, " ", done.To))
}

// LeaveOut says that the refill has left something out that belongs into the index.
func (r *Refill) LeaveOut(ctx context.Context) error { return r.set(ctx, leftOut, "") }

// leftOut is the field of LeaveOut. Names of parts hold a slash.
const leftOut = "gap"

// set sets a field of the progress. It counts for the present run.
func (r *Refill) set(ctx context.Context, field, value string) error {
	return r.tools.session.Patiently(ctx, "refill", func() error {
		pipe := r.tools.client.Pipeline()
		run := pipe.HGet(ctx, r.key, "run")
		if err := connection.Execute(ctx, pipe); err != nil {
			return err
		}
		pipe = r.tools.client.Pipeline()
		pipe.HSet(ctx, r.key, field, run.Val()+" "+value)
		pipe.Expire(ctx, r.key, r.tools.keys.Layout.Lifetime)
		return connection.Execute(ctx, pipe)
	})
}

// Cure says in Redis that the refill has given back what the losses that were known when it began had taken;
// all processes then end their warnings. Call it when all parts are done that hold the articles of a window.
// It does nothing, and returns false, if a part has left something out (LeaveOut) or another loss has come;
// and if there was no loss.
func (r *Refill) Cure(ctx context.Context) (cured bool, err error) {
	if more, err := r.LostMore(ctx); err != nil || more {
		return false, err
	}
	last := int64(0)
	for line := range strings.Lines(r.losses) {
		number, _, _ := strings.Cut(line, " ")
		at, _ := strconv.ParseInt(number, 10, 64) // 0: the marker has no loss
		last = max(last, at)
	}
	if last == 0 {
		return false, nil
	}
	err = r.tools.session.Patiently(ctx, "refill", func() error {
		pipe := r.tools.client.Pipeline()
		run, gap := pipe.HGet(ctx, r.key, "run"), pipe.HGet(ctx, r.key, leftOut)
		if err := connection.Execute(ctx, pipe); err != nil {
			return err
		}
		if cured = gap.Err() != nil || !strings.HasPrefix(gap.Val(), run.Val()+" "); !cured {
			return nil
		}
		pipe = r.tools.client.Pipeline()
		pipe.HSet(ctx, r.tools.markers()[0], "cured", last)
		return connection.Execute(ctx, pipe)
	})
	return cured, err
}

// Release gives the part back before its lease ends.
func (r *Refill) Release(ctx context.Context, part string) error {
	return r.tools.session.Patiently(ctx, "refill", func() error {
		pipe := r.tools.client.Pipeline()
		pipe.Expire(ctx, r.key+":"+part, 0)
		return connection.Execute(ctx, pipe)
	})
}

// markers names the markers of the index.
func (t *Tools) markers() []string {
	_, cluster := t.client.(*redis.ClusterClient)
	return t.keys.Markers(cluster)
}
