package learnt

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// learner counts articles and makes what it learns count at once.
type learner struct {
	*Counter
	rows   *Rows
	learnt []string // "publisher hash", in order
}

func newLearner() *learner {
	rows := &Rows{}
	return &learner{Counter: NewCounter(rows), rows: rows}
}

// count counts an article and returns how many rows it taught.
func (l *learner) count(publisher string, at time.Time, sentences ...uint64) int {
	before := len(l.learnt)
	l.Count(publisher, at, sentences, func(of string, hash uint64) {
		l.learnt = append(l.learnt, fmt.Sprint(of, " ", hash))
		l.rows.Add(Row{Publisher: of, Hash: hash, Articles: Least, End: at.Add(Life)})
	})
	return len(l.learnt) - before
}

// own is a sentence that no other article has.
func own(i int) uint64 { return simhash.Mix(uint64(i)+1) | 1<<63 }

const notice = uint64(77) // lower than all own sentences

func TestFifthArticleTeaches(t *testing.T) {
	l := newLearner()
	for i := range Least - 1 {
		require.Zero(t, l.count("a", start, notice, own(i)), i)
		require.Zero(t, l.count("b", start, own(100+i), notice), "other publishers count for themselves")
	}
	require.Equal(t, 1, l.count("a", start, notice, own(4)))
	require.Equal(t, []string{"a 77"}, l.learnt)
	require.NotEmpty(t, maps.Collect(l.rows.Find("a", start, notice)))
	require.Empty(t, maps.Collect(l.rows.Find("b", start, notice)))
	for i := range 3 * Least {
		require.Zero(t, l.count("a", start, notice, own(10+i)), "it is known")
	}
}

// Copies share their other sentences, in whole or mostly, so twenty of them are one article.
func TestCopiesTeachNothing(t *testing.T) {
	l := newLearner()
	for i := range 20 {
		require.Zero(t, l.count("a", start.Add(time.Duration(i)*time.Hour), notice, own(1), own(2), own(3)))
		require.Zero(t, l.count("a", start, notice), "alone, a sentence is one article")
		require.Zero(t, l.count("a", start, notice, 78, own(100+i)), "two that stand together vouch for each other once")
	}
}

// Of a notice of several sentences below short articles, all are learnt: what is learnt vouches for no other sentence.
func TestAllOfANoticeIsLearnt(t *testing.T) {
	l, hashes := newLearner(), []uint64{1 << 61, 4 << 61, 7 << 61}
	for i := range 4 * Least {
		l.count("a", start, append(hashes, simhash.Mix(uint64(i)))...)
	}
	require.Len(t, l.learnt, 3)
	for range 20 { // copies teach nothing now, either
		require.Zero(t, l.count("a", start, append(hashes, own(1000), own(1001))...))
	}
}

func TestThreePublishersTeachAll(t *testing.T) {
	l := newLearner()
	for p := range Publishers {
		require.Empty(t, maps.Collect(l.rows.Find("d", start, notice)))
		for i := range Least {
			l.count(string(rune('a'+p)), start, notice, own(10*p+i))
		}
	}
	require.Equal(t, []string{"a 77", "b 77", "c 77", "* 77"}, l.learnt)
	require.Equal(t, Everybody, maps.Collect(l.rows.Find("d", start, notice))[0].Publisher)
	require.NotEmpty(t, maps.Collect(l.rows.Find("", start, notice)), "and those that name none")
}

// Five articles count that lie within Life of the last one, in whatever order they come.
func TestOldArticlesDoNotCount(t *testing.T) {
	l := newLearner()
	const apart = Life/Least + 2*day // of five, the first is too old
	for i := range 40 {
		require.Zero(t, l.count("slow", start.Add(time.Duration(i)*apart), notice, own(i)))
		require.Zero(t, l.count("backwards", start.Add(-time.Duration(i)*apart), notice, own(i)))
	}
	taught := 0
	for i := range Least {
		taught += l.count("monthly", start.Add(time.Duration(i)*Life/Least), notice, own(i))
	}
	require.Equal(t, 1, taught)
}

func TestRows(t *testing.T) {
	rows := &Rows{}
	at := func(days int) time.Time { return start.Add(time.Duration(days) * day) }
	finds := func(publisher string, when time.Time) bool {
		return len(maps.Collect(rows.Find(publisher, when, notice))) > 0
	}
	require.False(t, finds("a", start))
	rows.Add(Row{Publisher: "a", Hash: notice, Begin: at(1), End: at(10)})
	rows.Add(Row{Publisher: "a", Hash: notice, Begin: at(20), End: at(30)})
	rows.Add(Row{Publisher: "a", Hash: notice, Begin: at(20), End: at(25)}) // says nothing new
	require.Equal(t, 2, rows.Len())
	for day, want := range map[int]bool{0: false, 1: true, 9: true, 10: false, 19: false, 20: true, 29: true, 30: false} {
		require.Equal(t, want, finds("a", at(day)), day)
	}
	require.True(t, finds("a", time.Time{}), "all rows count for a text without a record")
	require.False(t, finds("", start))
	rows.Forget(at(15))
	require.False(t, finds("a", at(5)))
	require.True(t, finds("a", at(22)))
	rows.Forget(at(31))
	require.Zero(t, rows.Len())
	require.Empty(t, rows.All())
	require.Empty(t, maps.Collect((*Rows)(nil).Find("a", start, notice)))
}

