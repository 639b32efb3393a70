package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"echosieve/pipeline/decode"
	"echosieve/pipeline/record"
)

const (
	// mostBad is the number of damaged pieces at the beginning of a file that end it: it is a file of another kind.
	mostBad = 10
	// mostWaiting and mostWaitingBytes bound the pieces that wait for the first article of a file. A file ends
	// when so many objects have no text: the text stands under another name.
	mostWaiting      = 100
	mostWaitingBytes = 4 << 20
	// damageFactor is how many times as long as an article a piece may be that is skipped. A longer one has no
	// end: the file is damaged.
	damageFactor = 8
)

// Reader reads the articles of files as JSON objects: JSON Lines, JSON lists, JSON over several lines,
// Elasticsearch's bulk format, the output of kcat -J, CSV and TSV with a header, and WARC, plain, .gz or .zst.
//
// Every piece of a file is an article, or a *SkipError with its cause, or it stands behind the place at which
// the file has ended with an error. No piece is read twice.
type Reader struct {
	Names   []string // of the files; "-" is standard input
	Stdin   io.Reader
	Limit   int           // of an article, in bytes; the reader holds a few times as much of a file
	Input   decode.Config // the names under which articles have their text
	Through func(io.Reader) io.Reader
	// Columns are names of columns that count without regard to case, beside those of Input.
	Columns []string
	// Lines says that each line is an article, whatever it looks like: none waits for the first one with a text.
	Lines bool
}

// Article is one article, or the place of a piece that is none.
type Article struct {
	File  int // of Reader.Names
	Place int // line in which it begins; in a web archive the number of its record
	Value []byte
	Time  time.Time // when it was fetched; zero if the file does not say so
	Note  string    // what was read otherwise than it is written; empty if nothing was
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
			f := &file{Reader: r, number: i, yield: yield}
			if err := f.read(ctx); err != nil && !f.stopped && !yield(Article{File: i, Place: f.end}, err) || f.stopped ||
				ctx.Err() != nil {
				return
			}
		}
	}
}

// file is a file that is read. Until its first article, what it holds waits: of a file of another kind one
// sentence says more than a report of each line.
type file struct {
	*Reader
	number  int
	yield   func(Article, error) bool
	stopped bool // the user wants no more

	pieces, articles, bad int
	end                   int // place of the damage that ended the file
	waiting               []piece
	waitingBytes          int
	firstBad, columns     string // of a table whose header has no text
	others                Tally  // records of a web archive without an article
}

type piece struct {
	Article
	err error
}

func (f *file) read(ctx context.Context) error {
	in := f.Stdin
	if name := f.Names[f.number]; name == "-" {
		in = interruptible(ctx, in)
	} else {
		opened, err := Open(name, HoldsArticles)
		if err != nil {
			return err
		}
		defer opened.Close()
		in = opened
	}
	if f.Through != nil {
		in = f.Through(in)
	}
	content, done, err := decompressed(in)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(f.number), err)
	}
	defer done()
	next, err := f.form(content)
	for err == nil && !f.stopped && ctx.Err() == nil {
		var a Article
		a, err = next()
		a.File = f.number
		if err == nil || errors.As(err, new(*SkipError)) {
			a.Idle = a.Idle || content.Buffered() == 0
			err = f.take(a, err)
		} else if !errors.Is(err, io.EOF) {
			err = f.ended(a, err)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
		if f.articles == 0 && f.pieces > 0 {
			err = f.noArticle()
		}
	}
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("interrupted: %w", context.Cause(ctx))
	}
	return err
}

// ended says where a file has ended because it is damaged.
func (f *file) ended(a Article, err error) error {
	if other := (*NoArticleError)(nil); errors.As(err, &other) {
		return err
	}
	f.end = a.Place
	if f.articles == 0 {
		f.firstBad = f.At(a) + ": " + err.Error()
		return f.noArticle()
	}
	return fmt.Errorf("%s: %w; the file was read up to there: %d articles and %d pieces left out", f.At(a), err,
		f.articles, f.pieces-f.articles)
}

// take hands a piece to the user of the reader, or keeps it until the first article.
func (f *file) take(a Article, err error) error {
	f.pieces++
	judged := err == nil
	skip, named := (*SkipError)(nil), true
	if judged {
		if len(a.Value) > f.Limit {
			err = TooLong("article", a.Value, len(a.Value), f.Limit)
		} else {
			a, named, err = f.judge(a)
		}
	}
	if errors.As(err, &skip) && skip.Kind != Faulty {
		f.others.Add(skip.Cause, f.At(a))
		f.give(a, err)
		return nil
	}
	switch {
	case err == nil && named, f.Lines:
		f.articles++
		for _, p := range f.waiting {
			if p.err == nil {
				f.articles++
			}
			f.give(p.Article, p.err)
		}
		f.waiting = nil
	case f.articles == 0:
		return f.wait(a, err)
	case err == nil:
		f.articles++
	}
	f.give(a, err)
	return nil
}

func (f *file) give(a Article, err error) { f.stopped = f.stopped || !f.yield(a, err) }

// wait keeps a piece until the first article.
func (f *file) wait(a Article, err error) error {
	if err != nil {
		if f.bad++; f.firstBad == "" {
			f.firstBad = f.At(a) + ": " + err.Error()
		}
	}
	a.Value = bytes.Clone(a.Value)
	f.waiting = append(f.waiting, piece{a, err})
	if f.waitingBytes += len(a.Value); f.bad >= mostBad || len(f.waiting) >= mostWaiting ||
		f.waitingBytes >= mostWaitingBytes {
		return f.noArticle()
	}
	return nil
}

// judge says whether a value is a JSON object, and whether it has a text under one of the configured names.
// NaN and Infinity, which Python writes and JSON does not have, become null.
func (f *file) judge(a Article) (_ Article, named bool, err error) {
	if f.Input.Format != decode.FormatJSON {
		return a, true, nil
	}
	if !decode.IsObject(a.Value) {
		value, n := withoutNaN(a.Value)
		if n == 0 || !decode.IsObject(value) {
			_, reject := f.Input.Decode(&record.Record{Value: a.Value})
			return a, true, &SkipError{Cause: "no JSON object", Detail: reject.Detail, Value: a.Value}
		}
		a.Value, a.Note = value, "NaN or Infinity as null"
	}
	if f.articles > 0 {
		return a, true, nil
	}
	_, reject := f.Input.Decode(&record.Record{Value: a.Value})
	return a, reject == nil || reject.Reason != record.NoText, nil
}

// noArticle says that a file holds none, and how its text can be found.
func (f *file) noArticle() error {
	object := slices.IndexFunc(f.waiting, func(p piece) bool { return p.err == nil })
	why := f.firstBad
	switch {
	case object >= 0:
		a := f.waiting[object].Article
		why = f.At(a) + ": " + hint(a.Value)
	case f.columns != "":
		why = f.columns
	case len(f.waiting) > 0:
		if skip := (*SkipError)(nil); errors.As(f.waiting[0].err, &skip) && bytes.HasPrefix(skip.Value, []byte("{")) &&
			skip.Cause == causeTooLong {
			why += "; " + hint(skip.Value)
		}
		if f.bad >= mostBad {
			why += fmt.Sprintf("; nor are the %d after it", mostBad-1)
		}
	case why == "":
		why = f.others.String()
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

// source is a file with the bounds of what is read of it.
type source struct {
	*bufio.Reader
	limit int
	line  int // number of the last line that was read
}

// most is the length of a piece from which on the file is damaged.
func (s *source) most() int { return damageFactor*s.limit + lineBufferBytes }
