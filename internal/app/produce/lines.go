package produce

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"echosieve/internal/app/command"
	"echosieve/internal/app/config"
	"echosieve/internal/app/files"
	"echosieve/pipeline"
	"echosieve/pipeline/record"
)

// recordOverhead is more than a record batch of one record needs besides key and value, in bytes.
const recordOverhead = 128

// mostHeld is the number of bad lines that are held back while there is no good line. See badLine.
const mostHeld = 100

// Lines turns the lines of files into records. Not for concurrent use.
type Lines struct {
	input    pipeline.DecodeConfig
	limit    int  // of a record's size, in bytes
	strict   bool // a bad line ends the reading
	progress *files.Progress

	good  bool     // a line was an article
	first string   // fault of the first line that was no article
	held  []string // reports of bad lines that are not printed yet

	refused int64                 // articles that the service will refuse
	reason  pipeline.RejectReason // of the first of them
}

// NewLines returns the reader for records of the input topic. It counts bad lines in progress and reports them there.
func NewLines(cfg config.Config, progress *files.Progress) *Lines {
	return &Lines{input: cfg.Input.DecodeConfig, limit: cfg.Kafka.MaxMessageBytes - recordOverhead, progress: progress}
}

// Records iterates over the records of the files; the name "-" stands for stdin. Bad lines are reported and left out. After an error
// the iteration ends. If no line of all files is an article, the only element is a *files.NoArticleError.
func (l *Lines) Records(ctx context.Context, names []string, stdin io.Reader) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		for _, name := range names {
			err := l.each(ctx, name, stdin, func(rec record.Record, _ bool) error {
				if !yield(rec, nil) {
					return errStopReading
				}
				return nil
			})
			if errors.Is(err, errStopReading) {
				return
			}
			if err != nil {
				yield(record.Record{}, err)
				return
			}
		}
		if err := l.finish(names); err != nil {
			yield(record.Record{}, err)
		}
	}
}

var errStopReading = errors.New("no more records are wanted")

// finish prints the reports that were held back. If no line was an article, one error takes their place.
func (l *Lines) finish(names []string) error {
	if !l.good {
		return files.NoArticle(names, l.input, l.first)
	}
	l.release()
	return nil
}

// badLine counts a bad line and reports it. Until there is a good line, up to mostHeld reports are held back: if the user has named a
// wrong file, all its lines are bad, and one sentence about the file says more than a report of each line.
func (l *Lines) badLine(text string) {
	l.progress.Bad.Add(1)
	l.first = cmp.Or(l.first, text)
	if l.held = append(l.held, text); l.good || l.strict || l.progress.Bad.Load() > mostHeld {
		l.release()
	}
}

// release reports the bad lines that were held back.
func (l *Lines) release() {
	for _, text := range l.held {
		l.progress.Print(text)
	}
	l.held = nil
}

// each calls take for every record of a file. idle says that reading the next line may have to wait for input.
func (l *Lines) each(ctx context.Context, name string, stdin io.Reader, take func(rec record.Record, idle bool) error) error {
	var in io.Reader
	if name == "-" {
		name, in = "stdin", interruptible(ctx, stdin)
	} else {
		f, err := files.Open(name, files.HoldsArticles)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	lines, err := files.NewArticleReader(l.progress.Counting(in), l.limit, l.input)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer lines.Close()
	for ctx.Err() == nil {
		line, number, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		tooLong := (*files.LineTooLongError)(nil)
		if err != nil && !errors.As(err, &tooLong) {
			return fmt.Errorf("%s:%d: read: %w", name, number+1, err)
		}
		var rec record.Record
		if err == nil {
			rec, err = l.record(line, lines.Time())
		}
		if err != nil && !l.good && bytes.IndexByte(line, 0) >= 0 {
			return files.NoArticle([]string{name}, l.input, fmt.Sprintf("line %d holds zero bytes: it is no text", number))
		}
		if err != nil {
			l.badLine(fmt.Sprintf("%s:%d: %s", name, number, err))
			if l.strict {
				return &command.AnswerError{Text: fmt.Sprintf("%s:%d: stopped at a bad line", name, number)}
			}
			continue
		}
		l.good = true
		l.release()
		if err := take(rec, lines.Idle()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// interruptible returns a reader of r that fails when ctx ends, even while r waits for input. Input that r gets later is lost.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, r)
		in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) })
	return out
}

// record makes a record of a line, with the time at which the article was fetched, if that is known. Its key is the id of the article. The id is
// found by the decoder of the service, so that the service finds the same id in the record.
func (l *Lines) record(line []byte, at time.Time) (record.Record, error) {
	if at.IsZero() {
		at = time.Now()
	}
	r := record.Record{Value: bytes.Clone(line), Time: at}
	content, reject := l.input.Decode(&r)
	if reject != nil && reject.Reason == pipeline.NotJSON {
		return r, errors.New(reject.Detail)
	}
	if reject != nil && !reject.IsDeletion() {
		if l.refused++; l.refused == 1 {
			l.reason = reject.Reason
		}
	}
	if content.ID != r.String() { // without an id in the line, the decoder returns the coordinates
		r.Key = []byte(content.ID)
	}
	if r.Size() > l.limit {
		return r, &files.LineTooLongError{Bytes: r.Size(), Limit: l.limit}
	}
	return r, nil
}
