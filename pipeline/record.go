package pipeline

import (
	"time"

	"echosieve/pipeline/article"
)

// Header is one Kafka record header. A nil Value differs from an empty one and is kept as it is.
type Header struct {
	Key   string
	Value []byte
}

// Record is one Kafka record as it was read. Nil Key or Value means null, which differs from empty.
type Record struct {
	article.Coordinates
	Key, Value []byte
	Headers    []Header
	// Time is the record timestamp, with millisecond resolution. Values before 1970 (a missing
	// timestamp among them) count as 1970 in the window.
	Time time.Time
	// Oversize is set for a record larger than what output topics take: its value was passed over, and where key and headers
	// alone are too large these as well.
	Oversize *Oversize
}

// Oversize says what a record was that is not kept whole.
type Oversize struct {
	Bytes      int64 // of the whole record
	ValueBytes int64
}

// valueBytes is the length of the value, kept or not.
func (r *Record) valueBytes() int {
	if r.Oversize != nil {
		return int(r.Oversize.ValueBytes)
	}
	return len(r.Value)
}

// Size is the number of payload bytes that the record keeps in memory: key, value and headers.
func (r *Record) Size() int {
	n := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}
