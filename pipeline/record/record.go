// Package record holds a Kafka record as package wire reads it and package pipeline works on it: plain data.
package record

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
	// Time is the record timestamp, with millisecond resolution. A timestamp before 1970, or a missing one,
	// counts as 1970 in the window.
	Time time.Time
	// Oversize is set for a record that is larger than the output topics accept. Its value was not read. Key
	// and headers were not read either if they alone are too large.
	Oversize *Oversize
}

// Oversize holds the sizes of a record that was not read whole.
type Oversize struct {
	Bytes      int64 // size of the whole record
	ValueBytes int64 // size of its value; -1: unknown
	// Batch is the memory in bytes that decompressing the record's batch would take, if that is too much;
	// else 0. Then the batch was not decompressed, and nothing of the record is known except its coordinates
	// and the newest timestamp of its batch.
	Batch int64
}

// ValueBytes is the length of the value, even if the value was not read; -1 if it is unknown.
func (r *Record) ValueBytes() int {
	if r.Oversize != nil {
		return int(r.Oversize.ValueBytes)
	}
	return len(r.Value)
}

// Size is the number of bytes of key, value and headers that the record keeps in memory.
func (r *Record) Size() int {
	n := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Key) + len(h.Value)
	}
	return n
}
