package learnt

import (
	"cmp"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"echosieve/pipeline/article"
)

// Everybody is the publisher of a Row that counts for the articles of all publishers.
const Everybody = "*"

// Row is a sentence that a publisher repeats.
type Row struct {
	// Publisher is who repeats it, as article.PublisherOf names publishers: empty for articles that name none. Everybody
	// stands for all.
	Publisher string `json:"publisher"`
	// Hash is that of the clean sentence.
	Hash uint64 `json:"hash"`
	// Sentence is the beginning of the clean sentence, at most MaxSentence bytes, for people.
	Sentence string `json:"sentence"`
	// Articles is how many different articles had it when it was learnt.
	Articles int `json:"articles"`
	// Example names the article with which it was learnt.
	Example article.Coordinates `json:"example"`
	// Begin is from when, and End until when the sentence is left out: of articles with a time in [Begin, End). With a
	// zero Begin it is left out of the articles that follow the example.
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end"`
	// Never says that the sentence is left out of nothing in that time, whatever other rows say.
	Never bool `json:"never,omitempty"`
}

// Hash returns the hash of a clean sentence: xxHash64, https://github.com/Cyan4973/xxHash.
func Hash(clean string) uint64 { return xxhash.Sum64String(clean) }

// MaxSentence is the length of the longest sentence that a Row shows, in bytes.
const MaxSentence = 200

// counts tells whether the row counts for a publisher's articles of a time. All rows count for a text without one.
func (r *Row) counts(publisher string, at time.Time) bool {
	return (r.Publisher == publisher || r.Publisher == Everybody) &&
		(at.IsZero() || !at.Before(r.Begin) && at.Before(r.End))
}

// Rows are the sentences that count. Safe for concurrent use.
type Rows struct {
	mu     sync.RWMutex
	byHash map[uint64][]Row
	count  int
}

// Find iterates over the sentences that are left out of a publisher's article of a time: the place of each among the
// hashes, and the row by which it is. With several rows, the first counts; a row that says never is stronger. A nil
// Rows has none. The Rows are locked until the iteration ends: its body must not call Add.
func (r *Rows) Find(publisher string, at time.Time, hashes ...uint64) iter.Seq2[int, Row] {
	return func(yield func(place int, row Row) bool) {
		if r == nil {
			return
		}
		r.mu.RLock()
		defer r.mu.RUnlock()
		for place, hash := range hashes {
			if row := leaving(r.byHash[hash], publisher, at); row != nil && !yield(place, *row) {
				return
			}
		}
	}
}

// leaving returns that row of a sentence by which Find leaves it out, nil if it does not.
func leaving(rows []Row, publisher string, at time.Time) (first *Row) {
	for i := range rows {
		switch row := &rows[i]; {
		case !row.counts(publisher, at):
		case row.Never:
			return nil
		case first == nil:
			first = row
		}
	}
	return first
}

// Add makes a row count. A row of the same publisher, sentence and begin only moves its end.
func (r *Rows) Add(row Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byHash == nil {
		r.byHash = map[uint64][]Row{}
	}
	rows := r.byHash[row.Hash]
	for i := range rows {
		if rows[i].Publisher == row.Publisher && rows[i].Never == row.Never && rows[i].Begin.Equal(row.Begin) {
			if row.End.After(rows[i].End) {
				rows[i].End = row.End
			}
			return
		}
	}
	r.byHash[row.Hash] = append(rows, row)
	r.count++
}

// fresh appends those sentences of a publisher's article of a time that are to be counted: they have no row, or one
// that must be renewed. It moves the end of the rows in order by which a sentence is left out.
func (r *Rows) fresh(dst []uint64, publisher string, at time.Time, hashes []uint64) []uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, hash := range hashes {
		known, rows := false, r.byHash[hash]
		for i := range rows {
			if row := &rows[i]; row.counts(publisher, at) {
				if end := at.Add(Life); row.Begin.IsZero() && end.After(row.End) {
					row.End = end
				}
				known = known || row.Begin.IsZero() || row.End.Sub(at) > Renewal
			}
		}
		if !known {
			dst = append(dst, hash)
		}
	}
	return dst
}

// Forget removes the rows that ended before a time.
func (r *Rows) Forget(before time.Time) {
	r.forget(func(row Row) bool { return row.End.Before(before) })
}

// forgetInOrder removes those without a begin. The others stay, whatever the timestamp of a record says.
func (r *Rows) forgetInOrder(before time.Time) {
	r.forget(func(row Row) bool { return row.Begin.IsZero() && row.End.Before(before) })
}

func (r *Rows) forget(ended func(Row) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for hash, rows := range r.byHash {
		others := slices.DeleteFunc(rows, ended)
		if r.count += len(others) - len(rows); len(others) == 0 {
			delete(r.byHash, hash)
			continue
		}
		r.byHash[hash] = others
	}
}

// Clear removes all rows.
func (r *Rows) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byHash, r.count = nil, 0
}

// Len is the number of rows.
func (r *Rows) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.count
}

// All returns the rows by publisher, and of each publisher by sentence.
func (r *Rows) All() []Row {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]Row, 0, r.count)
	for _, rows := range r.byHash {
		all = append(all, rows...)
	}
	slices.SortFunc(all, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Publisher, b.Publisher), cmp.Compare(a.Sentence, b.Sentence),
			cmp.Compare(a.Hash, b.Hash), a.Begin.Compare(b.Begin))
	})
	return all
}
