package stories

import (
	"encoding/binary"
	"time"

	"echosieve/pipeline/article"
)

// codec writes fields at the end of buf, or reads them from its beginning. One function for both cannot write what it
// does not read. After a field that cannot be read, bad stays set and all fields are zero.
type codec struct {
	writes, bad bool
	buf         []byte
	topic       string // of coordinates that name none
	before      int64  // the time before, in milliseconds: times are written as distances
}

func (c *codec) uint64(v *uint64) {
	if c.writes {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	value, n := binary.Uvarint(c.buf)
	if *v = value; n <= 0 {
		c.fail()
		return
	}
	c.buf = c.buf[n:]
}

func (c *codec) fail() { c.bad, c.buf = true, nil }

// number writes or reads a number that is not negative.
func number[T ~int | ~int32 | ~int64 | ~uint8 | ~uint32](c *codec, v *T) {
	wide := uint64(*v)
	if c.uint64(&wide); !c.writes {
		if *v = T(wide); uint64(*v) != wide || *v < 0 {
			c.fail()
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
	case len(c.buf) < 4:
		c.fail()
	default:
		*v, c.buf = binary.LittleEndian.Uint32(c.buf), c.buf[4:]
	}
}

func (c *codec) text(v *string) {
	n := len(*v)
	if number(c, &n); c.writes {
		c.buf = append(c.buf, *v...)
	} else if n > len(c.buf) {
		c.fail()
	} else {
		*v, c.buf = string(c.buf[:n]), c.buf[n:]
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
	if id == v.String() {
		id = ""
	}
	c.text(&id)
	if v.ID = id; id == "" {
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

// list writes or reads the length of a list, and returns the list with that length. Each element takes a byte at least.
func list[T any](c *codec, v *[]T) []T {
	n := len(*v)
	number(c, &n)
	switch {
	case c.writes:
	case n > len(c.buf):
		c.fail()
	case n > 0:
		*v = make([]T, n)
	}
	return *v
}
