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
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
)

const (
	batchRecords = 1000
	batchBytes   = 4 << 20
)

// input makes records of the articles of files. The coordinates of a record are the name of its file, the number of the
// run, and the line in which the article begins. Of several in one line each has the next number: two articles with
// equal coordinates would be one, and no copies of each other.
type input struct {
	files.Reader // its columns are those with the time of an article

	released releases
	runs     *runs     // nil: number 0
	began    time.Time // when the file began to be read, in its first run
	clock    time.Time // of the last article that had a time of its own, or began

	bytes   atomic.Int64 // read so far
	unread  files.Tally  // times that could not be read, by form, with an example of each
	noPages files.Tally  // records of web archives without a page
}

// source is the name of the file in coordinates, for each name in its place.
func (in *input) sources() []string {
	sources := make([]string, len(in.Names))
	seen := map[string]int{}
	for i, name := range in.Names {
		if sources[i] = filepath.ToSlash(filepath.Clean(name)); name == "-" {
			sources[i] = "stdin"
		}
		if seen[sources[i]]++; seen[sources[i]] > 1 { // the second time its articles are copies, and no replay
			sources[i] += fmt.Sprintf("#%d", seen[sources[i]])
		}
	}
	return sources
}

// batch holds records, and for each, if it stands for a piece that is none, what is wrong with that.
type batch struct {
	records []record.Record
	faults  []*files.SkipError
	size    int

	prepared *pipeline.Batch // of the records, once that is done
}

// read sends the records of all files in batches to out, which it closes at the end. A batch waits for no more than is
// there to be read. A piece that is no article is a record with a fault. Behind a damaged file the next one is read;
// the error has the faults of all.
func (in *input) read(ctx context.Context, out chan<- batch) error {
	defer close(out)
	sources, runs, last := in.sources(), map[int]*sourceRun{}, make([]int64, len(in.Names))
	in.Through = func(r io.Reader) io.Reader { return files.Counting(r, &in.bytes) }
	var ended []error
	var b batch
	send := func() {
		if len(b.records) > 0 {
			select {
			case out <- b:
			case <-ctx.Done():
			}
		}
		b = batch{}
	}
	for a, err := range in.Articles(ctx) {
		number := max(int64(a.Place), last[a.File]+1)
		it, fault := record.Record{Value: bytes.Clone(a.Value), Coordinates: article.Coordinates{
			Topic: sources[a.File], Offset: number}}, (*files.SkipError)(nil)
		skip := (*files.SkipError)(nil)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return err
		case !errors.As(err, &skip):
			if ended = append(ended, err); runs[a.File] != nil {
				runs[a.File].damaged = true
			}
			send()
			continue
		case skip.NoPage:
			if in.noPages.Add(skip.Cause, in.At(a)); a.Idle {
				send()
			}
			continue
		default:
			if it.Value = bytes.Clone(skip.Line()); it.Value == nil {
				it.Value, fault = []byte{}, skip
			}
		}
		if runs[a.File], err = in.takeUp(runs[a.File], &it); err != nil {
			return err
		}
		in.released.apply(in.Input, &it)
		it.Time, it.Undated = in.timeOf(a)
		last[a.File] = number
		b.records, b.faults, b.size = append(b.records, it), append(b.faults, fault), b.size+it.Size()
		if a.Idle || len(b.records) == batchRecords || b.size >= batchBytes {
			send()
		}
	}
	send()
	return errors.Join(ended...)
}

// takeUp makes a record one of the run of its file, which its first record begins.
func (in *input) takeUp(run *sourceRun, it *record.Record) (*sourceRun, error) {
	if in.runs == nil {
		return nil, nil
	}
	if run == nil {
		var err error
		if run, err = in.runs.begin(it.Topic, it.Value); err != nil {
			return nil, err
		}
		in.began = run.Started
	}
	run.add(it.Value)
	it.Topic, it.Partition = run.Name, run.Number
	return run, nil
}

// timeOf returns the time of an article: its own or, of an undated one, that of the article before it.
func (in *input) timeOf(a files.Article) (at, undated time.Time) {
	at, unread := decode.TimeFields(in.Columns).Find(a.Value)
	if unread != "" {
		in.unread.Add(decode.TimeForm(unread), unread)
	}
	if at = cmp.Or(a.Time, at); at.IsZero() {
		return cmp.Or(in.clock, in.began), in.began
	}
	in.clock = at
	return at, time.Time{}
}
