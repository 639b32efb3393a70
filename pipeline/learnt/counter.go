package learnt

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"echosieve/simhash"
)

// Counter counts the sentences of articles, and finds those that publishers repeat. It takes at most 20 MiB, whatever
// comes. Safe for concurrent use.
type Counter struct {
	mu    sync.Mutex
	rows  *Rows
	first []sighting // two places for a sentence: its own, and the one beside it
	read  sighting   // of no meaning
	again map[uint64]sightings
	by    map[uint64]publishers // of a sentence that fewer than Publishers repeat
	most  int                   // sentences with two sightings or more; maxAgain except in tests
	// emptied is the day on which rows were forgotten last, because there were too many.
	emptied uint16
}

const (
	places   = 1 << 19 // of first sightings, 8 bytes each
	maxAgain = 100_000 // about 60 bytes each
	day      = 24 * time.Hour
	lifeDays = int(Life / day)
)

// sighting is a sentence that one article had: 24 bits of its hash, 24 bits of the key of the article (see keyOf), and
// the day. Zero is an empty place.
type sighting uint64

func newSighting(id uint64, key uint32, day uint16) sighting {
	return sighting(id>>40<<40 | uint64(key)<<16 | uint64(day))
}

func (s sighting) is(id uint64) bool { return s != 0 && uint64(s)>>40 == id>>40 }
func (s sighting) key() uint32       { return uint32(s>>16) & 0xffffff }
func (s sighting) day() uint16       { return uint16(s) }

// sightings are the keys of different articles with a sentence, and the last day of each. The order is that in which
// they were seen.
type sightings struct {
	keys [Least - 1]uint32
	days [Least - 1]uint16
	n    uint8
}

// publishers are hashes of those who repeat a sentence.
type publishers struct {
	of [Publishers - 1]uint32
	n  uint8
}

// NewCounter returns a Counter of sentences that the rows do not have yet.
func NewCounter(rows *Rows) *Counter {
	return &Counter{rows: rows, first: make([]sighting, places), again: map[uint64]sightings{},
		by: map[uint64]publishers{}, most: maxAgain}
}

// Count counts an article of a publisher, empty if unknown, by the hashes of its sentences, each of them once. It calls
// learn with each sentence that has now been in Least different articles of the publisher, and again, for Everybody,
// if it is the last of so many publishers.
func (c *Counter) Count(publisher string, at time.Time, sentences []uint64, learn func(publisher string, hash uint64)) {
	if len(sentences) == 0 {
		return
	}
	if publisher == Everybody { // a name that is in a record teaches nothing about others
		publisher = ""
	}
	of, today := simhash.Mix(simhash.Hash(publisher)), dayOf(at)
	c.mu.Lock()
	defer c.mu.Unlock()
	fresh := c.rows.fresh(make([]uint64, 0, 64), publisher, at, sentences) // on the stack, for most articles
	if len(fresh) == 0 {
		return
	}
	for _, hash := range fresh { // read the places beside each other: each is out of the cache
		c.read ^= c.first[simhash.Mix(of^hash)%places]
	}
	lowest, second := lowestOf(fresh)
	for _, hash := range fresh {
		other := lowest
		if hash == lowest {
			other = second
		}
		if id := simhash.Mix(of ^ hash); !c.seen(id, keyOf(other), today) || c.full(at) {
			continue
		}
		learn(publisher, hash)
		if c.repeats(hash, uint32(of)) {
			learn(Everybody, hash)
		}
	}
}

// full tells whether there are as many rows as there may be. Once a day those are forgotten that have ended.
func (c *Counter) full(at time.Time) bool {
	if today := dayOf(at); c.rows.Len() >= MaxRows && c.emptied != today {
		c.emptied = today
		c.rows.forgetInOrder(at)
	}
	return c.rows.Len() >= MaxRows
}

// lowestOf returns the two lowest hashes; the second is 0 if there is one.
func lowestOf(sentences []uint64) (lowest, second uint64) {
	lowest = sentences[0]
	for _, hash := range sentences[1:] {
		switch {
		case hash < lowest:
			lowest, second = hash, lowest
		case second == 0 || hash < second:
			second = hash
		}
	}
	return lowest, second
}

// keyOf tells articles apart: 24 bits of the lowest hash of their other sentences.
func keyOf(other uint64) uint32 { return uint32(simhash.Mix(other) >> 40) }

// dayOf numbers the days. All times before 1970 are one day.
func dayOf(at time.Time) uint16 { return uint16(max(0, at.Unix()) / int64(day/time.Second)) }

// apart is the number of days between two.
func apart(a, b uint16) int { return max(int(a)-int(b), int(b)-int(a)) }

// seen counts a sentence and tells whether Least different articles have it.
func (c *Counter) seen(id uint64, key uint32, today uint16) bool {
	s, known := c.again[id]
	if !known {
		before, found := c.firstSeen(id, key, today)
		if !found {
			return false
		}
		s = sightings{keys: [Least - 1]uint32{before.key()}, days: [Least - 1]uint16{before.day()}, n: 1}
	}
	recent := sightings{}
	for i := range int(s.n) {
		if s.keys[i] != key && apart(s.days[i], today) <= lifeDays {
			recent.keys[recent.n], recent.days[recent.n] = s.keys[i], s.days[i]
			recent.n++
		}
	}
	if int(recent.n) == Least-1 {
		delete(c.again, id)
		return true
	}
	recent.keys[recent.n], recent.days[recent.n] = key, today
	recent.n++
	c.again[id] = recent
	c.forget()
	return false
}

// firstSeen returns the first sighting of a sentence by another article, and takes it out. Otherwise this one is the
// first: it takes an empty place, or that of the older of two others.
func (c *Counter) firstSeen(id uint64, key uint32, today uint16) (before sighting, found bool) {
	own := id % places
	for _, at := range [...]uint64{own, own ^ 1} {
		if s := c.first[at]; s.is(id) {
			if s.key() == key || apart(s.day(), today) > lifeDays {
				c.first[at] = newSighting(id, key, today)
				return 0, false
			}
			c.first[at] = 0
			return s, true
		}
	}
	if c.first[own] != 0 && (c.first[own^1] == 0 || c.first[own^1].day() < c.first[own].day()) {
		own ^= 1
	}
	c.first[own] = newSighting(id, key, today)
	return 0, false
}

// forget makes room when too many sentences are counted: those go that were seen longest ago, and of one day those with
// the higher hashes. So what is forgotten depends on the articles alone.
func (c *Counter) forget() {
	if len(c.again) <= c.most {
		return
	}
	last := func(s sightings) uint16 { return slices.Max(s.days[:s.n]) }
	ids := slices.SortedFunc(maps.Keys(c.again), func(a, b uint64) int {
		return cmp.Or(cmp.Compare(last(c.again[b]), last(c.again[a])), cmp.Compare(a, b))
	})
	for _, id := range ids[c.most*3/4:] {
		delete(c.again, id)
	}
}

// repeats tells whether a publisher is the last of Publishers that repeat a sentence.
func (c *Counter) repeats(hash uint64, publisher uint32) bool {
	p := c.by[hash]
	if slices.Contains(p.of[:p.n], publisher) {
		return false
	}
	if int(p.n) == Publishers-1 {
		delete(c.by, hash)
		return true
	}
	p.of[p.n] = publisher
	p.n++
	if p.n == 1 && len(c.by) >= MaxRows {
		clear(c.by) // what all repeat is learnt later; else one publisher with many sentences would end that for good
	}
	c.by[hash] = p
	return false
}
