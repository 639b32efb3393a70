package filter

import (
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

	// skipped is the header of a record in place of a piece of a file that is no article; its value says why.
	skipped = "skipped"
)

// input makes records of the articles of files. The coordinates of a record are the name of its file, the
// number of the run and the number of the article in the file.
type input struct {
	names  []string // "-" is standard input
	stdin  io.Reader
	decode decode.Config
	limit  int // of an article, in bytes
	times  timeFields
	runs   map[string]sourceRun // by source; nil: number 0
	clock  time.Time            // of the last article that had a time of its own, or the start of the run

	bytes atomic.Int64 // read so far
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

// read calls take for each record of all files, until that returns false.
func (in *input) read(ctx context.Context, take func(record.Record) bool) error {
	for i, source := range in.sources() {
		if err := in.readFile(ctx, in.names[i], source, take); err != nil {
			return err
		}
	}
	return nil
}

func (in *input) readFile(ctx context.Context, name, source string, take func(record.Record) bool) error {
	file := in.stdin
	if name != "-" {
		f, err := files.Open(name, files.HoldsArticles)
		if err != nil {
			return err
		}
		defer f.Close()
		file = f
	}
	articles, err := files.NewArticleReader(files.Counting(file, &in.bytes), in.limit, in.decode)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	defer articles.Close()
	if in.clock.IsZero() {
		in.clock = in.runs[source].started
	}
	for ctx.Err() == nil {
		value, number, err := articles.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		r := record.Record{Coordinates: article.Coordinates{Topic: source, Partition: in.runs[source].number,
			Offset: int64(number)}}
		skip := (*files.SkipError)(nil)
		switch {
		case errors.As(err, &skip) && skip.Kind == files.NoPage:
			continue
		case skip != nil:
			r.Value, r.Headers = []byte{}, []record.Header{{Key: skipped, Value: []byte(skip.Error())}}
		case err != nil:
			return fmt.Errorf("%s:%d: read: %w", source, number, err)
		default:
			r.Value = append(make([]byte, 0, len(value)), value...)
		}
		if at := articles.Time(); !at.IsZero() {
			in.clock = at
		} else if at, ok := in.times.find(value); ok {
			in.clock = at
		}
		if r.Time = in.clock; !take(r) {
			return nil
		}
	}
	return nil
}

// batches sends the records of all files in batches to out, which it closes at the end. A record waits for
// others only while nobody receives.
func (in *input) batches(ctx context.Context, out chan<- []record.Record) error {
	defer close(out)
	records := make(chan record.Record, 16)
	var failed error // set before records is closed
	go func() {
		defer close(records)
		failed = in.read(ctx, func(r record.Record) bool {
			select {
			case records <- r:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	var batch []record.Record
	size := 0
	for more := true; more || len(batch) > 0; {
		from, to := records, out
		if !more || len(batch) == batchRecords || size >= batchBytes {
			from = nil
		}
		if len(batch) == 0 {
			to = nil
		}
		select {
		case r, ok := <-from:
			if more = ok; ok {
				batch, size = append(batch, r), size+r.Size()
			}
		case to <- batch:
			batch, size = nil, 0
		case <-ctx.Done():
			return nil
		}
	}
	return failed
}
