package stories

import (
	"encoding/binary"
	"errors"
)

// stateVersion is the first byte of a stored state.
const stateVersion = 1

// VersionBytes is the longest beginning of a state that holds its version.
const VersionBytes = 1 + binary.MaxVarintLen64

// ErrState says that a stored state cannot be read: it is damaged, or a later version has written it.
var ErrState = errors.New("the stored state of a story cannot be read")

// Encode appends the state, for Decode.
func (s *Story) Encode(dst []byte) []byte {
	c := &codec{writes: true, buf: append(dst, stateVersion)}
	s.code(c)
	return c.buf
}

// Decode reads what Encode has written. The error is ErrState.
func Decode(state string) (*Story, error) {
	if len(state) == 0 || state[0] != stateVersion {
		return nil, ErrState
	}
	c, s := &codec{state: state[1:]}, &Story{}
	s.code(c)
	if c.bad || len(c.state) > 0 || int(s.best.why) >= len(criteria) {
		return nil, ErrState
	}
	return s, nil
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
