package learning

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/learnt"
	"echosieve/pipeline/record"
)

const house, sentences = "house", 6

// entry is a record of the simulated topic. removed says that compaction has taken it.
type entry struct {
	record.Record
	appended, removed bool
}

// simulated is a schedule of processes that learn, publish, read, die and decide records, and of a topic that is
// compacted.
type simulated struct {
	*rand.Rand
	now       time.Time
	log       []entry
	underWay  []entry // sent, and not appended yet
	processes []*process
	met       map[int]string
	records   []time.Time
}

// process is one process. Its clock is wrong by skew.
type process struct {
	*book
	skew   time.Duration
	read   int
	number int
}

func (s *simulated) restart(p *process) {
	p.number++
	p.book = newBook(&learnt.Rows{}, fmt.Sprint(p.skew, "/", p.number, "/", s.Uint64()), 7*24*time.Hour)
	p.read = 0
}

// fetch reads the topic up to an offset.
func (s *simulated) fetch(p *process, upTo int) {
	for ; p.read < upTo; p.read++ {
		if e := &s.log[p.read]; !e.removed {
			p.take(&e.Record, e.appended, s.now.Add(p.skew))
		}
	}
	if upTo == len(s.log) {
		p.confirm(s.now.Add(p.skew))
	}
}

// publish sends what a process has learnt. The answer is lost as often as not, and the record comes whenever it comes.
func (s *simulated) publish(p *process) error {
	if p.read < len(s.log) {
		return nil // it reads what it wrote first
	}
	records, done, err := p.next(1, s.now.Add(p.skew))
	if err != nil || len(records) == 0 {
		return err
	}
	for _, r := range records {
		r.Time = s.now.Add(p.skew)
		s.underWay = append(s.underWay, entry{Record: r, appended: s.IntN(10) > 0})
	}
	if s.IntN(2) == 0 {
		done(os.ErrDeadlineExceeded)
		return nil
	}
	for len(s.underWay) > 0 {
		s.append()
	}
	done(nil)
	return nil
}

// append appends the first record that is under way. Unless the topic has CreateTime at this moment, the broker stamps
// it.
func (s *simulated) append() {
	e := s.underWay[0]
	s.underWay = s.underWay[1:]
	if e.appended {
		e.Time = s.now
	}
	s.log = append(s.log, e)
}

func (s *simulated) compact() {
	last := map[string]int{}
	for i := range s.log {
		last[string(s.log[i].Key)] = i
	}
	for i := range s.log {
		s.log[i].removed = s.log[i].removed || last[string(s.log[i].Key)] != i
	}
}

// decide decides a record, and returns how it differs from the time before.
func (s *simulated) decide(p *process, i int) string {
	at := s.records[i]
	if !p.may(at) {
		s.fetch(p, len(s.log))
	}
	if !p.may(at) {
		return ""
	}
	meets := ""
	for hash := range uint64(sentences) {
		if len(maps.Collect(p.rows.Find(house, at, hash+1))) > 0 {
			meets += strconv.FormatUint(hash, 10)
		}
	}
	if before, known := s.met[i]; known && before != meets {
		return fmt.Sprintf("record %d of %s met %q, then %q", i, at, before, meets)
	}
	s.met[i] = meets
	return ""
}

// step does something at random. It returns what is wrong.
func (s *simulated) step() (fault string, err error) {
	s.now = s.now.Add(time.Duration([]int{0, 0, 1, 1, 2, 5, 20, 45}[s.IntN(8)]) * time.Minute)
	p := s.processes[s.IntN(len(s.processes))]
	switch what := s.IntN(100); {
	case what < 10:
		p.learn(&learnt.Row{Publisher: house, Hash: 1 + s.Uint64N(sentences)}, s.now.Add(p.skew))
	case what < 22:
		return "", s.publish(p)
	case what < 26 && len(s.underWay) > 0:
		s.append()
	case what < 44:
		upTo := len(s.log)
		if s.IntN(10) > 6 {
			upTo = p.read + s.IntN(len(s.log)-p.read+1)
		}
		s.fetch(p, upTo)
	case what < 48:
		s.restart(p)
		s.fetch(p, len(s.log))
	case what < 54:
		s.compact()
	case what < 78 || len(s.records) == 0:
		ago := []int{0, 0, 0, 1, 30, 200}[s.IntN(6)] - []int{0, 0, 3, 25}[s.IntN(4)]
		s.records = append(s.records, s.now.Add(-time.Duration(ago)*time.Minute))
	default:
		latest := max(0, len(s.records)-12)
		return s.decide(p, latest+s.IntN(len(s.records)-latest)), nil
	}
	return "", nil
}

// A record that is delivered again, by any process at any time, meets the same rows.
func TestEveryDeliveryMeetsTheSameRows(t *testing.T) {
	for seed := range uint64(1000) {
		s := &simulated{Rand: rand.New(rand.NewPCG(seed, 1)), met: map[int]string{},
			now: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)}
		for range 3 {
			p := &process{skew: time.Duration(s.IntN(7)-3) * time.Minute}
			s.restart(p)
			s.processes = append(s.processes, p)
		}
		for range 400 {
			fault, err := s.step()
			require.NoError(t, err)
			require.Empty(t, fault, "seed %d", seed)
		}
	}
}

