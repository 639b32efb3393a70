// Package record holds a Kafka record as package wire reads it and package pipeline works on it: plain data.
package record

import (
	"fmt"
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
	// Undated, unless zero, says that Time is not the record's own: it is when its file began to be read. See
	// article.Article.
	Undated time.Time
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

// RejectReason says why a record became a dead letter. Reasons are label values of metrics, so the list below is
// complete.
type RejectReason string

// The reasons for dead letters.
const (
	NotJSON   RejectReason = "not_json"   // the value is no JSON object
	NotAvro   RejectReason = "not_avro"   // the value does not fit its Avro schema
	NoSchema  RejectReason = "no_schema"  // there is no Avro schema for the value
	NotUTF8   RejectReason = "not_utf8"   // the text is in another encoding
	NoText    RejectReason = "no_text"    // no text field, or a null one
	WrongType RejectReason = "wrong_type" // the text field is not a string
	EmptyText RejectReason = "empty_text" // nothing is left after cleaning
	TooCostly RejectReason = "too_costly" // the text becomes many times as long when it is cleaned
	TooLarge  RejectReason = "too_large"  // with our headers, the record would be too large for an output topic
	Timestamp RejectReason = "timestamp"  // an output topic takes no record with this timestamp
	Refused   RejectReason = "refused"    // an output topic takes no such record for another reason
	// Deleted is the reason of the decoder only: the pipeline treats the record as one with a null value.
	Deleted RejectReason = "deleted" // the envelope reports a deletion
)

// RejectError says why a record can never be processed. The input is bad; trying again does not help.
type RejectError struct {
	Reason RejectReason
	Detail string
}

// Reject returns the error of a record for a reason, with a detail as fmt.Sprintf makes it.
func Reject(reason RejectReason, format string, args ...any) *RejectError {
	return &RejectError{reason, fmt.Sprintf(format, args...)}
}

// NoArticle says why an article that the recipe has made can have no verdict; nil if it can.
func NoArticle(a *article.Article) *RejectError {
	switch {
	case a.TooCostly:
		return Reject(TooCostly, "the text becomes more than twice as long when it is cleaned")
	case a.Empty:
		return Reject(EmptyText, "no letter or digit is left after cleaning")
	}
	return nil
}

func (e *RejectError) Error() string { return string(e.Reason) + ": " + e.Detail }

// IsDeletion says whether the envelope of the record reports a deletion. Such a record counts as one with a null value
// and is no dead letter.
func (e *RejectError) IsDeletion() bool { return e != nil && e.Reason == Deleted }
