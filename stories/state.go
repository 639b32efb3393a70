package stories

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"echosieve/pipeline/article"
)

// stateVersion is the first byte of a stored state. A state of withoutCredits has neither credits nor labels.
const stateVersion, withoutCredits = 2, 1

// ErrState says that a stored state cannot be read: it is damaged, or a later version has written it.
var ErrState = errors.New("the stored state of a story cannot be read")

// Encode appends the state, for Decode.
func (s *Story) Encode(dst []byte) []byte {
	c := &codec{writes: true, buf: append(dst, stateVersion)}
	s.code(c)
	return c.buf
}

// Decode reads what Encode has written for the story of a root. The error is ErrState: also for a state that no story
// of that root can have, because another program may have written it.
func Decode(state string, root article.Ref) (*Story, error) {
	if len(state) == 0 || state[0] != stateVersion && state[0] != withoutCredits {
		return nil, ErrState
	}
	c, s := &codec{state: state[1:], old: state[0] == withoutCredits}, &Story{}
	s.code(c)
	if c.bad || len(c.state) > 0 || s.root.Coordinates != root.Coordinates || !s.isSound() {
		return nil, ErrState
	}
	return s, nil
}

// isSound says whether the fields are those of a story: lists in order and within their bounds, and times and counts
// that a Record can hold.
func (s *Story) isSound() bool {
	return int(s.best.why) < len(criteria) && s.exact <= s.articles && (s.articles > 0) == (len(s.publishers.named) > 0) &&
		s.publishers.isSound() && s.credited.isSound() && len(s.related) <= MaxRelated &&
		slices.IsSortedFunc(s.highest, comparePartitions) && slices.IsSortedFunc(s.related, byTime) &&
		slices.IsSortedFunc(s.labels, compareLabels) && len(s.labels) <= MaxLabels &&
		!slices.ContainsFunc([]time.Time{s.first, s.last, s.best.Time, s.root.Time}, outsideYears) &&
		!slices.ContainsFunc(s.related, func(a Article) bool { return outsideYears(a.Time) }) &&
		!slices.ContainsFunc(s.labels, func(l Label) bool { return outsideYears(l.Time) })
}

// isSound says whether the lists are in order and within their bounds.
func (p *publishers) isSound() bool {
	for i, one := range p.named {
		if outsideYears(one.first) || one.articles < 1 || one.revisions > one.articles ||
			i > 0 && byFirst(p.named[i-1], one) >= 0 {
			return false
		}
	}
	for i, o := range p.others {
		if outsideYears(time.UnixMilli(o.first)) || o.articles < 1 || o.revisions > o.articles || o.hash >= 1<<hashBits ||
			i > 0 && p.others[i-1].hash >= o.hash {
			return false
		}
	}
	return len(p.named) <= MaxNamed && len(p.others) <= maxOthers && (!p.dropped || len(p.others) == maxOthers) &&
		(len(p.others) == 0 || len(p.named) == MaxNamed)
}

func outsideYears(t time.Time) bool { return !t.Equal(inYears(t)) }

// code writes or reads all fields, in one order.
func (s *Story) code(c *codec) {
	c.uint64(&s.version)
	c.coordinates(&s.root.Coordinates)
	c.topic = s.root.Topic
	c.flag(&s.rootAsked)
	c.article(&s.root)
	number(c, &s.articles)
	number(c, &s.exact)
	c.time(&s.first)
	c.time(&s.last)
	number(c, &s.best.why)
	c.coordinates(&s.best.Coordinates)
	c.article(&s.best.Article)
	for i := range list(c, &s.highest) {
		at := &s.highest[i]
		c.hash(&at.Topic)
		number(c, &at.Partition)
		number(c, &at.Offset)
	}
	s.publishers.code(c)
	for i := range list(c, &s.related) {
		c.coordinates(&s.related[i].Coordinates)
		c.article(&s.related[i])
	}
	if !c.old {
		for i := range list(c, &s.labels) {
			l := &s.labels[i]
			c.text(&l.Label)
			c.text(&l.Text)
			c.time(&l.Time)
		}
		c.text(&s.root.Credit)
		c.text(&s.root.CreditBy)
		s.credited.code(c)
	}
}