// A row counts from the first full hour that is at least an hour after its append, for its life.
func TestBegin(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 20, 0, 0, time.UTC)
	b := newBook(&learnt.Rows{}, "writer", 7*24*time.Hour)
	require.True(t, b.learn(&learnt.Row{Publisher: house, Hash: 1, Sentence: "one"}, at))
	records, done, err := b.next(9, at)
	require.NoError(t, err)
	require.Len(t, records, 1)
	done(nil)
	records[0].Time = at
	require.True(t, b.take(&records[0], true, at))
	for _, c := range []struct {
		at     time.Time
		counts bool
	}{
		{at.Add(99*time.Minute + 59*time.Second), false}, // 11:59:59
		{at.Add(100 * time.Minute), true},                // 12:00
		{at.Add(100*time.Minute + learnt.Life - 1), true},
		{at.Add(100*time.Minute + learnt.Life), false},
	} {
		require.Equal(t, c.counts, len(maps.Collect(b.rows.Find(house, c.at, 1))) > 0, c.at)
	}
	require.Equal(t, at.Add(100*time.Minute), Begin(at))
	require.Equal(t, Begin(at), Begin(at.Add(40*time.Minute)), "a full hour is an hour later")
}

// What was read counts: it is published again only in its last week.
func TestARowIsRenewedInItsLastWeek(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 20, 0, 0, time.UTC)
	b := newBook(&learnt.Rows{}, "writer", 7*24*time.Hour)
	row := learnt.Row{Publisher: house, Hash: 1, Sentence: "one"}
	publishes := func(at time.Time) bool {
		require.True(t, b.learn(&row, at))
		records, done, err := b.next(9, at)
		require.NoError(t, err)
		done(nil)
		for i := range records {
			records[i].Time = at
			require.True(t, b.take(&records[i], true, at))
		}
		return len(records) > 0
	}
	require.True(t, publishes(at))
	require.False(t, publishes(at.Add(time.Minute)))
	require.False(t, publishes(at.Add(23*24*time.Hour)))
	require.True(t, publishes(at.Add(24*24*time.Hour)))
	require.False(t, publishes(at.Add(25*24*time.Hour)))
	require.Equal(t, 2, b.rows.Len())
}

// A row that has been over for a window is removed, once.
func TestRowsThatAreOverAreRemoved(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	old, err := recordOf(&learnt.Row{Publisher: house, Hash: 1, Sentence: "one"}, []byte("key"))
	require.NoError(t, err)
	old.Time = at
	for _, c := range []struct {
		days    int
		removed bool
	}{{37, false}, {38, true}} {
		b := newBook(&learnt.Rows{}, "writer", 7*24*time.Hour)
		now := at.Add(time.Duration(c.days) * 24 * time.Hour)
		require.True(t, b.take(&old, true, now))
		records, done, err := b.next(9, now)
		require.NoError(t, err)
		require.Len(t, records, map[bool]int{true: 1}[c.removed])
		if c.removed {
			require.Nil(t, records[0].Value)
			require.Equal(t, "key", string(records[0].Key))
		}
		done(nil)
		records, _, err = b.next(9, now)
		require.NoError(t, err)
		require.Empty(t, records)
	}
}

// A veto is stronger than every row, from its begin on, and stays.
func TestAVetoStays(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	b := newBook(&learnt.Rows{}, "writer", 7*24*time.Hour)
	for i, r := range []learnt.Row{
		{Publisher: house, Hash: 1, Sentence: "one"}, {Publisher: learnt.Everybody, Hash: 1, Never: true},
	} {
		rec, err := recordOf(&r, keyOf(&r, "writer", i))
		require.NoError(t, err)
		rec.Time = at.Add(time.Duration(i) * 24 * time.Hour)
		require.True(t, b.take(&rec, true, at))
	}
	require.NotEmpty(t, maps.Collect(b.rows.Find(house, at.Add(2*time.Hour), 1)))
	require.Empty(t, maps.Collect(b.rows.Find(house, at.Add(25*time.Hour), 1)))
	require.Empty(t, maps.Collect(b.rows.Find("other", at.Add(1000*24*time.Hour), 1)))
}

// Bytes of others in the topic count for nothing.
func TestForeignRecordsCountForNothing(t *testing.T) {
	at := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	for _, value := range []string{"", "{", "[]", `{"v":1,"hash":1}`, `{"v":2,"hash":-1}`} {
		b := newBook(&learnt.Rows{}, "writer", 7*24*time.Hour)
		require.False(t, b.take(&record.Record{Key: []byte("k"), Value: []byte(value), Time: at}, true, at), value)
		require.Zero(t, b.rows.Len())
	}
}
