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
	in       files.Reader // its limit is that of a record's size
	options  Options
	progress *files.Progress

	idle    bool                // behind the last record, the reader may have to wait for more
	ended   bool                // all files were read
	taken   int64               // records, also those that skip leaves out
	refused int64               // of these, those that the service will refuse
	reason  record.RejectReason // of the first of them

	// pieces of files that were left out
	bad, noPages files.Tally
	damage       []string // faults that ended a file before its end
}

// NewLines returns the reader for records of the input topic. It counts bad lines in progress and reports them there.
func NewLines(cfg config.Config, progress *files.Progress) *Lines {
	return &Lines{progress: progress, in: files.Reader{Input: cfg.Input.Config, Through: progress.Counting,
		Limit: cfg.Kafka.MaxMessageBytes - recordOverhead}}
}

// Records iterates over the records of the files; the name "-" stands for stdin. Bad lines are reported and
// left out. It goes on behind a file that is damaged; the faults of all are the last element.
func (l *Lines) Records(ctx context.Context, names []string, stdin io.Reader) iter.Seq2[record.Record, error] {
	l.in.Names, l.in.Stdin, l.in.Unquoted = names, stdin, l.options.Unquoted
	return func(yield func(record.Record, error) bool) {
		for a, err := range l.in.Articles(ctx) {
			var rec record.Record
			skip, noArticle := (*files.SkipError)(nil), (*files.NoArticleError)(nil)
			switch {
			case err == nil:
				rec, skip = l.record(a)
			case errors.As(err, &skip):
			case ctx.Err() == nil && (len(names) > 1 || !errors.As(err, &noArticle)):
				l.damage = append(l.damage, err.Error())
				continue
			default:
				yield(record.Record{}, err)
				return
			}
			if skip != nil {
				if err := l.leaveOut(l.in.At(a), skip); err != nil {
					yield(record.Record{}, err)
					return
				}
				continue
			}
			if l.taken++; l.taken <= l.options.Skip {
				continue
			}
			if l.idle = a.Idle; !yield(rec, nil) {
				return
			}
		}
		if err := l.finish(ctx, names); err != nil {
			yield(record.Record{}, err)
		}
	}
}

// finish reports what was left out. The error says which files were not read to their end, or that there was no
// article.
func (l *Lines) finish(ctx context.Context, names []string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.ended = true
	if n := l.noPages.Total(); n > 0 {
		l.progress.Print(fmt.Sprintf("%s of web archives without a page: %s", visible.Count(n, "response"), &l.noPages))
	}
	if l.bad.Total() > mostReports {
		l.progress.Print(fmt.Sprintf("%s: %s", visible.Count(l.bad.Total(), "bad line"), &l.bad))
	}
	switch {
	case len(l.damage) > 0:
		return errors.New(strings.Join(l.damage, "\n"))
	case l.taken == 0:
		return files.NoArticle(names, l.in.Input, l.noPages.String())
	case l.taken < l.options.Skip:
		return fmt.Errorf("--skip %d is more than the %s of these files: name the same files as before", l.options.Skip,
			visible.Count(l.taken, "record"))
	}
	return nil
}

// leaveOut counts a piece that is no article. Of bad lines the first are reported.
func (l *Lines) leaveOut(place string, skip *files.SkipError) error {
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
	if l.options.Strict {
		return &command.AnswerError{Text: place + ": stopped at a bad line"}
	}
	return nil
}

// record makes the record of an article. Its time is that at which the article was fetched, if that is known. Its key
// is the id that the decoder of the service finds: so the service finds the same id in the record. A record that the
// service will refuse is counted: the dead letter is for whoever made it.
func (l *Lines) record(a files.Article) (record.Record, *files.SkipError) {
	r := record.Record{Value: bytes.Clone(a.Value), Time: a.Time}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	content, reject := l.in.Input.Decode(&r)
	skip := (*files.SkipError)(nil)
	if l.in.Input.Format == decode.FormatJSON && errors.As(files.NoObject(r.Value, reject), &skip) {
		return r, skip
	}
	if content.ID != r.String() { // without an id in the line, the decoder returns the coordinates
		r.Key = []byte(content.ID)
	}
	if r.Size() > l.in.Limit {
		return r, files.TooLong("line", nil, r.Size(), l.in.Limit)
	}
	if reject != nil && !reject.IsDeletion() && l.taken >= l.options.Skip {
		if l.refused++; l.refused == 1 {
			l.reason = reject.Reason
		}
	}
	return r, nil
}
