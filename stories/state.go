package stories

import (
	"errors"
	"slices"
	"time"

	"echosieve/pipeline/article"
)

// stateVersion is the first byte of a stored state.
const stateVersion = 1

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
	if len(state) == 0 || state[0] != stateVersion {
		return nil, ErrState
	}
	c, s := &codec{state: state[1:]}, &Story{}
	s.code(c)
	if c.bad || len(c.state) > 0 || s.root.Coordinates != root.Coordinates || !s.isSound() {
		return nil, ErrState
	}
	return s, nil
}

// isSound says whether the fields are those of a story: lists in order and within their bounds, and times and counts
// that a Record can hold.
func (s *Story) isSound() bool {
	p := &s.publishers
	times := []time.Time{s.first, s.last, s.best.Time, s.root.Time}
	for i, one := range p.named {
		times = append(times, one.first)
		if one.articles < 1 || one.revisions > one.articles || i > 0 && byFirst(p.named[i-1], one) >= 0 {
			return false
		}
	}
	for i, o := range p.others {
		times = append(times, time.UnixMilli(o.first))
		if o.articles < 1 || o.revisions > o.articles || o.hash >= 1<<hashBits || i > 0 && p.others[i-1].hash >= o.hash {
			return false
		}
	}
	for _, r := range s.related {
		times = append(times, r.Time)
	}
	return int(s.best.why) < len(criteria) && s.exact <= s.copies && (s.copies > 0) == (len(p.named) > 0) &&
		len(p.named) <= MaxNamed && len(p.others) <= maxOthers && (!p.dropped || len(p.others) == maxOthers) &&
		(len(p.others) == 0 || len(p.named) == MaxNamed) && len(s.related) <= MaxRelated &&
		slices.IsSortedFunc(s.highest, comparePartitions) && slices.IsSortedFunc(s.related, byTime) &&
		!slices.ContainsFunc(times, func(t time.Time) bool { return !t.Equal(inYears(t)) })
}

// code writes or reads all fields, in one order.
func (s *Story) code(c *codec) {
	c.uint64(&s.version)
	c.coordinates(&s.root.Coordinates)
	c.topic = s.root.Topic
	c.flag(&s.rootAsked)
	c.article(&s.root)
	number(c, &s.copies)
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
	for i := range list(c, &s.publishers.named) {
		p := &s.publishers.named[i]
		c.text(&p.name)
		number(c, &p.articles)
		number(c, &p.revisions)
		c.time(&p.first)
		c.coordinates(&p.ref.Coordinates)
		c.id(&p.ref)
		c.text(&p.relation)
	}
	c.flag(&s.publishers.dropped)
	before := uint64(0)
	for i := range list(c, &s.publishers.others) {
		o := &s.publishers.others[i]
		distance := o.hash - before // hashes are in order: their distances are short
		c.uint64(&distance)
		o.hash = before + distance
		before = o.hash
		c.ms(&o.first)
		number(c, &o.articles)
		number(c, &o.revisions)
	}
	for i := range list(c, &s.related) {
		c.coordinates(&s.related[i].Coordinates)
		c.article(&s.related[i])
	}
}
