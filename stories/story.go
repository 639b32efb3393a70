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
	credited   publishers // whom copies name as their origin
	related    []Article  // by time
	labels     []Label    // in the order of compareLabels
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
	s.credited.credit(&c.Article)
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

// Fold keeps the stories of one stream of outputs in memory: some 500 bytes for each article that repeats nothing.
// Not for concurrent use.
type Fold struct {
	rules   *Rules
	roots   map[article.Coordinates]Article
	stories map[article.Coordinates]*Story
	now     time.Time // the latest timestamp
	outputs int64
}

// NewFold returns an empty Fold.
func NewFold(rules *Rules) *Fold {
	return &Fold{rules: rules, roots: map[article.Coordinates]Article{}, stories: map[article.Coordinates]*Story{}}
}

// Add adds the next article with its verdict; see Rules.Describe. Each article is added once.
func (f *Fold) Add(v *article.Verdict, ref article.Ref, content article.Content, at time.Time) {
	a := f.rules.Describe(ref, content, at)
	position := Position{Offset: f.outputs}
	f.outputs++
	if at.After(f.now) {
		f.now = at
	}
	switch root, found := RootOf(v); {
	case !found:
	case v.Kind == article.Unique:
		f.roots[a.Coordinates] = a
	case v.Kind == article.Possible:
		f.roots[a.Coordinates] = a
		f.story(root).Relate(position, a)
	default:
		f.story(root).Add(position, Copy{a, v.Kind == article.Exact, v.Relation}, f.rules)
	}
}

// RootOf returns the root of the story to which a verdict adds its article: that of a copy, and the original that a
// possible copy resembles. It is the article itself if that repeats nothing. A tombstone and a dead letter have none.
func RootOf(v *article.Verdict) (root article.Ref, found bool) {
	if v.Kind == article.Possible {
		return v.Original, true
	}
	return v.Root, v.Root != article.Ref{}
}

func (f *Fold) story(root article.Ref) *Story {
	s := f.stories[root.Coordinates]
	if s == nil {
		s = New(root)
		f.stories[root.Coordinates] = s
	}
	return s
}

// Records returns the records of all stories with copies, the largest first.
func (f *Fold) Records() []Record {
	var all []Record
	for c, s := range f.stories {
		if root, found := f.roots[c]; found {
			s.SetRoot(root)
		}
		if s.Copies() > 0 {
			all = append(all, s.Record(f.now, f.rules))
		}
	}
	slices.SortFunc(all, func(a, b Record) int {
		return cmp.Or(cmp.Compare(b.Copies, a.Copies), cmp.Compare(b.Publishers, a.Publishers),
			a.FirstTime.Compare(b.FirstTime),
			cmp.Compare(a.Root.Coordinates, b.Root.Coordinates))
	})
	return all
}
