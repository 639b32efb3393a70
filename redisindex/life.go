package redisindex

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// life is the evidence that Redis still holds what it once held. Two kinds of numbers in Redis only grow: the ticket counter,
// and on every node a marker, which processes raise to the time (milliseconds since 1970) every few seconds. A process
// remembers the highest numbers that Redis has shown it. When Redis shows a lower one, or none, it has forgotten writes: it
// was flushed, has come back without its data, from an older snapshot, or as a replica that lacked the last writes.
//
// The numbers outlive the process in a note beside the group's committed offsets (Note, Recall), so that a loss while the
// service was stopped is noticed at its next start. A group without a note, or with the note of another index (another
// namespace, recipe or layout), makes no claim about this one. Whoever notices a loss writes it into the marker, from where the
// other processes learn of it, and raises the numbers again: so each loss is noticed once by each process.
//
// Safe for concurrent use.
type life struct {
	markerKeys []string
	counterKey string
	index      string        // short name of the index in notes
	lifetime   time.Duration // after this time without a write every entry has expired, and nothing can be lost
	interval   time.Duration // monitorInterval; tests set a shorter one
	highest    atomic.Uint64 // the highest ticket that Redis has drawn, as far as this process knows
	fell       atomic.Bool   // Redis has drawn a ticket that is not above all earlier ones
	damaged    atomic.Bool   // damage was set aside since the last look
	wake       chan struct{} // asks the monitor to look at once

	mu       sync.Mutex
	recalled bool      // what the group remembers is known: before that, raising a marker would destroy evidence
	heard    time.Time // Redis last showed all numbers
	told     time.Time // a loss was last noticed, by whomever
	markers  []marker
}

// marker is what a process knows of one marker in Redis.
type marker struct {
	seen int64  // the highest number that it has held; 0: unknown
	lost string // its last loss, as life.lua writes it
	met  bool   // it was read once
}

func newLife(k keys, l layout, cluster bool) *life {
	names := k.markers(cluster)
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d", k.prefix, len(names)) // a hash never fails
	return &life{
		markerKeys: names, counterKey: k.sequence(), index: strconv.FormatUint(uint64(h.Sum32()), 36), lifetime: l.lifetime,
		interval: monitorInterval,
		wake:     make(chan struct{}, 1), markers: make([]marker, len(names)),
	}
}

// drew hears of tickets that Redis drew. The ticket before is the highest that was known when the request was sent: a first
// ticket that is not above it shows that the counter went back. (The highest known when the reply comes would not do: another
// batch may have drawn later and been answered earlier.)
func (l *life) drew(before, first, last uint64) {
	l.raise(last)
	if first <= before && !l.fell.Swap(true) {
		l.lookNow()
	}
}

// damage hears that damage was set aside.
func (l *life) damage() {
	if !l.damaged.Swap(true) {
		l.lookNow()
	}
}

func (l *life) raise(ticket uint64) {
	for known := l.highest.Load(); known < ticket && !l.highest.CompareAndSwap(known, ticket); {
		known = l.highest.Load()
	}
}

// Note says in a short word without spaces what Redis has shown of the index: to be stored outside of Redis, beside offsets
// whose articles the index holds, and given to Recall later. It is empty as long as too little is known.
func (x *Index) Note() string {
	l := x.life
	l.mu.Lock()
	defer l.mu.Unlock()
	least := l.markers[0].seen
	for _, m := range l.markers {
		least = min(least, m.seen)
	}
	if least == 0 {
		return ""
	}
	return fmt.Sprintf("%s.%d.%d", l.index, least, l.highest.Load())
}

// Recall takes the notes that processes of the group left, in any order; those of other indexes are passed over. Until its
// first call, the index only looks and leaves no mark in Redis by which another process would miss a loss.
func (x *Index) Recall(notes []string) {
	l, now := x.life, time.Now()
	l.mu.Lock()
	for _, note := range notes {
		seen, ticket, ok := l.parse(note)
		if !ok || now.UnixMilli()-seen > l.lifetime.Milliseconds() {
			continue // what was written then has expired
		}
		l.raise(ticket)
		for i := range l.markers {
			l.markers[i].seen = max(l.markers[i].seen, seen)
		}
		l.heard = now
	}
	l.recalled = true
	l.mu.Unlock()
	l.lookNow()
}

func (l *life) lookNow() {
	select {
	case l.wake <- struct{}{}:
	default: // it is asked already
	}
}

// parse reads a note of this index.
func (l *life) parse(note string) (seen int64, ticket uint64, ok bool) {
	parts := strings.Split(note, ".")
	if len(parts) != 3 || parts[0] != l.index {
		return 0, 0, false
	}
	seen, errSeen := strconv.ParseInt(parts[1], 10, 64)
	ticket, errTicket := strconv.ParseUint(parts[2], 10, 47) // half of what a ticket can be: the counter is raised to it
	return seen, ticket, errSeen == nil && errTicket == nil && seen > 0
}

// forgetExpired gives up what is known of numbers that may have expired since: Redis was away for so long, or the process stood
// still. The caller holds mu.
func (l *life) forgetExpired(now time.Time) {
	if l.heard.IsZero() || now.Sub(l.heard) < l.lifetime {
		return
	}
	l.highest.Store(0)
	l.fell.Store(false)
	for i := range l.markers {
		l.markers[i].seen = 0
	}
}

