package watch

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/redisindex/keyspace"
)

// watermarks notices that Redis has forgotten writes. Two kinds of numbers in Redis only grow: the ticket
// counter, and on every node a marker, which processes raise to the time (milliseconds since 1970) every few
// seconds. A process remembers the highest numbers that Redis has shown it. When Redis shows a lower number,
// or none, it has forgotten writes: it was flushed, came back without its data, came back from an older
// snapshot, or failed over to a replica that lacked the latest writes.
//
// The numbers outlive the process in a label beside the committed offsets of the consumer group
// (Label, Recall). So the next start notices a loss that happened while the service was
// stopped. A group without a label, or with the label of another index, says nothing about the numbers of
// this index.
//
// The process that notices a loss writes it into the marker, where the other processes learn of it, and
// raises the numbers again. So each process notices each loss once. The counter must be raised, because
// tickets must not start over below the tickets of existing entries.
//
// A random id for each slice, compared at each look-up, was not used instead: on a cluster it would lie on
// one node only.
//
// Safe for concurrent use.
type watermarks struct {
	client redis.UniversalClient
	keys   keyspace.Keys
	sighted

	mu        sync.Mutex
	recalled  bool      // Recall was called. Before that, raising a marker would hide a loss from other processes.
	lastShown time.Time // when Redis last showed all numbers
	lastLoss  time.Time // when a loss was last noticed, by any process
	markers   []marker
	cured     int64 // a refill has cured the losses up to this number
}

// marker is what a process knows of one marker in Redis.
type marker struct {
	key     string
	highest int64  // the highest number that the marker has held; 0: unknown
	lost    string // its last loss, as marker.lua writes it
	lostAt  int64  // the number of its last loss
	read    bool   // it was read at least once
}

// The scripts of the numbers in Redis.
var (
	//go:embed lua/marker.lua
	markerSource string
	//go:embed lua/counter.lua
	counterSource string

	markerScript  = redis.NewScript(markerSource)
	counterScript = redis.NewScript(counterSource)
)

func newWatermarks(client redis.UniversalClient, keys keyspace.Keys) *watermarks {
	_, cluster := client.(*redis.ClusterClient)
	w := &watermarks{client: client, keys: keys, sighted: sighted{wake: make(chan struct{}, 1)}}
	for _, key := range keys.Markers(cluster) {
		w.markers = append(w.markers, marker{key: key})
	}
	return w
}

// sighted is what claims have seen of Redis. Safe for concurrent use.
type sighted struct {
	highest atomic.Uint64 // the highest ticket that Redis has drawn, as far as this process knows
	fell    atomic.Bool   // Redis has drawn a ticket that is not above all earlier ones
	damaged atomic.Bool   // damage was set aside since the last check
	wake    chan struct{} // makes the monitor check at once
}

// HighestTicket is the highest ticket that Redis has drawn, as far as this process knows.
func (s *sighted) HighestTicket() uint64 { return s.highest.Load() }

// Drawn takes over the tickets from first to last, which Redis has drawn. The argument before is HighestTicket
// when the request was sent. If first is not above before, the counter went back. A comparison with the highest
// ticket that is known when the reply arrives would raise false alarms: another claim may draw later and get its
// reply earlier.
func (s *sighted) Drawn(before, first, last uint64) {
	s.raise(last)
	if first <= before && !s.fell.Swap(true) {
		s.checkNow()
	}
}

// SetAside takes over that damage was set aside.
func (s *sighted) SetAside() {
	if !s.damaged.Swap(true) {
		s.checkNow()
	}
}

func (s *sighted) raise(ticket uint64) {
	for known := s.highest.Load(); known < ticket && !s.highest.CompareAndSwap(known, ticket); {
		known = s.highest.Load()
	}
}

func (s *sighted) checkNow() {
	select {
	case s.wake <- struct{}{}:
	default: // the monitor is woken already
	}
}

// Label returns the id of the index and the highest numbers that Redis has shown, as one word. The caller
// stores the label outside of Redis, beside offsets whose articles the index holds, and gives it to Recall
// after a restart. The label is empty until Redis has shown all numbers.
func (w *watermarks) Label() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	least := w.markers[0].highest
	for _, m := range w.markers {
		least = min(least, m.highest)
	}
	if least == 0 {
		return ""
	}
	return Label{Index: w.keys.ID, Markers: len(w.markers), Seen: time.UnixMilli(least),
		Ticket: w.highest.Load()}.String()
}

// Recall takes the labels that processes of the consumer group have stored, in any order. Labels of other
// indexes are ignored. Until the first call of Recall, the index only reads the markers: if it raised one,
// another process could miss a loss.
func (w *watermarks) Recall(labels []string) {
	now := time.Now()
	w.mu.Lock()
	for _, text := range labels {
		n, ok := ParseLabel(text)
		if !ok || !n.Index.Same(w.keys.ID) || n.Markers != len(w.markers) || now.Sub(n.Seen) > w.keys.Layout.Lifetime {
			continue // of another index (a cluster has 64 markers), or all entries of that time have expired
		}
		w.raise(n.Ticket)
		for i := range w.markers {
			w.markers[i].highest = max(w.markers[i].highest, n.Seen.UnixMilli())
		}
		w.lastShown = now
	}
	first := !w.recalled
	w.recalled = true
	w.mu.Unlock()
	if first {
		w.checkNow()
	}
}

// forgetExpired forgets numbers that may have expired in Redis: Redis was away for that long, or the process
// was stopped. The caller holds mu.
func (w *watermarks) forgetExpired(now time.Time) {
	if w.lastShown.IsZero() || now.Sub(w.lastShown) < w.keys.Layout.Lifetime {
		return
	}
	w.highest.Store(0)
	w.fell.Store(false)
	for i := range w.markers {
		w.markers[i].highest = 0
	}
}

