package produce

import (
	"bytes"
	"cmp"
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
	"echosieve/internal/plural"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"

	"github.com/tidwall/gjson"
)

// recordOverhead is more than a record batch of one record needs besides key and value, in bytes.
const recordOverhead = 128

const (
	// mostReports bounds the reports of bad lines. It is also the number of bad lines at the beginning of a
	// file after which the file is taken for one of another kind.
	mostReports = 10
	// mostWaiting and mostWaitingBytes bound the records without a text that wait for the first article, see
	// Lines.waiting.
	mostWaiting      = 100
	mostWaitingBytes = 4 << 20
)

// Lines turns the lines of files into records. Not for concurrent use.
type Lines struct {
	input    decode.Config
	limit    int  // of a record's size, in bytes
	strict   bool // a bad line ends the reading
	progress *files.Progress

	good    bool     // a line was an article
	first   string   // fault of the first line that was no article
	held    []string // reports of bad lines of a file that are not printed yet
	reports int      // reports that are printed

	// stopsWithoutText stops at a file that begins with many records whose text stands under another name, or
	// with an object that holds a list of articles: all would be dead letters.
	stopsWithoutText bool
	waiting          []record.Record
	waitingBytes     int

	refused int64               // articles that the service will refuse
	reason  record.RejectReason // of the first of them
	hint    string              // how the text of the first of them can be found

	// pieces of files that were left out, and pages whose encoding was guessed
	bad, unread, noPages, guessed files.Tally
	mostlyUnread                  []string // files of which most pages could not be read
}

// NewLines returns the reader for records of the input topic. It counts bad lines in progress and reports them there.
func NewLines(cfg config.Config, progress *files.Progress) *Lines {
	return &Lines{input: cfg.Input.Config, limit: cfg.Kafka.MaxMessageBytes - recordOverhead, progress: progress}
}

// Records iterates over the records of the files; the name "-" stands for stdin. Bad lines are reported and
// left out. After an error the iteration ends. If no line of all files is an article, the only element is a
// *files.NoArticleError.
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

// finish reports what was left out. If no line was an article, one error takes the place of the reports.
func (l *Lines) finish(names []string) error {
	if !l.good {
		return l.noArticle(names)
	}
	l.release()
	for _, report := range []struct {
		unit, what string
		tally      *files.Tally
	}{
		{"page", "that could not be read", &l.unread},
		{"response", "without a page", &l.noPages},
		{"page", "without an encoding or with a wrong one, read in the most likely one", &l.guessed},
	} {
		if n := report.tally.Total(); n > 0 {
			l.progress.Print(fmt.Sprintf("%s of web archives %s: %s", plural.Of(n, report.unit), report.what, report.tally))
		}
	}
	if l.bad.Total() > mostReports {
		l.progress.Print(fmt.Sprintf("%s: %s", plural.Of(l.bad.Total(), "bad line"), &l.bad))
	}
	return nil
}

func (l *Lines) noArticle(names []string) error {
	first := l.first
	if l.unread.Total()+l.noPages.Total() > 0 {
		first = strings.Trim(fmt.Sprintf("%s; %s", &l.unread, &l.noPages), "; ")
	}
	if l.hint != "" {
		first = cmp.Or(first, string(l.reason)) + "; " + l.hint
	}
	return files.NoArticle(names, l.input, first)
}

// badLine counts a bad line and reports it. Until a file has a good line, the reports are held back: if the
// user has named a wrong file, all its lines are bad, and one sentence about the file says more than a report
// of each line.
func (l *Lines) badLine(place, cause, text string) {
	l.progress.Bad.Add(1)
	l.bad.Add(cause, place)
	text = place + ": " + text
	l.first = cmp.Or(l.first, text)
	l.held = append(l.held, text)
}

// release prints the reports that were held back, up to mostReports of the whole run.
func (l *Lines) release() {
	for _, text := range l.held {
		if l.reports++; l.reports <= mostReports {
			l.progress.Print(text)
		} else if l.reports == mostReports+1 {
			l.progress.Print("further bad lines are only counted")
		}
	}
	l.held = nil
}

