package watch

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
)

// witnesses is a sample of the articles that this process has stored, which shows that Redis has lost keys.
// The numbers of watermarks show what takes back all writes, such as a flush or an older snapshot. They do
// not show that only entries, block lists or slices were deleted. As long as the keys of a witness cannot
// have expired, each of them must be there and hold the article. So a single witness that lacks one is a
// loss, however rare.
//
// A loss of a small share of the keys shows sooner or later: in each round the monitor looks at
// witnessesRound of the sample, chosen at random. A process that has just started has no witnesses: entries
// that were deleted during the stop show in the counter of candidates without an entry only.
//
// Safe for concurrent use.
type witnesses struct {
	mu    sync.Mutex
	kept  []witness // the oldest first
	every int       // one of so many articles is kept
	seen  int       // articles since the last one that was kept
}

// witness says where the keys of a stored article are.
type witness struct {
	field keyspace.FieldRef
	lists []keyspace.ListRef
	until time.Time // none of its keys expires before
}

const (
	// witnessesKept is the size of the sample. A witness takes about 300 bytes.
	witnessesKept = 512
	// witnessesRound is the number of witnesses that a round looks at. Each needs about ten commands.
	witnessesRound = 4
)

// add offers an article to the sample: its keys were written after the time written, and live for a lifetime.
// When the sample is full, every other witness goes, and from then on half as many are taken, so that it
// stays spread over the lifetime of the keys.
func (w *witnesses) add(written time.Time, lifetime time.Duration, field keyspace.FieldRef,
	lists func() []keyspace.ListRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen++; w.seen < w.every {
		return
	}
	w.seen = 0
	w.expire(written)
	switch {
	case len(w.kept) == witnessesKept:
		n := 0
		w.kept = slices.DeleteFunc(w.kept, func(witness) bool { n++; return n%2 == 0 })
		w.every = max(1, w.every) * 2
	case len(w.kept) < witnessesKept/4:
		w.every /= 2
	}
	w.kept = append(w.kept, witness{field, lists(), written.Add(lifetime - lifetime/50)}) // clocks differ
}

// expire drops the witnesses whose keys may have expired. The caller holds mu.
func (w *witnesses) expire(now time.Time) {
	w.kept = slices.DeleteFunc(w.kept, func(k witness) bool { return !now.Before(k.until) })
}

// some returns up to n witnesses, chosen at random.
func (w *witnesses) some(n int, now time.Time) []witness {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expire(now)
	chosen := slices.Clone(w.kept)
	rand.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	return chosen[:min(n, len(chosen))]
}

// forget drops witnesses whose keys are lost.
func (w *witnesses) forget(lost []witness) {
	gone := map[keyspace.FieldRef]bool{}
	for _, k := range lost {
		gone[k.field] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = slices.DeleteFunc(w.kept, func(k witness) bool { return gone[k.field] })
}

// checkWitnesses looks at some witnesses; if one lacks a key, at all. It returns those that lack one, and
// which kinds of keys they lack.
func (l *Losses) checkWitnesses(ctx context.Context) (lost []witness, kinds []string, err error) {
	for _, n := range []int{witnessesRound, witnessesKept} {
		lost, kinds, err = l.lackingKeys(ctx, l.witnesses.some(n, time.Now()))
		if err != nil || len(lost) == 0 {
			return nil, nil, err
		}
	}
	return lost, kinds, nil
}

// lackingKeys returns the witnesses that lack a key.
func (l *Losses) lackingKeys(ctx context.Context, asked []witness) (lost []witness, kinds []string, err error) {
	pipe := l.client.Pipeline()
	entries, exist := make([]*redis.StringCmd, len(asked)), make([]*redis.StringCmd, len(asked))
	at := map[keyspace.ListRef]int{}
	var refs []keyspace.ListRef
	for i, k := range asked {
		entries[i] = pipe.HGet(ctx, l.keys.Entries(k.field), k.field.Name())
		exist[i] = pipe.HGet(ctx, l.keys.Exists(k.field.Slice), "")
		for _, ref := range k.lists {
			if _, known := at[ref]; !known {
				at[ref] = len(refs)
				refs = append(refs, ref)
			}
		}
	}
	fetched := l.keys.FetchLists(ctx, pipe, refs)
	if err := connection.Execute(ctx, pipe); err != nil {
		return nil, nil, err
	}
	lists, err := fetched()
	if err != nil {
		return nil, nil, err
	}
	for i, k := range asked {
		var lacks string
		switch {
		case entries[i].Err() != nil:
			lacks = "entries"
		case exist[i].Err() != nil:
			lacks = "slices"
		case slices.ContainsFunc(k.lists, func(ref keyspace.ListRef) bool { return !mayHold(lists[at[ref]], k.field) }):
			lacks = "block lists"
		default:
			continue
		}
		lost = append(lost, k)
		if !slices.Contains(kinds, lacks) {
			kinds = append(kinds, lacks)
		}
	}
	return lost, kinds, nil
}

// mayHold says whether a list holds the fingerprint of the field, or is so long that it may have lost it, or
// is not read whole.
func mayHold(list []simhash.Fingerprint, f keyspace.FieldRef) bool {
	return len(list) >= keyspace.MaxMembers || slices.Contains(list, f.Fingerprint)
}
