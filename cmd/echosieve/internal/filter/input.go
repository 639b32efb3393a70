package filter

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"
	"time"

	"echosieve/app/files"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
)

const (
	batchRecords = 1000
	batchBytes   = 4 << 20
)

// input makes records of the articles of files. The coordinates of a record are the name of its file, the
// number of the run and the number of the article in the file.
type input struct {
	names  []string // "-" is standard input
	stdin  io.Reader
	decode decode.Config
	limit  int // of an article, in bytes
	times  timeFields
	lines  bool      // each line is an article
	runs   *runs     // nil: number 0
	clock  time.Time // of the last article that had a time of its own, or the start of the run

	bytes   atomic.Int64 // read so far
	notes   files.Tally  // articles that were read otherwise than they are written
	unread  files.Tally  // times that could not be read, by form, with an example of each
	noPages files.Tally  // records of web archives without a page
}

// source is the name of the file in coordinates, for each name in its place.
func (in *input) sources() []string {
	sources := make([]string, len(in.names))
	seen := map[string]int{}
	for i, name := range in.names {
		if sources[i] = filepath.ToSlash(filepath.Clean(name)); name == "-" {
			sources[i] = "stdin"
		}
		if seen[sources[i]]++; seen[sources[i]] > 1 { // the second time its articles are copies, and no replay
			sources[i] += fmt.Sprintf("#%d", seen[sources[i]])
		}
	}
	return sources
}

// read calls take for each record of all files, until that returns false. A piece that is no article is a record
// with a fault. Behind a damaged file the next one is read; the error has the faults of all.
func (in *input) read(ctx context.Context, take func(item) bool) error {
	sources := in.sources()
	r := &files.Reader{Names: in.names, Stdin: in.stdin, Limit: in.limit, Input: in.decode, Columns: in.times, Lines: in.lines,
		Through: func(r io.Reader) io.Reader { return files.Counting(r, &in.bytes) }}
	var ended []error
	current := map[int]*sourceRun{}
	for a, err := range r.Articles(ctx) {
		it := item{Record: record.Record{Value: bytes.Clone(a.Value), Coordinates: article.Coordinates{
			Topic: sources[a.File], Offset: int64(a.Place)}}}
		run := current[a.File]
		skip := (*files.SkipError)(nil)
		switch {
		case errors.As(err, &skip) && skip.NoPage:
			in.noPages.Add(skip.Cause, r.At(a))
			continue
		case skip != nil:
			if it.Value = bytes.Clone(skip.Line()); it.Value == nil {
				it.Value, it.fault = []byte{}, skip.Error()
			}
		case err != nil && ctx.Err() == nil:
			ended = append(ended, err)
			if run != nil {
				run.damaged = true
			}
			continue
		case err != nil:
			return err
		}
		if a.Note != "" {
			in.notes.Add(a.Note, r.At(a))
		}
		if in.runs != nil {
			if run == nil {
				if run, err = in.runs.begin(it.Topic, it.Value); err != nil {
					return err
				}
				current[a.File] = run
				if in.clock.IsZero() {
					in.clock = run.Started
				}
			}
			run.add(it.Value)
			it.Topic, it.Partition = run.Name, run.Number
		}
		at, unread := in.times.find(a.Value)
		if unread != "" {
			in.unread.Add(decode.TimeForm(unread), unread)
		}
		if at = cmp.Or(a.Time, at); !at.IsZero() {
			in.clock = at
		}
		if it.Time = in.clock; !take(it) {
			return nil
		}
	}
	return errors.Join(ended...)
}

// item is a record, or in place of one what is wrong with a piece of a file.
type item struct {
	record.Record
	fault string
}

// batch holds records, and for each the fault that item has.
type batch struct {
	records []record.Record
	faults  []string
	size    int
}

// batches sends the records of all files in batches to out, which it closes at the end. A record waits for
// others only while nobody receives.
func (in *input) batches(ctx context.Context, out chan<- batch) error {
	defer close(out)
	items := make(chan item, 16)
	var failed error // set before items is closed
	go func() {
		defer close(items)
		failed = in.read(ctx, func(it item) bool {
			select {
			case items <- it:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	var b batch
	for more := true; more || len(b.records) > 0; {
		from, to := items, out
		if !more || len(b.records) == batchRecords || b.size >= batchBytes {
			from = nil
		}
		if len(b.records) == 0 {
			to = nil
		}
		select {
		case it, ok := <-from:
			if more = ok; ok {
				b.records, b.faults = append(b.records, it.Record), append(b.faults, it.fault)
				b.size += it.Size()
			}
		case to <- b:
			b = batch{}
		case <-ctx.Done():
			return nil
		}
	}
	return failed
}