// look reads all numbers in one round trip, raises them, and returns the losses that they show. With an error, what was
// answered counts; the rest is looked at the next time.
func (l *life) look(ctx context.Context, client redis.UniversalClient) ([]loss, error) {
	now := time.Now()
	l.mu.Lock()
	l.forgetExpired(now)
	ticket, known := l.highest.Load(), make([]marker, len(l.markers))
	copy(known, l.markers)
	recalled := l.recalled
	l.mu.Unlock()

	pipe := client.Pipeline()
	shown, written := make([]*redis.Cmd, len(known)), make([]int64, len(known))
	for i := range known {
		if recalled {
			written[i] = max(now.UnixMilli(), known[i].seen)
		} else {
			known[i].seen = 0
		}
		shown[i] = lifeScript.EvalSha(ctx, pipe, l.markerKeys[i:i+1], known[i].seen, written[i], l.expiry(), "")
	}
	counter := counterScript.EvalSha(ctx, pipe, []string{l.counterKey}, ticket, l.expiry())
	_, err := pipe.Exec(ctx)

	var losses []loss
	l.mu.Lock()
	for i, cmd := range shown {
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			err = cmd.Err() // of several errors the one that the caller can mend
		}
		// One that has an error was perhaps answered, but replicas lack it.
		if reply, ok := cmd.Val().([]any); ok && len(reply) == 2 && cmd.Err() == nil {
			losses = append(losses, l.markers[i].show(reply, known[i].seen, written[i])...)
		}
	}
	if err == nil {
		l.heard = now
	}
	if slices.ContainsFunc(losses, func(s loss) bool { return !s.past }) {
		l.told = now
	}
	told := now.Sub(l.told) < lossQuiet
	l.mu.Unlock()
	held, ok := counter.Val().(int64)
	if !ok || counter.Err() != nil {
		return losses, err
	}
	l.raise(uint64(held))
	// With the markers the counter is lost as well, and tickets drawn before it was raised come in for a while.
	if fell := l.fell.Swap(false); (fell || uint64(held) < ticket) && !told {
		kind := lossRollback
		if held == 0 {
			kind = lossMissing
		}
		losses = append(losses, loss{kind: kind, at: now, own: true})
		l.mu.Lock()
		l.told = now
		l.mu.Unlock()
		err = errors.Join(err, l.tell(ctx, client, kind))
	}
	return losses, err
}

// expiry is how long, in seconds, the numbers outlive the last look: longer than any entry.
func (l *life) expiry() int64 { return int64(2 * l.lifetime / time.Second) }

// show takes a reply of life.lua, which was asked with the numbers known and written. The caller holds the lock of the life
// that the marker belongs to.
func (m *marker) show(reply []any, known, written int64) []loss {
	held, _ := reply[0].(string) // nil: there was none
	number, _ := strconv.ParseInt(held, 10, 64)
	m.seen = max(m.seen, number, written)
	lost, _ := reply[1].(string)
	first := !m.met
	m.met = true
	if lost == m.lost {
		return nil
	}
	m.lost = lost
	at, kind, _ := strings.Cut(lost, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil || !slices.Contains(lossKinds, kind) {
		return nil
	}
	own := number < known
	return []loss{{kind: kind, at: time.UnixMilli(ms), own: own, past: first && !own}}
}

// tell writes a loss into the first marker, from where other processes learn of it. A pipeline, because those wait for replicas.
func (l *life) tell(ctx context.Context, client redis.UniversalClient, kind string) error {
	l.mu.Lock()
	written, recalled := max(time.Now().UnixMilli(), l.markers[0].seen), l.recalled
	l.mu.Unlock()
	if !recalled {
		return nil
	}
	pipe := client.Pipeline()
	cmd := lifeScript.EvalSha(ctx, pipe, l.markerKeys[:1], 0, written, l.expiry(), kind)
	_, err := pipe.Exec(ctx)
	if reply, ok := cmd.Val().([]any); err == nil && ok && len(reply) == 2 {
		l.mu.Lock()
		l.markers[0].show(reply, 0, written)
		l.mu.Unlock()
	}
	return err
}

// clusterMarkers is the number of markers on a cluster, evenly over the slots: every master that serves 512 slots in a row
// holds at least one. A master without one loses its data unnoticed.
const clusterMarkers = 64

// slotCount is the number of slots of every Redis Cluster.
const slotCount = 16384

// markers names the markers of an index: one key for each node at least. A single server has one, and so has a namespace
// with a hash tag, all keys of which lie on one node.
func (k keys) markers(cluster bool) []string {
	if !cluster || strings.Contains(k.prefix, "{") {
		return []string{k.prefix + "life"}
	}
	names := make([]string, clusterMarkers)
	for n, missing := 0, clusterMarkers; missing > 0; n++ {
		tag := strconv.Itoa(n)
		if at := slotOf(tag) * clusterMarkers / slotCount; names[at] == "" {
			names[at] = k.prefix + "life:{" + tag + "}"
			missing--
		}
	}
	return names
}

// slotOf is the slot of a hash tag: CRC-16/XMODEM modulo the number of slots, as the cluster specification of Redis says.
func slotOf(tag string) int {
	crc := uint16(0)
	for _, c := range []byte(tag) {
		crc ^= uint16(c) << 8
		for range 8 {
			if carry := crc&0x8000 != 0; carry {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slotCount
}
