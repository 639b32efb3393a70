package stories

import (
	"cmp"
	"slices"
	"time"

	"echosieve/pipeline/article"
)

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