func (p *publishers) code(c *codec) {
	for i := range list(c, &p.named) {
		one := &p.named[i]
		c.text(&one.name)
		number(c, &one.articles)
		number(c, &one.revisions)
		c.time(&one.first)
		c.coordinates(&one.ref.Coordinates)
		c.id(&one.ref)
		c.text(&one.relation)
	}
	c.flag(&p.dropped)
	before := uint64(0)
	for i := range list(c, &p.others) {
		o := &p.others[i]
		distance := o.hash - before // hashes are in order: their distances are short
		c.uint64(&distance)
		o.hash = before + distance
		before = o.hash
		c.ms(&o.first)
		number(c, &o.articles)
		number(c, &o.revisions)
	}
}

// codec writes fields at the end of buf, or reads them from the beginning of state. One function for both cannot write
// what it does not read. After a field that cannot be read, bad stays set and all fields are zero.
type codec struct {
	writes, bad bool
	old         bool // the state has neither credits nor labels
	buf         []byte
	state       string
	topic       string // of coordinates that name none
	before      int64  // the time before, in milliseconds: times are written as distances
}

func (c *codec) uint64(v *uint64) {
	if c.writes {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	read, n := binary.Uvarint([]byte(c.state[:min(len(c.state), binary.MaxVarintLen64)]))
	if *v = read; n <= 0 {
		c.fail()
	}
	c.state = c.state[max(0, n):]
}

func (c *codec) fail() { c.bad, c.state = true, "" }

// number writes or reads a number that is not negative: 0 if the state has none.
func number[T ~int | ~int32 | ~int64 | ~uint8 | ~uint32](c *codec, v *T) {
	wide := uint64(*v)
	if c.uint64(&wide); !c.writes {
		if *v = T(wide); uint64(*v) != wide || *v < 0 {
			c.fail()
			*v = 0
		}
	}
}

func (c *codec) flag(v *bool) {
	n := uint64(0)
	if *v {
		n = 1
	}
	c.uint64(&n)
	*v = n == 1
}

// hash writes or reads four bytes.
func (c *codec) hash(v *uint32) {
	switch {
	case c.writes:
		c.buf = binary.LittleEndian.AppendUint32(c.buf, *v)
	case len(c.state) < 4:
		c.fail()
	default:
		*v, c.state = binary.LittleEndian.Uint32([]byte(c.state[:4])), c.state[4:]
	}
}

func (c *codec) text(v *string) {
	n := len(*v)
	if number(c, &n); c.writes {
		c.buf = append(c.buf, *v...)
	} else if n > len(c.state) {
		c.fail()
	} else {
		*v, c.state = c.state[:n], c.state[n:]
	}
}

func (c *codec) ms(v *int64) {
	distance := *v - c.before
	zigzag := uint64(distance)<<1 ^ uint64(distance>>63)
	c.uint64(&zigzag)
	*v = c.before + (int64(zigzag>>1) ^ -int64(zigzag&1))
	c.before = *v
}

func (c *codec) time(v *time.Time) {
	ms := v.UnixMilli()
	c.ms(&ms)
	*v = time.UnixMilli(ms).UTC()
}

// coordinates writes or reads coordinates. Those in the topic of the root name none.
func (c *codec) coordinates(v *article.Coordinates) {
	topic := v.Topic
	if topic == c.topic {
		topic = ""
	}
	c.text(&topic)
	if v.Topic = topic; topic == "" {
		v.Topic = c.topic
	}
	number(c, &v.Partition)
	number(c, &v.Offset)
}

// id writes or reads the id behind the coordinates. An article without an id of its own has them as its id.
func (c *codec) id(v *article.Ref) {
	id := v.ID
	if c.writes && v.Unnamed() {
		id = ""
	}
	if c.text(&id); !c.writes {
		v.ID = id
	}
	if v.ID == "" {
		v.ID = v.String()
	}
}

func (c *codec) article(a *Article) {
	c.id(&a.Ref)
	c.text(&a.Publisher)
	c.text(&a.Title)
	c.text(&a.URL)
	c.time(&a.Time)
	number(c, &a.Length)
}

// list writes or reads the length of a list, and returns the list with that length, and room for one more element. Each
// element takes a byte at least.
func list[T any](c *codec, v *[]T) []T {
	n := len(*v)
	number(c, &n)
	switch {
	case c.writes:
	case n > len(c.state):
		c.fail()
	case n > 0:
		*v = make([]T, n, n+1)
	}
	return *v
}
