package files

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"time"

	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
)

const (
	// mostWaiting and mostWaitingBytes bound the pieces that wait for the first article of a file. A file without one
	// among so many ends: it is of another kind, or the text stands under another name.
	mostWaiting      = 100
	mostWaitingBytes = 4 << 20
	// damageFactor is how many times as long as an article a piece may be that is skipped. A longer one has no
	// end: the file is damaged.
	damageFactor = 8
)

// Reader reads the articles of files as JSON objects: JSON Lines, JSON lists, JSON over several lines,
// CSV and TSV with a header, and WARC, plain, .gz or .zst.
//
// Every piece of a file is handed over, or is a *SkipError with its cause, or it stands behind the place at which
// the file has ended with an error. No piece is read twice. Behind the first article of a file, a line or an element
// of a list is handed over as it is: whoever decodes it finds what is no article.
type Reader struct {
	Names   []string // of the files; "-" is standard input
	Stdin   io.Reader
	Limit   int           // of an article, in bytes; the reader holds a few times as much of a file
	Input   decode.Config // the names under which articles have their text
	Through func(io.Reader) io.Reader
	// Columns are names of columns that count without regard to case, beside those of Input.
	Columns []string
	// Unquoted says that quotes in tables mean nothing: no field has a separator or a line end.
	Unquoted bool
	// Lines says that each line is an article, whatever it looks like: none waits for the first one with a text.
	Lines bool
}

// Article is one article, or the place of a piece that is none.
type Article struct {
	File  int // of Reader.Names
	Place int // line in which it begins; in a web archive the number of its record
	Value []byte
	Time  time.Time // when it was fetched; zero if the file does not say so
	Idle  bool      // the reader may have to wait for more input
}

// Name is the name of a file as messages have it.
func (r *Reader) Name(file int) string {
	if r.Names[file] == "-" {
		return "stdin"
	}
	return r.Names[file]
}

// At is a place in messages.
func (r *Reader) At(a Article) string { return fmt.Sprintf("%s:%d", r.Name(a.File), a.Place) }

// Articles iterates over the articles of all files. A value is valid until the next step. After a *SkipError the
// iteration goes on behind the piece, after another error with the next file. A file without any article is a
// *NoArticleError; an empty file is none. The iteration ends when ctx does.
func (r *Reader) Articles(ctx context.Context) iter.Seq2[Article, error] {
	return func(yield func(Article, error) bool) {
		for i := range r.Names {
			f := &openFile{Reader: r, number: i, yield: yield, begun: r.Lines || r.Input.Format != decode.FormatJSON}
			place, err := f.read(ctx)
			if f.stopped || err != nil && !yield(Article{File: i, Place: place}, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// openFile is a file that is read. Until its first article, what it holds waits: of a file of another kind one
// sentence says more than a report of each line.
type openFile struct {
	*Reader
	number  int
	yield   func(Article, error) bool
	stopped bool // the user wants no more
	begun   bool // there was an article

	source       *source // what form reads
	waiting      []piece
	waitingBytes int
	why          string // what says best why there is no article
}

type piece struct {
	Article
	err error
}

// read reads the file. The error that ends it is about what stands at place.
func (f *openFile) read(ctx context.Context) (place int, err error) {
	in := f.Stdin
	if name := f.Names[f.number]; name == "-" {
		in = interruptible(ctx, in)
	} else {
		if err := Check(name, HoldsArticles); err != nil {
			return 0, err
		}
		opened, err := os.Open(name)
		if err != nil {
			return 0, fmt.Errorf("%w; name a file of %s that can be read", err, HoldsArticles)
		}
		defer opened.Close()
		in = opened
	}
	if f.Through != nil {
		in = f.Through(in)
	}
	content, done, err := decompressed(in)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.Name(f.number), err)
	}
	defer done()
	next, err := f.form(content)
	if err != nil {
		f.why = f.Name(f.number) + ": " + err.Error()
		return 0, f.noArticle()
	}
	for !f.stopped && ctx.Err() == nil {
		a, err := next()
		a.File = f.number
		switch {
		case err == nil, errors.As(err, new(*SkipError)):
			if err = f.take(a, err); err != nil {
				return 0, err
			}
		case errors.Is(err, io.EOF) && (f.begun || len(f.waiting) == 0 && f.why == ""):
			return 0, nil
		case f.begun:
			return a.Place, fmt.Errorf("%s: %w; the file was read up to there%s", f.At(a), explainBehind(err), f.unread())
		default:
			if !errors.Is(err, io.EOF) {
				f.why = f.At(a) + ": " + err.Error()
			}
			return a.Place, f.noArticle()
		}
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("interrupted: %w", context.Cause(ctx))
	}
	return 0, err
}

// unread says how much of a damaged file was not read. The rest of a pipe may never end: it is not counted.
func (f *openFile) unread() string {
	if f.source.unread == 0 {
		return ""
	}
	if f.Names[f.number] == "-" {
		return fmt.Sprintf(", and at least %d bytes were not", f.source.unread)
	}
	rest, _ := io.Copy(io.Discard, f.source) // what cannot be read either is named by the error already
	return fmt.Sprintf(", and %d bytes were not", int64(f.source.unread)+rest)
}

// take hands a piece to the user of the reader, or keeps it until the first article.
func (f *openFile) take(a Article, err error) error {
	skip, found := (*SkipError)(nil), f.begun
	switch {
	case errors.As(err, &skip) && skip.NoPage:
		f.why = cmp.Or(f.why, f.At(a)+": "+skip.Cause)
		f.give(a, err)
		return nil
	case err != nil:
	case len(a.Value) > f.Limit:
		err = TooLong("article", a.Value, len(a.Value), f.Limit)
	default:
		if !found {
			_, reject := f.Input.Decode(&record.Record{Value: a.Value})
			err = NoObject(a.Value, reject)
			found = err == nil && (reject == nil || reject.Reason != record.NoText)
		}
	}
	if !found {
		a.Value = bytes.Clone(a.Value)
		f.waiting = append(f.waiting, piece{a, err})
		if f.waitingBytes += len(a.Value); len(f.waiting) >= mostWaiting || f.waitingBytes >= mostWaitingBytes {
			return f.noArticle()
		}
		return nil
	}
	for _, p := range f.waiting {
		f.give(p.Article, p.err)
	}
	f.begun, f.waiting = true, nil
	f.give(a, err)
	return nil
}

func (f *openFile) give(a Article, err error) { f.stopped = f.stopped || !f.yield(a, err) }

// noArticle says that a file holds none, and which names its objects have.
func (f *openFile) noArticle() error {
	why := f.why
	for i, p := range slices.Backward(f.waiting) {
		skip := (*SkipError)(nil)
		switch at := f.At(p.Article) + ": "; {
		case p.err == nil:
			why = at + membersOf(p.Value)
		case errors.As(p.err, &skip) && skip.Cause == causeTooLong && bytes.HasPrefix(skip.Value, []byte("{")):
			why = at + skip.Error() + "; " + membersOf(skip.Value)
		case i == 0 && why == "":
			why = at + p.err.Error()
		}
	}
	return NoArticle(f.Names[f.number:f.number+1], f.Input, why)
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
