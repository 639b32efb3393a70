package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"echosieve/consumer"
	"echosieve/pipeline"
)

// lineProducer turns lines into records and publishes them in batches.
type lineProducer struct {
	cfg      Config
	strict   bool
	out      *consumer.Producer
	progress *progress

	batch []pipeline.Record
	bytes int

	good  bool     // a line was an article
	first string   // what is wrong with the first line that was none
	held  []string // bad lines that are not reported yet
}

// mostHeld is the number of bad lines after which they are reported even if there was no good one.
const mostHeld = 100

// badLine counts a line and reports it. Before the first good line it waits with that: where no line is good, one sentence
// says more than a report of each.
func (p *lineProducer) badLine(text string) {
	p.progress.bad.Add(1)
	p.first = cmp.Or(p.first, text)
	if p.held = append(p.held, text); p.good || p.strict || p.progress.bad.Load() > mostHeld {
		p.release()
	}
}

// release reports the bad lines that were held back.
func (p *lineProducer) release() {
	for _, text := range p.held {
		p.progress.print(text)
	}
	p.held = nil
}

func (p *lineProducer) file(ctx context.Context, name string, stdin io.Reader) error {
	return p.read(ctx, name, stdin, func(record pipeline.Record, idle bool) error {
		p.batch = append(p.batch, record)
		p.bytes += record.Size()
		if len(p.batch) == produceBatchRecords || p.bytes >= produceBatchBytes || idle {
			return p.flush(ctx)
		}
		return nil
	})
}

// read hands the records of a file on, and tells with each whether the next one may have to be waited for.
func (p *lineProducer) read(ctx context.Context, name string, stdin io.Reader, take func(record pipeline.Record, idle bool) error) error {
	var in io.Reader
	if name == "-" {
		name, in = "stdin", interruptible(ctx, stdin)
	} else {
		f, err := openFile(name, holdsArticles)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	lines, err := newLineReader(p.progress.counting(in), p.cfg.Kafka.MaxMessageBytes-recordOverhead)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer lines.Close()
	for ctx.Err() == nil {
		line, number, err := lines.next()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		tooLong := (*lineTooLongError)(nil)
		if err != nil && !errors.As(err, &tooLong) {
			return fmt.Errorf("%s:%d: read: %w", name, number+1, err)
		}
		var record pipeline.Record
		if err == nil {
			record, err = p.record(line)
		}
		if err != nil {
			p.badLine(fmt.Sprintf("%s:%d: %s", name, number, err))
			if p.strict {
				return &answerError{fmt.Sprintf("%s:%d: stopped at a bad line", name, number)}
			}
			continue
		}
		p.good = true
		p.release()
		if err := take(record, lines.idle()); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// interruptible reads from r until ctx ends, also while r has nothing to read. What r gives after that is lost.
func interruptible(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, r)
		in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) })
	return out
}

// record makes a line a record, with the article's id as its key. The service's own decoder finds the id, so
// that both mean the same by it.
func (p *lineProducer) record(line []byte) (pipeline.Record, error) {
	r := pipeline.Record{Value: bytes.Clone(line), Time: time.Now()}
	doc, reject := p.cfg.Input.Decode(&r)
	if reject != nil && reject.Reason == pipeline.NotJSON {
		return r, errors.New(reject.Detail)
	}
	if doc.ID != r.String() { // no id: the decoder gave the coordinates
		r.Key = []byte(doc.ID)
	}
	if limit := p.cfg.Kafka.MaxMessageBytes - recordOverhead; r.Size() > limit {
		return r, &lineTooLongError{bytes: r.Size(), limit: limit}
	}
	return r, nil
}

// flush hands the records that wait to the producer, which keeps them until they are acknowledged.
func (p *lineProducer) flush(ctx context.Context) error {
	batch := p.batch
	p.batch, p.bytes = nil, 0
	if len(batch) == 0 {
		return nil
	}
	return p.out.Produce(ctx, batch)
}
