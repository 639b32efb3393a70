package load

import (
	"context"
	"io"
	"iter"

	"echosieve/internal/app/config"
	"echosieve/internal/app/files"
	"echosieve/internal/app/produce"
	"echosieve/pipeline/record"
)

// lineSource is a Source of files. It makes the same records of their lines as the command produce.
type lineSource struct {
	first *record.Record // read ahead: files without an article are wrong usage
	next  func() (record.Record, error, bool)
	stop  func() // closes the files
	made  Made
}

// newLineSource reads the first record. Lines that are no article are reported to errOut and left out. The caller calls stop.
func newLineSource(ctx context.Context, cfg config.Config, names []string, stdin io.Reader, errOut io.Writer) (*lineSource, error) {
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