// each calls take for every record of a file. idle says that reading the next line may have to wait for input.
func (l *Lines) each(ctx context.Context, name string, stdin io.Reader,
	take func(rec record.Record, idle bool) error) error {
	var in io.Reader
	names := []string{name}
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
	if err != nil && strings.Contains(err.Error(), files.HoldsArticles) {
		return files.NoArticle(names, l.input, err.Error())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer lines.Close()
	f := &file{name: name, names: names, take: take}
	for err == nil && ctx.Err() == nil {
		err = l.piece(f, lines)
	}
	l.guessed.Join(lines.Guessed())
	if errors.Is(err, io.EOF) {
		if f.unread > f.good {
			l.mostlyUnread = append(l.mostlyUnread, name)
		}
		if l.good {
			l.release()
		}
		err = l.publishWaiting(f)
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// file is what each counts of one file.
type file struct {
	name              string
	names             []string // the one that the user typed
	take              func(rec record.Record, idle bool) error
	good, bad, unread int
}

// piece reads the next piece of a file: an article, or something that is left out. It returns io.EOF at the end.
func (l *Lines) piece(f *file, lines *files.ArticleReader) error {
	line, number, err := lines.Next()
	place := fmt.Sprintf("%s:%d", f.name, number)
	skip := (*files.SkipError)(nil)
	var rec record.Record
	var reject *record.RejectError
	if err == nil {
		rec, reject, skip = l.record(line, lines.Time())
	} else if errors.Is(err, io.EOF) {
		return io.EOF
	} else if !errors.As(err, &skip) {
		return fmt.Errorf("%s: read: %w", place, err)
	}
	switch {
	case skip == nil && reject == nil:
		f.good++
		l.good = true
		l.release()
		return l.publish(f, rec, lines.Idle())
	case skip == nil:
		return l.withoutText(f, rec, reject, lines.Idle())
	case skip.Kind == files.Unread:
		f.unread++
		l.unread.Add(skip.Cause, place)
		return nil
	case skip.Kind == files.NoPage:
		l.noPages.Add(skip.Cause, place)
		return nil
	}
	l.badLine(place, skip.Cause, skip.Error())
	f.bad++
	switch {
	case l.strict:
		l.release()
		return &command.AnswerError{Text: place + ": stopped at a bad line"}
	case f.good > 0 || l.waiting != nil:
		l.release()
	case f.bad == mostReports:
		first := l.held[len(l.held)-mostReports]
		l.held = nil
		return files.NoArticle(f.names, l.input, fmt.Sprintf("%s; nor are the %d after it", first, mostReports-1))
	}
	return nil
}

// withoutText counts a record that the service will refuse, and publishes it: the dead letter is for whoever
// made it. At the beginning the record waits if its text seems to stand under another name.
func (l *Lines) withoutText(f *file, rec record.Record, reject *record.RejectError, idle bool) error {
	isList := false
	if l.refused++; l.refused == 1 {
		l.reason = reject.Reason
		l.hint, isList = files.Hint(rec.Value, l.input)
	}
	if l.good || !l.stopsWithoutText || l.hint == "" {
		f.good++
		l.good = true
		l.release()
		return l.publish(f, rec, idle)
	}
	l.first = cmp.Or(l.first, reject.Error())
	l.waiting = append(l.waiting, rec)
	if l.waitingBytes += rec.Size(); isList || len(l.waiting) >= mostWaiting || l.waitingBytes >= mostWaitingBytes {
		return l.noArticle(f.names)
	}
	return nil
}

// publish hands over a record, behind those that waited.
func (l *Lines) publish(f *file, rec record.Record, idle bool) error {
	if err := l.publishWaiting(f); err != nil {
		return err
	}
	return f.take(rec, idle)
}

// publishWaiting hands over the records that waited: they are too few for a wrong file.
func (l *Lines) publishWaiting(f *file) error {
	waiting := l.waiting
	l.waiting = nil
	for _, r := range waiting {
		l.good = true
		if err := f.take(r, false); err != nil {
			return err
		}
	}
	return nil
}

// interruptible returns a reader of r that fails when ctx ends, even while r waits for input. Input that r
// gets later is lost.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, r)
		in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) })
	return out
}

// record makes a record of a line, with the time at which the article was fetched, if that is known. Its key
// is the id of the article. The id is found by the decoder of the service, so that the service finds the same
// id in the record. reject is the reason for which the service will refuse the record; skip says why the line
// is no record at all.
func (l *Lines) record(line []byte, at time.Time) (r record.Record, reject *record.RejectError,
	skip *files.SkipError) {
	if at.IsZero() {
		at = time.Now()
	}
	r = record.Record{Value: bytes.Clone(line), Time: at}
	content, reject := l.input.Decode(&r)
	// The decoder guesses at an encoding before it says that a line is no JSON.
	if reject != nil && (reject.Reason == record.NotJSON || reject.Reason == record.NotUTF8 &&
		!gjson.ValidBytes(line)) {
		return r, nil, &files.SkipError{Cause: "no JSON object", Detail: reject.Detail}
	}
	if content.ID != r.String() { // without an id in the line, the decoder returns the coordinates
		r.Key = []byte(content.ID)
	}
	if r.Size() > l.limit {
		return r, nil, files.TooLong("line", r.Size(), l.limit)
	}
	if reject.IsDeletion() {
		reject = nil
	}
	return r, reject, nil
}
