package memindex

import (
	"maps"
	"math"
	"slices"
	"time"

	"echosieve/pipeline/article"
)

// window holds the slices of an index, and forgets those that are too old.
type window struct {
	windowMs, sliceMs int64
	arrivals          uint64 // articles stored so far
	stored            int    // articles held now
	sweepAt           int    // number of stored articles at which the next sweep runs
	lastSweep         uint64 // arrivals at the last sweep
	dead              int64  // bytes of the slices forgotten since a folder was copied
	slices            map[int64]*slice
	undated           []int64 // the numbers of slices of undated articles, the newest first
	numbers           []int64 // scratch
}

// minSweep is the number of stored articles below which nothing is forgotten.
const minSweep = 1 << 16

// About the bytes of an article beside its record: in a folder, and for its block lists in memory.
const (
	beside    = 24
	listBytes = 80
)

func newWindow(length time.Duration, slices int) window {
	seconds := (int64(length/time.Second) + int64(slices) - 1) / int64(slices)
	return window{windowMs: length.Milliseconds(), sliceMs: seconds * 1000, sweepAt: minSweep, slices: map[int64]*slice{}}
}

// sliceOf returns the number of the slice of an article, and its time from the start of the slice, in milliseconds. The
// slices of undated articles have numbers below 0.
func (w *window) sliceOf(a *article.Article) (n, rest int64) {
	if !a.Undated.IsZero() {
		return -1 - max(0, a.Undated.UnixMilli())/w.sliceMs, 0
	}
	ms := max(0, a.Time.UnixMilli())
	return ms / w.sliceMs, ms % w.sliceMs
}

// slice returns slice n, which it makes if necessary.
func (w *window) slice(n int64) *slice {
	s := w.slices[n]
	if s == nil {
		s = newSlice(n)
		w.slices[n] = s
		if n < 0 {
			w.undated = append(w.undated, n)
			slices.Sort(w.undated)
		}
	}
	return s
}

// keep stores a record in a slice. Its fingerprint is in the lists already.
func (w *window) keep(s *slice, record []byte) {
	s.store(record)
	s.bytes += int64(len(record)) + beside
	s.lastTicket = w.arrivals
	w.arrivals++
	if w.stored++; w.stored >= w.sweepAt {
		w.sweep()
	}
}

// within returns the numbers of the slices within the window of an article, in order.
func (w *window) within(a *article.Article, ms int64) []int64 {
	if !a.Undated.IsZero() {
		return slices.Sorted(maps.Keys(w.slices))
	}
	w.numbers = append(w.numbers[:0], w.undated...)
	for n := max(0, ms-w.windowMs) / w.sliceMs; n <= (min(ms, math.MaxInt64-w.windowMs)+w.windowMs)/w.sliceMs; n++ {
		w.numbers = append(w.numbers, n)
	}
	return w.numbers
}

// sweep forgets the slices from which no slice in use is within the window. A slice is in use if it got an
// article since the last sweep. The time of a single article says nothing: its clock may be wrong. The newest
// slice of undated articles is always in use.
func (w *window) sweep() {
	var used []int64
	for n, s := range w.slices {
		if s.lastTicket >= w.lastSweep {
			used = append(used, n)
		}
	}
	slices.Sort(used)
	reach := w.windowMs/w.sliceMs + 1
	if len(w.undated) > 0 {
		used = slices.Insert(used, 0, w.undated[0])
	}
	for n, s := range w.slices {
		if i, _ := slices.BinarySearch(used, n-reach); i == len(used) || used[i] > n+reach {
			w.stored -= s.count
			delete(w.slices, n)
			w.dead += s.bytes
		}
	}
	w.undated = slices.DeleteFunc(w.undated, func(n int64) bool { return w.slices[n] == nil })
	w.lastSweep = w.arrivals
	w.sweepAt = max(minSweep, w.stored+w.stored/4)
}

// bytes is about the memory that the articles take.
func (w *window) bytes() (n int64) {
	for _, s := range w.slices {
		n += s.bytes + int64(s.count)*listBytes
	}
	return n
}
