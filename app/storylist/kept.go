package storylist

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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

// keep takes in a record of the topic. The last record of a key counts. Records that no
// projector writes are skipped.
func (l *List) keep(r *record.Record) {
	l.next = r.Offset + 1
	if l.partial && l.since.IsZero() {
		l.since = r.Time
	}
	root := string(r.Key)
	l.stories.Remove(root)
	one := parse(r)
	if one == nil {
		return // such as a null value, by which somebody has deleted the story
	}
	l.stories.Add(root, one)
	for l.bytes += one.bytes; l.stories.Len() > mostStories || l.bytes > mostBytes; {
		_, oldest, _ := l.stories.RemoveOldest()
		l.since = oldest.changed
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
func (l *List) find(root string) *kept {
	if one, found := l.stories.Peek(root); found {
		return one
	}
	for _, one := range slices.Backward(l.stories.Values()) {
		if one.Root.ID == root {
			return one
		}
	}
	return nil
}

// told is the story as it is now.
func (l *List) told(one *kept) stories.Record {
	r := one.Record
	if l.now().Sub(r.LastTime) > l.window {
		r.State = stories.Ended // nobody publishes a story again because it has ended
	}
	return r
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
func (l *List) list(q *query) (first []*kept, matched int) {
	all := slices.DeleteFunc(l.stories.Values(), func(one *kept) bool { return !q.selects(one) })
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
