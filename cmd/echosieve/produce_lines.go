package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
}

func (p *lineProducer) file(ctx context.Context, name string, stdin io.Reader) error {
	var in io.Reader
	if name == "-" {
		name, in = "stdin", interruptible(ctx, stdin)
	} else {
		f, err := os.Open(name)
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
			p.progress.badLine(fmt.Sprintf("%s:%d: %s", name, number, err))
			if p.strict {
				return &answerError{fmt.Sprintf("%s:%d: stopped at a bad line", name, number)}
			}
			continue
		}
		p.batch = append(p.batch, record)
		p.bytes += record.Size()
		if len(p.batch) == produceBatchRecords || p.bytes >= produceBatchBytes || lines.idle() {
			if err := p.flush(ctx); err != nil {
				return err
			}
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