// check reads all numbers in one round trip, raises them, and returns the losses that they show. If it
// returns an error as well, the losses come from the nodes that replied; the other nodes are checked the next
// time.
func (w *watermarks) check(ctx context.Context) ([]loss, error) {
	now := time.Now()
	w.mu.Lock()
	w.forgetExpired(now)
	ticket, known, recalled := w.highest.Load(), slices.Clone(w.markers), w.recalled
	w.mu.Unlock()

	pipe := w.client.Pipeline()
	replies, written := make([]*redis.Cmd, len(known)), make([]int64, len(known))
	for i := range known {
		if recalled {
			written[i] = max(now.UnixMilli(), known[i].highest)
		} else {
			known[i].highest = 0
		}
		replies[i] = markerScript.EvalSha(ctx, pipe, []string{known[i].key}, known[i].highest, written[i],
			w.expirySeconds(), "")
	}
	counter := counterScript.EvalSha(ctx, pipe, []string{w.keys.Sequence()}, ticket, w.expirySeconds())
	_, err := pipe.Exec(ctx)

	var losses []loss
	w.mu.Lock()
	for i, cmd := range replies {
		if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			err = cmd.Err() // of several errors, return the error that the caller can repair
		}
		// A command can have a reply and an error: too few replicas have its write (replication.ProcessPipelineHook).
		if reply, ok := cmd.Val().([]any); ok && len(reply) == 3 && cmd.Err() == nil {
			w.cured = max(w.cured, numberIn(reply[2])) // nil: no refill has
			losses = append(losses, w.markers[i].update(reply, known[i].highest, written[i])...)
		}
	}
	if err == nil {
		w.lastShown = now
	}
	if slices.ContainsFunc(losses, func(l loss) bool { return !l.past }) {
		w.lastLoss = now
	}
	recent := now.Sub(w.lastLoss) < lossQuiet
	w.mu.Unlock()
	held, ok := counter.Val().(int64)
	if !ok || counter.Err() != nil {
		return losses, err
	}
	// A number that another program has written is not learned: it would be written back after the key was moved away.
	if held < 0 || held >= keyspace.Withdrawn {
		return losses, errors.Join(err,
			&keyspace.KeyError{Key: w.keys.Sequence(), Err: fmt.Errorf("the ticket counter is %d", held)})
	}
	w.raise(uint64(held))
	// A loss of a marker is usually a loss of the counter as well, and tickets that were drawn before the
	// counter was raised are remembered for a while. That is the same loss.
	if fell := w.fell.Swap(false); (fell || uint64(held) < ticket) && !recent {
		kind := lossRollback
		if held == 0 {
			kind = lossMissing
		}
		losses = append(losses, loss{kind: kind, at: now, own: true})
		w.mu.Lock()
		w.lastLoss = now
		w.mu.Unlock()
		err = errors.Join(err, w.writeLoss(ctx, kind))
	}
	return losses, err
}

// expirySeconds is how long the numbers in Redis outlive the last check: longer than any entry.
func (w *watermarks) expirySeconds() int64 { return int64(2 * w.keys.Layout.Lifetime / time.Second) }

// update takes over a reply of marker.lua, and returns the loss that is new in it. The script was called with
// the numbers known and written. The caller holds the lock of the watermarks to which the marker belongs.
func (m *marker) update(reply []any, known, written int64) []loss {
	number := numberIn(reply[0]) // nil: the marker did not exist
	m.highest = max(m.highest, number, written)
	lost, _ := reply[1].(string)
	first := !m.read
	m.read = true
	if lost == m.lost {
		return nil
	}
	at, kind, _ := strings.Cut(lost, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	m.lost, m.lostAt = lost, ms
	if err != nil || lossCauses[kind] == "" {
		return nil
	}
	own := number < known
	return []loss{{kind: kind, at: time.UnixMilli(ms), own: own, past: first && !own}}
}

// writeLoss writes a loss into the first marker, where other processes learn of it. It uses a pipeline for
// one command, because only pipelines wait for replicas.
func (w *watermarks) writeLoss(ctx context.Context, kind string) error {
	w.mu.Lock()
	written, recalled := max(time.Now().UnixMilli(), w.markers[0].highest), w.recalled
	w.mu.Unlock()
	if !recalled {
		return errors.New("not before the labels of the group are known")
	}
	pipe := w.client.Pipeline()
	cmd := markerScript.EvalSha(ctx, pipe, []string{w.markers[0].key}, 0, written, w.expirySeconds(), kind)
	_, err := pipe.Exec(ctx)
	if reply, ok := cmd.Val().([]any); err == nil && ok && len(reply) == 3 {
		w.mu.Lock()
		w.markers[0].update(reply, 0, written)
		w.mu.Unlock()
	}
	return err
}

// numberIn is a number in a reply of marker.lua; 0 for nil, and for what another program has written.
func numberIn(field any) int64 {
	text, _ := field.(string)
	number, _ := strconv.ParseInt(text, 10, 64)
	return number
}

// lastLossAt is the number of the last loss in any marker; 0: none. The caller holds mu.
func (w *watermarks) lastLossAt() (last int64) {
	for _, m := range w.markers {
		last = max(last, m.lostAt)
	}
	return last
}

// isCured says whether a refill has cured all losses that the markers name, as they were read last.
func (w *watermarks) isCured() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cured > 0 && w.cured >= w.lastLossAt()
}
