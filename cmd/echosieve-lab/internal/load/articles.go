package load

import (
	"echosieve/pipeline/record"
	"echosieve/sample"
)

// Source returns the records to publish, with key and value. It is not used concurrently.
type Source interface {
	// Next returns the next record; io.EOF after the last one.
	Next() (record.Record, error)
	// Made counts the records that Next has returned.
	Made() Made
}

// Made counts articles: originals, near and exact copies. A source of files does not know which are copies, and counts all as Unknown.
type Made struct {
	Originals int `json:"originals"`
	Near      int `json:"near_copies"`
	Exact     int `json:"exact_copies"`
	Unknown   int `json:"unknown"`
}

func (m Made) minus(n Made) Made {
	return Made{m.Originals - n.Originals, m.Near - n.Near, m.Exact - n.Exact, m.Unknown - n.Unknown}
}

// feedSource is a Source without end: invented articles.
type feedSource struct{ *sample.Feed }

// Next never fails.
func (s feedSource) Next() (record.Record, error) {
	id, value := s.Feed.Next()
	return record.Record{Key: []byte(id), Value: value}, nil
}

// Made implements Source.
func (s feedSource) Made() Made {
	m := s.Feed.Made()
	return Made{Originals: m.Originals, Near: m.Near, Exact: m.Exact}
}
