package access

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// maxWaiting bounds the requests that wait for the comparison of their password. More get the answer 429:
	// those first that have guessed wrong most often.
	maxWaiting = 128
	// maxWait bounds the wait of one request.
	maxWait = 30 * time.Second
	// maxGuessers bounds the guessers that are remembered, each for guessFor after his last wrong guess.
	maxGuessers, guessFor = 1000, time.Minute
)

// guesser is who tries a password: an address and, if there is such a user, his name.
type guesser struct{ address, user string }

// address returns the address of a client without its port. An address of IPv6 stands for its network: a
// client has billions of them.
func address(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}

// queue lets one comparison of a password run at a time. Whoever has guessed wrong less often comes first, so
// guesses of others hold up a right login by one comparison. Safe for concurrent use; its zero value is
// ready.
type queue struct {
	mu      sync.Mutex
	busy    bool
	waiting []*waiter // in the order of their arrival
	wrong   map[guesser]*guesses
}

type waiter struct {
	from guesser
	turn chan bool // false: he must make room
}

// guesses are the wrong ones of a guesser, and the time of the last.
type guesses struct {
	times int
	last  time.Time
}

// enter waits for its turn, and then returns true. The caller calls leave afterwards. It returns false if too
// many wait, or if ctx ends.
func (q *queue) enter(ctx context.Context, from guesser) bool {
	w := &waiter{from, make(chan bool, 1)}
	q.mu.Lock()
	if !q.busy {
		q.busy = true
		q.mu.Unlock()
		return true
	}
	if len(q.waiting) >= maxWaiting {
		last := q.find(func(a, b int) bool { return a >= b })
		if q.times(q.waiting[last].from) <= q.times(from) {
			q.mu.Unlock()
			return false
		}
		q.waiting[last].turn <- false
		q.waiting = slices.Delete(q.waiting, last, last+1)
	}
	q.waiting = append(q.waiting, w)
	q.mu.Unlock()
	ctx, end := context.WithTimeout(ctx, maxWait)
	defer end()
	select {
	case turn := <-w.turn:
		return turn
	case <-ctx.Done():
	}
	q.mu.Lock()
	at := slices.Index(q.waiting, w)
	if at >= 0 {
		q.waiting = slices.Delete(q.waiting, at, at+1)
	}
	q.mu.Unlock()
	if at < 0 && <-w.turn { // his turn came just now
		q.next()
	}
	return false
}

// leave gives the turn to the next. right says whether the password was right.
func (q *queue) leave(from guesser, right bool) {
	q.mu.Lock()
	switch {
	case right:
		delete(q.wrong, from)
	default:
		q.note(from)
	}
	q.mu.Unlock()
	q.next()
}

func (q *queue) next() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy = len(q.waiting) > 0; !q.busy {
		return
	}
	first := q.find(func(a, b int) bool { return a < b })
	q.waiting[first].turn <- true
	q.waiting = slices.Delete(q.waiting, first, first+1)
}

// find returns the one of those who wait whose wrong guesses come before those of all others.
func (q *queue) find(before func(a, b int) bool) (found int) {
	for i, w := range q.waiting {
		if i > 0 && before(q.times(w.from), q.times(q.waiting[found].from)) {
			found = i
		}
	}
	return found
}

// times returns how often somebody has guessed wrong lately.
func (q *queue) times(from guesser) int {
	if g := q.wrong[from]; g != nil && time.Since(g.last) < guessFor {
		return g.times
	}
	return 0
}

// note counts a wrong guess.
func (q *queue) note(from guesser) {
	if q.wrong == nil {
		q.wrong = map[guesser]*guesses{}
	}
	g := q.wrong[from]
	if g == nil {
		for other, o := range q.wrong { // the old ones, or any that comes first
			if len(q.wrong) < maxGuessers && time.Since(o.last) < guessFor {
				break
			}
			delete(q.wrong, other)
		}
		g = &guesses{}
		q.wrong[from] = g
	}
	if time.Since(g.last) >= guessFor {
		g.times = 0
	}
	g.times++
	g.last = time.Now()
}
