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
	mu   sync.Mutex
	kept []witness
	seen int // articles
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

// AddWitness offers a stored article to the sample of those whose keys are looked at later. Its keys were written after
// the time written. lists are the block lists that lead to its field; it is called only if the article is taken. In a
// full sample the article takes the place of another one, the more rarely the more articles there were.
func (l *Losses) AddWitness(written time.Time, field keyspace.FieldRef, lists func() []keyspace.ListRef) {
	w, lifetime := &l.witnesses, l.keys.Layout.Lifetime
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen++
	place := len(w.kept)
	if place < witnessesKept {
		w.kept = append(w.kept, witness{})
	} else if place = rand.IntN(w.seen); place >= witnessesKept {
		return
	}
	w.kept[place] = witness{field, lists(), written.Add(lifetime - lifetime/50)} // clocks differ
}

// some returns up to n witnesses, chosen at random. It drops those whose keys may have expired.
func (w *witnesses) some(n int, now time.Time) []witness {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = slices.DeleteFunc(w.kept, func(k witness) bool { return !now.Before(k.until) })
	chosen := slices.Clone(w.kept)
	rand.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	return chosen[:min(n, len(chosen))]
}

// forget drops all witnesses.
func (w *witnesses) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept, w.seen = nil, 0
}

// checkWitnesses looks at some witnesses, and returns which kinds of keys they lack.
func (l *Losses) checkWitnesses(ctx context.Context) (lacking []string, err error) {
	asked := l.witnesses.some(witnessesRound, time.Now())
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
		return nil, err
	}
	lists, err := fetched()
	if err != nil {
		return nil, err
	}
	for i, k := range asked {
		var lacks string
		switch {
		case entries[i].Err() != nil:
			lacks = "entries"
		case exist[i].Err() != nil:
			lacks = "slices"
		case slices.ContainsFunc(k.lists, func(ref keyspace.ListRef) bool {
			list := lists[at[ref]] // a list of that length may have lost it, or is not read whole
			return len(list) < keyspace.MaxMembers && !slices.Contains(list, k.field.Fingerprint)
		}):
			lacks = "block lists"
		default:
			continue
		}
		if !slices.Contains(lacking, lacks) {
			lacking = append(lacking, lacks)
		}
	}
	return lacking, nil
}
