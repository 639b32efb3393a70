package produce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/app/visible"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
)

const (
	// recordOverhead is more than a record batch of one record needs besides key and value, in bytes.
	recordOverhead = 128
	// mostReports bounds the reports of bad lines.
	mostReports = 10
)

// Lines turns the lines of files into records. Not for concurrent use.
type Lines struct {
	input    decode.Config
	limit    int  // of a record's size, in bytes
	strict   bool // a bad line ends the reading
	progress *files.Progress

	taken   int64               // records
	refused int64               // of these, those that the service will refuse
	reason  record.RejectReason // of the first of them

	// pieces of files that were left out, and articles that were read otherwise than they are written
	bad, noPages, notes files.Tally
	ended               []string // faults that ended a file before its end
}

// NewLines returns the reader for records of the input topic. It counts bad lines in progress and reports them there.
func NewLines(cfg config.Config, progress *files.Progress) *Lines {
	return &Lines{input: cfg.Input.Config, limit: cfg.Kafka.MaxMessageBytes - recordOverhead, progress: progress}
}

// Records iterates over the records of the files; the name "-" stands for stdin. Bad lines are reported and
// left out. What ended a file before its end, or all of them, is the last element.
func (l *Lines) Records(ctx context.Context, names []string, stdin io.Reader) iter.Seq2[record.Record, error] {
	return func(yield func(record.Record, error) bool) {
		stopped := false
		err := l.each(ctx, names, stdin, func(rec record.Record, _ bool) error {
			if stopped = !yield(rec, nil); stopped {
				return errStopReading
			}
			return nil
		})
		if err == nil {
			err = l.finish(names)
		}
		if err != nil && !stopped {
			yield(record.Record{}, err)
		}
	}
}

var errStopReading = errors.New("no more records are wanted")

// finish reports what was left out. The error says which files were not read to their end, or that there was no
// article.
func (l *Lines) finish(names []string) error {
	for _, report := range []struct {
		unit, what string
		tally      *files.Tally
	}{
		{"response", "of web archives without a page", &l.noPages},
		{"article", "read otherwise than written", &l.notes},
	} {
		if n := report.tally.Total(); n > 0 {
			l.progress.Print(fmt.Sprintf("%s %s: %s", visible.Count(n, report.unit), report.what, report.tally))
		}
	}
	if l.bad.Total() > mostReports {
		l.progress.Print(fmt.Sprintf("%s: %s", visible.Count(l.bad.Total(), "bad line"), &l.bad))
	}
	switch {
	case len(l.ended) > 0:
		return errors.New(strings.Join(l.ended, "\n"))
	case l.taken == 0:
		return files.NoArticle(names, l.input, l.noPages.String())
	}
	return nil
}

// each calls take for every record of the files. idle says that reading the next line may have to wait for input.
// It goes on behind a file that is damaged; the fault is in finish.
func (l *Lines) each(ctx context.Context, names []string, stdin io.Reader,
	take func(rec record.Record, idle bool) error) error {
	in := &files.Reader{Names: names, Stdin: stdin, Limit: l.limit, Input: l.input, Through: l.progress.Counting}
	for a, err := range in.Articles(ctx) {
		skip, noArticle := (*files.SkipError)(nil), (*files.NoArticleError)(nil)
		switch {
		case err == nil:
			err = l.take(in, a, take)
		case errors.As(err, &skip):
			err = l.skip(in.At(a), skip)
		case ctx.Err() != nil:
		case errors.As(err, &noArticle) && len(names) == 1:
		default:
			l.ended = append(l.ended, err.Error())
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// skip counts a piece that is no article. Of bad lines the first are reported.
func (l *Lines) skip(place string, skip *files.SkipError) error {
	if skip.NoPage {
		l.noPages.Add(skip.Cause, place)
		return nil
	}
	l.progress.Bad.Add(1)
	l.bad.Add(skip.Cause, place)
	if n := l.bad.Total(); n <= mostReports {
		l.progress.Print(place + ": " + skip.Error())
	} else if n == mostReports+1 {
		l.progress.Print("further bad lines are only counted")
	}
	if l.strict {
		return &command.AnswerError{Text: place + ": stopped at a bad line"}
	}
	return nil
}

// take hands over the record of an article, with the time at which the article was fetched, if that is known. Its
// key is the id of the article. The id is found by the decoder of the service, so that the service finds the same id
// in the record. A record that the service will refuse is counted: the dead letter is for whoever made it.
func (l *Lines) take(in *files.Reader, a files.Article, take func(rec record.Record, idle bool) error) error {
	r := record.Record{Value: bytes.Clone(a.Value), Time: a.Time}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	content, reject := l.input.Decode(&r)
	skip := (*files.SkipError)(nil)
	if l.input.Format == decode.FormatJSON && errors.As(files.NoObject(r.Value, reject), &skip) {
		return l.skip(in.At(a), skip)
	}
	if content.ID != r.String() { // without an id in the line, the decoder returns the coordinates
		r.Key = []byte(content.ID)
	}
	if r.Size() > l.limit {
		return l.skip(in.At(a), files.TooLong("line", nil, r.Size(), l.limit))
	}
	if reject != nil && !reject.IsDeletion() {
		if l.refused++; l.refused == 1 {
			l.reason = reject.Reason
		}
	}
	if a.Note != "" {
		l.notes.Add(a.Note, in.At(a))
	}
	l.taken++
	return take(r, a.Idle)
}
