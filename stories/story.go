// Package stories folds verdicts into stories. A story is an article that repeats nothing, its root, and every
// later article that repeats it. Its Record says how many carried it, who was first, and which copy to show.
//
// A Story is a fold: neither the order in which its copies arrive nor their repetition changes its record. So
// any process can go on where another one has stopped. The package knows neither Kafka nor Redis.
package stories

import (
	"slices"
	"time"

	"echosieve/pipeline/article"
)

// MaxRelated is the number of related articles that a story keeps: the earliest ones.
const MaxRelated = 16

// Position is the place of an output in its topic. Of each topic and partition, a story must see the outputs in
// the order of their offsets. It skips an offset that it has passed.
type Position struct {
	Topic     uint32 // tells topics apart; a recreated topic has another number
	Partition int32
	Offset    int64
}

// Copy is an article that repeats the root of a story.
type Copy struct {
	Article
	Exact    bool
	Relation article.Relation
}

// Story is the state of one story. The zero Story is empty. Not for concurrent use.
type Story struct {
	root       Article // only its Ref, until SetRoot
	rootAsked  bool    // SetRoot was called
	copies     int
	exact      int
	best       candidate // of the copies
	first      time.Time // of the copies, as last
	last       time.Time
	publishers publishers // of the copies
	related    []Article  // by time
	highest    []Position // by topic and partition
	version    uint64     // grows with each change
}

// New returns the empty story of a root.
func New(root article.Ref) *Story { return &Story{root: Article{Ref: root}} }

// NeedsRoot says whether the story has copies, and SetRoot was not called.
func (s *Story) NeedsRoot() bool { return s.copies > 0 && !s.rootAsked }

// Version returns the number of changes.
func (s *Story) Version() uint64 { return s.version }

// Copies returns the number of articles beside the root.
func (s *Story) Copies() int { return s.copies }

// SetRoot adds publisher, title, address, time and length of the root, which the headers of a copy do not tell. An
// article with nothing but its Ref says that the record of the root is gone. Only the first call counts.
func (s *Story) SetRoot(root Article) {
	if !s.rootAsked {
		s.root, s.rootAsked = root, true
		s.version++
	}
}

// Add counts a copy, unless the story has passed its position. The result says whether it was counted.
func (s *Story) Add(at Position, c Copy, rules *Rules) bool {
	if !s.pass(at) {
		return false
	}
	s.copies++
	if c.Exact {
		s.exact++
	}
	if s.copies == 1 || c.Time.Before(s.first) {
		s.first = c.Time
	}
	if s.copies == 1 || c.Time.After(s.last) {
		s.last = c.Time
	}
	s.best = rules.better(s.best, candidate{Article: c.Article})
	one := publisher{name: c.Publisher, articles: 1, first: c.Time, ref: c.Ref, relation: c.Relation.String()}
	if c.Relation == article.Revises || c.Relation == article.Extends {
		one.revisions = 1
	}
	s.publishers.add(one)
	return true
}

// Relate adds an article that resembles the root without repeating it, unless the story has passed its position.
func (s *Story) Relate(at Position, a Article) bool {
	if !s.pass(at) {
		return false
	}
	i, _ := slices.BinarySearchFunc(s.related, a, byTime)
	if s.related = slices.Insert(s.related, i, a); len(s.related) > MaxRelated {
		s.related = s.related[:MaxRelated]
	}
	return true
}

// pass says whether the story sees a position for the first time.
func (s *Story) pass(at Position) bool {
	i, found := slices.BinarySearchFunc(s.highest, at, comparePartitions)
	switch {
	case !found:
		s.highest = slices.Insert(s.highest, i, at)
	case at.Offset <= s.highest[i].Offset:
		return false
	default:
		s.highest[i].Offset = at.Offset
	}
	s.version++
	return true
}
