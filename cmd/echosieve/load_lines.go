package main

import (
	"context"
	"errors"
	"io"
	"iter"

	"echosieve/cmd/echosieve/internal/load"
	"echosieve/pipeline"
)

// lineSource gives the lines of files as records, as produce makes them.
type lineSource struct {
	first *pipeline.Record // read ahead: files without an article are wrong usage
	next  func() (pipeline.Record, error, bool)
	stop  func() // closes the files
	made  load.Made
}

// newLineSource reads the first record. Lines that are none are reported to errOut and left out. The caller calls stop.
func newLineSource(ctx context.Context, cfg Config, files []string, stdin io.Reader, errOut io.Writer) (*lineSource, error) {
	p := &lineProducer{cfg: cfg, progress: newProgress(errOut, -1, nil)}
	s := &lineSource{}
	s.next, s.stop = iter.Pull2(p.records(ctx, files, stdin))
	record, err, more := s.next()
	if err == nil && !more {
		err = errNoArticle(files, cfg.Input, p.first)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	s.first = &record
	return s, nil
}

// Next implements load.Source.
func (s *lineSource) Next() (pipeline.Record, error) {
	s.made.Unknown++
	if first := s.first; first != nil {
		s.first = nil
		return *first, nil
	}
	record, err, more := s.next()
	if !more {
		s.made.Unknown--
		return record, io.EOF
	}
	return record, err
}

// Made implements load.Source.
func (s *lineSource) Made() load.Made { return s.made }

var errStopReading = errors.New("no more records are wanted")

// records iterates over the records of the files. An error is the last.
func (p *lineProducer) records(ctx context.Context, files []string, stdin io.Reader) iter.Seq2[pipeline.Record, error] {
	return func(yield func(pipeline.Record, error) bool) {
		for _, file := range files {
			err := p.read(ctx, file, stdin, func(record pipeline.Record, _ bool) error {
				if !yield(record, nil) {
					return errStopReading
				}
				return nil
			})
			if errors.Is(err, errStopReading) {
				return
			}
			if err != nil {
				yield(pipeline.Record{}, err)
				return
			}
		}
		if p.good {
			p.release()
		}
	}
}
