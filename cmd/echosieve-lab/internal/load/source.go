package load

import (
	"context"
	"io"
	"iter"

	"echosieve/internal/app/config"
	"echosieve/internal/app/files"
	"echosieve/internal/app/produce"
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

// Made counts articles: originals, near and exact copies. A source of files does not know which are copies,
// and counts all as Unknown.
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

// lineSource is a Source of files. It makes the same records of their lines as the command produce.
type lineSource struct {
	first *record.Record // read ahead: files without an article are wrong usage
	next  func() (record.Record, error, bool)
	stop  func() // closes the files
	made  Made
}

// newLineSource reads the first record. Lines that are no article are reported to errOut and left out. The
// caller calls stop.
func newLineSource(ctx context.Context, cfg config.Config, names []string, stdin io.Reader, errOut io.Writer) (
	*lineSource, error) {
	lines := produce.NewLines(cfg, files.NewProgress(errOut, -1, "", nil))
	s := &lineSource{}
	s.next, s.stop = iter.Pull2(lines.Records(ctx, names, stdin))
	rec, err, _ := s.next()
	if err != nil {
		s.stop()
		return nil, err
	}
	s.first = &rec
	return s, nil
}

// Next implements Source.
func (s *lineSource) Next() (record.Record, error) {
	s.made.Unknown++
	if first := s.first; first != nil {
		s.first = nil
		return *first, nil
	}
	rec, err, more := s.next()
	if !more {
		s.made.Unknown--
		return rec, io.EOF
	}
	return rec, err
}

// Made implements Source.
func (s *lineSource) Made() Made { return s.made }
