package redisindex

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"echosieve/simhash"
)

// witnesses is a sample of the articles that this process has stored, which shows that Redis has lost keys. The numbers of watermarks show
// what takes back all writes, such as a flush or an older snapshot. They do not show that only entries, block lists or spans were
// deleted. As long as the keys of a witness cannot have expired, each of them must be there and hold the article. So a single witness
// that lacks one is a loss, however rare.
//
// A loss of a small share of the keys shows sooner or later: in each round the monitor looks at witnessesRound of the sample, chosen at
// random. A process that has just started has no witnesses; gaps speaks for the articles from before.
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
	field fieldRef
	lists []listRef
	until time.Time // none of its keys expires before
}

const (
	// witnessesKept is the size of the sample. A witness takes about 300 bytes.
	witnessesKept = 512
	// witnessesRound is the number of witnesses that a round looks at. Each needs about ten commands.
	witnessesRound = 4
)

// add offers an article to the sample: its keys were written after the time written, and live for a lifetime. When the sample is full,
// every other witness goes, and from then on half as many are taken, so that it stays spread over the lifetime of the keys.
func (w *witnesses) add(written time.Time, lifetime time.Duration, field fieldRef, lists func() []listRef) {
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
	gone := map[fieldRef]bool{}
	for _, k := range lost {
		gone[k.field] = true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = slices.DeleteFunc(w.kept, func(k witness) bool { return gone[k.field] })
}

// addWitnesses offers the stored articles of a batch whose steps began at start.
func (b *batch) addWitnesses(start time.Time) {
	for _, t := range b.claimed {
		if t.repeats != nil {
			continue // it has no entry
		}
		b.x.witnesses.add(start, b.x.layout.lifetime, t.field(), func() (lists []listRef) {
			if t.LittleText {
				return nil
			}
			var blocks []simhash.Block
			for _, block := range b.x.layout.plan.AppendStored(blocks, &t.Article) {
				lists = append(lists, listRef{t.span, block.Index, block.Value})
			}
			return lists
		})
	}
}

// checkWitnesses looks at some witnesses; if one lacks a key, at all. It returns those that lack one, and which kinds of keys they lack.
func (x *Index) checkWitnesses(ctx context.Context) (lost []witness, kinds []string, err error) {
	for _, n := range []int{witnessesRound, witnessesKept} {
		lost, kinds, err = x.lackingKeys(ctx, x.witnesses.some(n, time.Now()))
		if err != nil || len(lost) == 0 {
			return nil, nil, err
		}
	}
	return lost, kinds, nil
}

// lackingKeys returns the witnesses that lack a key.
func (x *Index) lackingKeys(ctx context.Context, asked []witness) (lost []witness, kinds []string, err error) {
	pipe := x.client.Pipeline()
	entries, spans := make([]*redis.StringCmd, len(asked)), make([]*redis.StringCmd, len(asked))
	at := map[listRef]int{}
	var refs []listRef
	for i, k := range asked {
		entries[i] = pipe.HGet(ctx, x.keys.entries(k.field), k.field.name())
		spans[i] = pipe.HGet(ctx, x.keys.exists(k.field.span), "")
		for _, ref := range k.lists {
			if _, known := at[ref]; !known {
				at[ref] = len(refs)
				refs = append(refs, ref)
			}
		}
	}
	fetched := x.lists.fetch(ctx, pipe, refs)
	if err := execute(ctx, pipe); err != nil {
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
		case spans[i].Err() != nil:
			lacks = "spans"
		case slices.ContainsFunc(k.lists, func(ref listRef) bool { return !mayHold(lists[at[ref]], k.field) }):
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

// mayHold says whether a list holds the fingerprint of the field, or is so long that it takes no more, or is not read whole.
func mayHold(list string, f fieldRef) bool {
	if len(list) >= min(maxListBytes, maxSetRead*fingerprintBytes) {
		return true
	}
	for ; len(list) >= fingerprintBytes; list = list[fingerprintBytes:] {
		if firstFingerprint(list) == f.fingerprint {
			return true
		}
	}
	return false
}

// gaps counts the candidates without an entry. A list that leads to no entry is harmless by itself: the entry expired before its list, a
// process ended between the two, or is about to store the entry. So only candidates of spans count whose entries cannot have expired.
// If many of them have no entry, the entries were deleted. Safe for concurrent use.
type gaps struct {
	read, missing atomic.Int64 // candidates, and those without an entry, since the count began anew
	expired       atomic.Int64 // without an entry, in other spans
}

// note counts a candidate. The argument kept says whether its entry cannot have expired.
func (g *gaps) note(missing, kept bool, metric prometheus.Counter) {
	switch {
	case kept && missing:
		metric.Inc()
		g.missing.Add(1)
		g.read.Add(1)
	case kept:
		g.read.Add(1)
	case missing:
		g.expired.Add(1)
	}
}

const (
	// gapsLeast is the least number of missing entries that is called a loss.
	gapsLeast = 20
	// gapsShare is the share of missing entries from which on it is called a loss. Ordinarily there are none: 0 of 597,000 candidates in
	// four windows of a minute, with batches that were cut off and repeated. If one batch in 200 is cut off for good, which no
	// redelivery leaves so, 7, 1,097, 1,395 and 1,811 of a million candidates lacked their entries in four runs
	// (BenchmarkOrdinaryGaps). In spans that do not count, where entries expire before their lists, it is up to 56,000 of a million.
	gapsShare = 0.05
	// gapsRead is the number of candidates after which counting begins anew.
	gapsRead = 1000
)

// loss says whether so many candidates lack their entries that these were deleted.
func (g *gaps) loss() bool {
	read, missing := g.read.Load(), g.missing.Load()
	lost := missing >= gapsLeast && float64(missing) >= gapsShare*float64(read)
	if lost || read >= gapsRead {
		g.read.Store(0)
		g.missing.Store(0)
	}
	return lost
}
