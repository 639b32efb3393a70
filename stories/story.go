// Package stories folds verdicts into stories. A story is an article that repeats nothing, its root, and every
// later article that repeats it. Its Record says how many carried it, who was first, and which copy to show.
//
// A Story is a fold: neither the order in which its copies arrive nor their repetition changes its record. So
// any process can go on where another one has stopped. The package knows neither Kafka nor Redis.
package stories

import (
	"cmp"
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

func comparePartitions(a, b Position) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

// Copy is an article that repeats the root of a story.
type Copy struct {
	Article
	Exact    bool
	Relation article.Relation
}

// Story is the state of one story. The zero Story is empty. Not for concurrent use.
type Story struct {
	root      Article // only its Ref, until SetRoot
	rootAsked bool    // SetRoot was called
	tally             // of the copies
	exact     int
	related   []Article  // by time
	labels    []Label    // in the order of compareLabels
	highest   []Position // by topic and partition
	version   uint64     // grows with each change
}

// tally is what a story keeps of some articles, in whatever order they come.
type tally struct {
	articles    int
	best        candidate
	first, last time.Time
	publishers  publishers
	credited    publishers // whom they name as their origin
}

// add counts an article with a relation to another one, or rootRelation.
func (t *tally) add(a Article, relation string, rules *Rules) {
	if t.articles == 0 || a.Time.Before(t.first) {
		t.first = a.Time
	}
	if t.articles == 0 || a.Time.After(t.last) {
		t.last = a.Time
	}
	t.articles++
	t.best = rules.better(t.best, candidate{Article: a, root: relation == rootRelation})
	one := publisher{name: a.Publisher, articles: 1, first: a.Time, ref: a.Ref, relation: relation}
	if relation == article.Revises.String() || relation == article.Extends.String() {
		one.revisions = 1
	}
	t.publishers.add(one)
	if a.Credit != "" { // here the relation tells where
		t.credited.add(publisher{name: a.Credit, articles: 1, first: a.Time, ref: a.Ref, relation: a.CreditBy})
	}
}

// New returns the empty story of a root.
func New(root article.Ref) *Story { return &Story{root: Article{Ref: root}} }

// NeedsRoot says whether the story has copies, and SetRoot was not called.
func (s *Story) NeedsRoot() bool { return s.articles > 0 && !s.rootAsked }

// Version returns the number of changes.
func (s *Story) Version() uint64 { return s.version }

// Copies returns the number of articles beside the root.
func (s *Story) Copies() int { return s.articles }

// SetRoot adds publisher, title, address, time and length of the root, which the headers of a copy do not tell. An
// article with nothing but its Ref says that the record of the root is gone. Only the first call counts.
func (s *Story) SetRoot(root Article) {
	if !s.rootAsked {
		s.root, s.rootAsked = root, true
		s.version++
	}
}

// Add counts a copy, unless the story has passed its position.
func (s *Story) Add(at Position, c Copy, rules *Rules) {
	if !s.pass(at) {
		return
	}
	if c.Exact {
		s.exact++
	}
	s.add(c.Article, c.Relation.String(), rules)
}

// Relate adds an article that resembles the root without repeating it, unless the story has passed its position.
func (s *Story) Relate(at Position, a Article) bool {
	if !s.pass(at) {
		return false
	}
	i, _ := slices.BinarySearchFunc(s.related, a, byTime)
	s.related = slices.Insert(s.related, i, a)
	s.related = s.related[:min(len(s.related), MaxRelated)]
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
