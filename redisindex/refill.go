package redisindex

import (
	"context"
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// leaseTime is how long a part of a refill stays with a process that does not note any progress.
const leaseTime = 15 * time.Second

// Refill is the progress of a refill: which processes work at which parts, and how far they have come. It is kept in Redis, below the
// namespace, so that it is lost together with the entries that it speaks of. After a loss that the monitor has noticed, progress from
// before the loss is not used any more.
//
// If two processes work at one part, because one of them stood still for longer than leaseTime, both do the same work twice, and nothing
// else happens.
type Refill struct {
	x      *Index
	owner  string // of leases: this process
	key    string
	losses string // that were known when it began
}

// OpenRefill returns the progress of a refill. The name says what the refill reads. A new refill begins from the start of each part,
// and forgets what other processes have noted under the name.
func (x *Index) OpenRefill(ctx context.Context, name string, anew bool) (*Refill, error) {
	r := &Refill{x: x, owner: rand.Text()}
	var err error
	if r.losses, err = x.losses(ctx); err != nil {
		return nil, err
	}
	h := fnv.New32a()
	fmt.Fprint(h, r.losses) // writing to a hash never fails
	r.key = x.keys.refill(name, h.Sum32())
	if !anew {
		return r, nil
	}
	err = x.patiently(ctx, "refill", func() error {
		pipe := x.client.Pipeline()
		pipe.HSet(ctx, r.key, "run", r.owner)
		pipe.Expire(ctx, r.key, x.layout.lifetime)
		return execute(ctx, pipe)
	})
	return r, err
}

// losses returns the last losses that processes have written into the markers.
func (x *Index) losses(ctx context.Context) (all string, err error) {
	err = x.patiently(ctx, "markers", func() error {
		pipe := x.client.Pipeline()
		var replies []*redis.StringCmd
		for _, key := range x.watermarks.markerKeys {
			replies = append(replies, pipe.HGet(ctx, key, "lost"))
		}
		if err := execute(ctx, pipe); err != nil {
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
	now, err := r.x.losses(ctx)
	return now != r.losses, err
}

// Take takes a part for this process. It returns the position that was noted last, or -1 if there is none. It is not ok if another process
// has the part. A process may take a part again that it has.
func (r *Refill) Take(ctx context.Context, part string) (at int64, ok bool, err error) {
	err = r.x.patiently(ctx, "refill", func() error {
		if err := r.x.ensureScripts(ctx); err != nil {
			return err
		}
		pipe := r.x.client.Pipeline()
		lease := leaseScript.EvalSha(ctx, pipe, []string{r.key + ":" + part}, r.owner, int64(leaseTime/time.Second))
		run, noted := pipe.HGet(ctx, r.key, "run"), pipe.HGet(ctx, r.key, part)
		if err := execute(ctx, pipe); err != nil {
			return err
		}
		n, _ := lease.Val().(int64)
		at, ok = -1, n == 1
		if position, found := strings.CutPrefix(noted.Val(), run.Val()+" "); found {
			if at, err = strconv.ParseInt(position, 10, 64); err != nil {
				at = -1
			}
		}
		return nil
	})
	return at, ok, err
}

// Note notes the position up to which the part is done.
func (r *Refill) Note(ctx context.Context, part string, at int64) error {
	if _, _, err := r.Take(ctx, part); err != nil { // the lease goes on
		return err
	}
	return r.x.patiently(ctx, "refill", func() error {
		pipe := r.x.client.Pipeline()
		run := pipe.HGet(ctx, r.key, "run")
		if err := execute(ctx, pipe); err != nil {
			return err
		}
		pipe = r.x.client.Pipeline()
		pipe.HSet(ctx, r.key, part, run.Val()+" "+strconv.FormatInt(at, 10))
		pipe.Expire(ctx, r.key, r.x.layout.lifetime)
		return execute(ctx, pipe)
	})
}

// Release gives the part back before its lease ends.
func (r *Refill) Release(ctx context.Context, part string) error {
	return r.x.patiently(ctx, "refill", func() error {
		pipe := r.x.client.Pipeline()
		pipe.Expire(ctx, r.key+":"+part, 0)
		return execute(ctx, pipe)
	})
}
