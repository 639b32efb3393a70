package storylist

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"echosieve/pipeline/record"
	"echosieve/pipeline/text"
	"echosieve/stories"
)

// kept is the last record of a story.
type kept struct {
	stories.Record
	changed time.Time // the timestamp of the record
	offset  int64     // of the record, which orders the changes of a millisecond, too
	bytes   int
}

// The bytes that a record, each publisher, and each related article or label take beside their texts.
const storyBytes, publisherBytes, rootBytes = 1024, 128, 128

// The bounds of a shelf. 64 MiB of records take some 130 MB.
const (
	mostStories = 20_000
	mostBytes   = 64 << 20
)

// shelf keeps the stories of a topic that have changed last. Not for concurrent use.
type shelf struct {
	id      string                        // of the topic
	next    int64                         // the offset to go on with
	stories *simplelru.LRU[string, *kept] // by the coordinates of the root, in the order in which they have changed
	bytes   int
	partial bool      // the topic holds records before the first one that was read
	since   time.Time // stories that changed earlier may be missing; zero: none is
}

// newShelf returns a shelf without stories, which goes on from an offset of a topic.
func newShelf(id string, next int64) *shelf {
	s := &shelf{id: id, next: next}
	s.stories, _ = simplelru.NewLRU(mostStories+1, // keep removes the oldest; it fails only for sizes below 1
		func(_ string, one *kept) { s.bytes -= one.bytes })
	return s
}

// keep takes in a record of the topic. The last record of a key counts. Records that no
// projector writes are skipped.
func (s *shelf) keep(r *record.Record) {
	s.next = r.Offset + 1
	if s.partial && s.since.IsZero() {
		s.since = r.Time
	}
	root := string(r.Key)
	s.stories.Remove(root)
	one := parse(r)
	if one == nil {
		return // such as a null value, by which somebody has deleted the story
	}
	s.stories.Add(root, one)
	for s.bytes += one.bytes; s.stories.Len() > mostStories || s.bytes > mostBytes; {
		_, oldest, _ := s.stories.RemoveOldest()
		s.since = oldest.changed
	}
}

// parse reads a record of the topic; nil: no projector writes such a record.
func parse(r *record.Record) *kept {
	one := &kept{changed: r.Time, offset: r.Offset}
	if !utf8.Valid(r.Value) || json.Unmarshal(r.Value, &one.Record) != nil || one.Root.Coordinates != string(r.Key) ||
		len(one.ByPublisher) == 0 {
		return nil
	}
	one.bytes = len(r.Value) + storyBytes + publisherBytes*len(one.ByPublisher) +
		rootBytes*(len(one.Related)+len(one.Labels))
	return one
}

// find returns the story of a root by its coordinates or its id; nil if it is not kept. Of several roots with one id,
// the story that changed last is meant.
func (s *shelf) find(root string) *kept {
	if one, found := s.stories.Peek(root); found {
		return one
	}
	for _, one := range slices.Backward(s.stories.Values()) {
		if one.Root.ID == root {
			return one
		}
	}
	return nil
}

// query selects and orders stories. The zero value selects all.
type query struct {
	sort             string
	since            time.Time // of the last article, at least
	title, publisher string    // parts, in lower case
	label            string    // one of its labels
	publishers       int       // at least
	script           string    // of the root's title
	limit            int
	after            string // cursor
}

// orders are the values of the parameter sort. Of two stories that are equal by it, the later one comes first.
var orders = map[string]func(a, b *kept) int{
	"copies":     func(a, b *kept) int { return cmp.Compare(b.Copies, a.Copies) },
	"publishers": func(a, b *kept) int { return cmp.Compare(b.Publishers, a.Publishers) },
	"last":       func(_, _ *kept) int { return 0 },
	"first":      func(a, b *kept) int { return b.FirstTime.Compare(a.FirstTime) },
	"changed":    func(a, b *kept) int { return cmp.Compare(b.offset, a.offset) },
}

// list returns the first stories that a query selects, and how many it selects.
func (s *shelf) list(q *query) (first []*kept, matched int) {
	all := slices.DeleteFunc(s.stories.Values(), func(one *kept) bool { return !q.selects(one) })
	order := orders[q.sort]
	slices.SortFunc(all, func(a, b *kept) int {
		return cmp.Or(order(a, b), b.LastTime.Compare(a.LastTime), cmp.Compare(a.Root.Coordinates, b.Root.Coordinates))
	})
	return all[:min(q.limit, len(all))], len(all)
}

func (q *query) selects(s *kept) bool {
	carried := func(p stories.Publisher) bool { return strings.Contains(strings.ToLower(p.Name), q.publisher) }
	labelled := func(l stories.Label) bool { return l.Label == q.label }
	title := strings.ToLower(s.Root.Title)
	return !s.LastTime.Before(q.since) && s.Publishers >= q.publishers &&
		(q.label == "" || slices.ContainsFunc(s.Labels, labelled)) &&
		(q.script == "" || text.MainScript(title).String() == q.script) &&
		strings.Contains(title, q.title) &&
		(q.publisher == "" || slices.ContainsFunc(s.ByPublisher, carried))
}