// A sentence that is repeated stays left out; one that is not comes back after Life, and is learnt again.
func TestRowLastsWhileItIsRepeated(t *testing.T) {
	l := newLearner()
	now := start
	for i := range Least {
		l.count("a", now, notice, own(i))
	}
	for i := range 10 {
		now = now.Add(Life - day)
		l.count("a", now, notice, own(100+i))
		require.NotEmpty(t, maps.Collect(l.rows.Find("a", now.Add(Life-day), notice)))
	}
	now = now.Add(Life)
	require.Empty(t, maps.Collect(l.rows.Find("a", now, notice)))
	for i := range Least - 1 {
		require.Zero(t, l.count("a", now, notice, own(200+i)))
	}
	require.Equal(t, 1, l.count("a", now, notice, own(300)))
}

// crowd is what hostile streams bring: many publishers, each with sentences of its own, some of them in several articles.
func crowd(l *learner, publishers, sentences, articles int) {
	for a := range articles {
		for p := range publishers {
			mine := make([]uint64, 0, sentences+1)
			for s := range sentences {
				mine = append(mine, simhash.Mix(uint64(p)<<20|uint64(s)))
			}
			l.count(fmt.Sprint("publisher ", p), start.Add(time.Duration(a)*time.Hour),
				append(mine, own(a*publishers+p))...)
		}
	}
}

// However many sentences stand in four articles, and whatever is forgotten of them, none is learnt.
func TestNothingIsLearntTooEarly(t *testing.T) {
	for _, c := range [][2]int{{1, 200_000}, {20_000, 10}} {
		l := newLearner()
		crowd(l, c[0], c[1], Least-1)
		require.Empty(t, l.learnt)
	}
}

// With 100,000 publishers, a million sentences and as many rows as there may be, all of it takes less than 24 MiB.
func TestMemory(t *testing.T) {
	const most = 24 << 20
	for _, c := range [][2]int{{1, 1_000_000}, {100_000, 10}} {
		before := heap()
		l := newLearner()
		crowd(l, c[0], c[1], 3)
		for i := range MaxRows {
			l.rows.Add(Row{Publisher: fmt.Sprint("publisher ", i), Hash: own(i), Articles: Least, End: start.Add(Life),
				Sentence: strings.Repeat("x", MaxSentence), Example: article.Coordinates{Topic: "articles", Offset: 1}})
			l.repeats(own(i), 1)
		}
		taken := heap() - before
		require.Less(t, taken, int64(most), c)
		require.Greater(t, taken, int64(4<<20), "the test measures nothing")
		runtime.KeepAlive(l)
	}
}

// heap returns how much memory is in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Beyond MaxRows nothing is learnt until rows have ended.
func TestRowsAreBounded(t *testing.T) {
	l := newLearner()
	for i := range MaxRows {
		l.rows.Add(Row{Publisher: "other", Hash: own(i), End: start.Add(Life)})
	}
	teach := func() (taught int) {
		for i := range Least {
			taught += l.count("a", start, notice, own(i))
		}
		return taught
	}
	require.Zero(t, teach())
	l.rows.Forget(start.Add(2 * Life))
	require.Equal(t, 1, teach())
}

// A publisher that repeats very many sentences does not keep others from teaching all.
func TestManySentencesOfOnePublisher(t *testing.T) {
	l := newLearner()
	for i := range MaxRows {
		require.False(t, l.repeats(own(i), 1))
	}
	for p := range uint32(Publishers) {
		require.Equal(t, p == Publishers-1, l.repeats(notice, 10+p))
	}
	require.LessOrEqual(t, len(l.by), MaxRows)
}

// What is learnt and forgotten depends on the articles alone, not on the order of maps.
func TestSameArticlesTeachTheSame(t *testing.T) {
	stream := func() []string {
		l := newLearner()
		l.most = 100
		for i := range 3000 {
			p := i % 7
			l.count(fmt.Sprint(p), start.Add(time.Duration(i)*time.Hour), own(i), uint64(i%(50+p)), uint64(i%(90+p)),
				uint64(i%(200+p)))
		}
		return l.learnt
	}
	first := stream()
	require.NotEmpty(t, first)
	for range 3 {
		require.Equal(t, first, stream())
	}
}

// Several goroutines count and look up at a time; a sentence is learnt once.
func TestConcurrent(t *testing.T) {
	rows := &Rows{}
	c := NewCounter(rows)
	var learnt sync.Map
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			for i := range 200 {
				c.Count("a", start, []uint64{notice, own(1000*w + i)}, func(of string, hash uint64) {
					_, twice := learnt.LoadOrStore(of+fmt.Sprint(hash), true)
					if twice {
						t.Error("learnt twice")
					}
					rows.Add(Row{Publisher: of, Hash: hash, End: start.Add(Life)})
				})
				_ = maps.Collect(rows.Find("a", start, notice))
				rows.All()
			}
		})
	}
	workers.Wait()
	require.Equal(t, 1, rows.Len())
}
