// Package produce makes records of the lines of files, or of the shipped sample, and publishes them. The
// command load of echosieve-lab uses Lines and Ready, and publishes by itself.
package produce

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/app/visible"
	"echosieve/consumer/broker"
	"echosieve/consumer/tools"
	"echosieve/pipeline/record"
	"echosieve/sample"
)

const (
	batchRecords = 1000
	batchBytes   = 4 << 20
)

// Summary counts what was published.
type Summary struct {
	Topic     string  `json:"topic"`
	Published int64   `json:"published"`      // records acknowledged
	Bad       int64   `json:"bad"`            // lines left out
	Skip      int64   `json:"skip,omitempty"` // if it ended before the end: the same command goes on with this --skip
	Refused   int64   `json:"refused"`        // of those published: will be dead letters
	Reason    string  `json:"reason,omitempty"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"per_second"`
}

// Ready checks, before anything is read, that publishing can begin: brokers answer, and the input topic exists. With
// kafka.create_topics it creates the input topic, and says so.
func Ready(ctx context.Context, cfg config.Config, errOut io.Writer) error {
	created, err := tools.FindInput(ctx, cfg.Kafka, cfg.Kafka.Topics.Inputs[0])
	if created {
		fmt.Fprintf(errOut, "created topic %s with %s\n", cfg.Kafka.Topics.Inputs[0],
			visible.Count(cfg.Kafka.Partitions, "partition"))
	}
	if missing := (*broker.MissingTopicsError)(nil); errors.As(err, &missing) && !cfg.Kafka.CreateTopics {
		return fmt.Errorf("the topic %s does not exist, or this user has no right on it; create it, type the "+
			"command again with --kafka.create_topics, or name another one with --kafka.topics.input",
			cfg.Kafka.Topics.Inputs[0])
	}
	return err
}

// Options say how records are published.
type Options struct {
	Strict   bool    // stop at the first bad line of a file
	Rate     float64 // records a second; 0: as fast as possible
	Unquoted bool    // see files.Reader.Unquoted
	Skip     int64   // records at the beginning of the files that an earlier run has published
}

// Files publishes all files; the name "-" stands for stdin. The summary is valid also if there is an error.
// The error is a *command.AnswerError if lines were bad, and a *files.NoArticleError if no line was an
// article. What ended a file before its end is an error, too; the other files are published. An error that ended
// the whole names the flag with which the same command goes on.
func Files(ctx context.Context, cfg config.Config, names []string, stdin io.Reader, errOut io.Writer, o Options) (
	Summary, error) {
	var lines *Lines
	fill := func(p *publisher, progress *files.Progress) error {
		lines = NewLines(cfg, progress)
		lines.options = o
		p.done = o.Skip
		for rec, err := range lines.Records(ctx, names, stdin) {
			if err == nil {
				err = p.add(ctx, rec, lines.idle)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	summary, done, err := publish(ctx, cfg, errOut, files.Size(names), o.Rate, fill)
	if lines != nil {
		summary.Refused, summary.Reason = lines.refused, string(lines.reason)
		if err != nil && (!lines.ended || done < lines.taken) && done > 0 {
			summary.Skip = done
			err = fmt.Errorf("%w\nto go on, type the same command with --skip %d", err, done)
			if behind := o.Skip + summary.Published - done; behind > 0 { // the first gap
				err = fmt.Errorf("%w; it repeats %s that another partition took", err, visible.Count(behind, "record"))
			}
		}
	}
	if err == nil && summary.Bad > 0 {
		err = &command.AnswerError{Text: visible.Count(summary.Bad, "bad line") + " not published"}
	}
	return summary, err
}

// Sample publishes the shipped sample, the broken lines, too. The key is the id of the article, as crawlers set it. The
// summary is valid also if there is an error.
func Sample(ctx context.Context, cfg config.Config, errOut io.Writer, rate float64) (Summary, error) {
	summary, _, err := publish(ctx, cfg, errOut, -1, rate, func(p *publisher, _ *files.Progress) error {
		for line := range sample.Lines() {
			r := record.Record{Value: line}
			if content, reject := cfg.Input.Decode(&r); reject == nil {
				r.Key = []byte(content.ID)
			}
			if err := p.add(ctx, r, false); err != nil {
				return err
			}
		}
		return nil
	})
	return summary, err
}

// publish publishes the records that fill adds, of files of size bytes. The records before a fault are published, too.
// done counts the records before the first one that is not acknowledged.
func publish(ctx context.Context, cfg config.Config, errOut io.Writer, size int64, rate float64,
	fill func(*publisher, *files.Progress) error) (s Summary, done int64, err error) {
	s.Topic = cfg.Kafka.Topics.Inputs[0]
	out, err := tools.NewProducer(cfg.Kafka, s.Topic)
	if err != nil {
		return s, 0, err
	}
	progress := files.NewProgress(errOut, size, "published", out.Acknowledged)
	out.WaitWith(func(why error) {
		text := "brokers answer again"
		if why != nil {
			text = "waiting for brokers: " + why.Error()
		}
		progress.Print(text)
	})
	p := &publisher{out: out, rate: rate, start: time.Now()}
	stop := progress.Start()
	if err = fill(p, progress); ctx.Err() == nil {
		err = errors.Join(p.flush(ctx), err) // after a fault of the producer no record is left
	}
	// Close waits for requests that were under way when ctx ended.
	if failed := out.Close(); failed != nil {
		err = failed
	}
	stop()
	if ctx.Err() != nil {
		err = errors.New("interrupted: the rest was not published")
	}
	s.Published, s.Bad, s.Seconds = out.Acknowledged(), progress.Bad.Load(), progress.Elapsed().Seconds()
	s.PerSecond = float64(s.Published) / max(s.Seconds, 1e-3)
	return s, p.done, err
}

// publisher hands records to the producer in batches, no faster than at its rate.
type publisher struct {
	out   *tools.Producer
	rate  float64 // records a second; 0: no limit
	start time.Time
	added int
	done  int64 // records before the first one that is not acknowledged
	batch []record.Record
	bytes int
}

// add takes a record, at the time that the rate gives it. A batch is published when it is full, and before
// waiting: for that time, or for more input if idle is set. The records of a batch that waited for an
// acknowledgement follow together.
func (p *publisher) add(ctx context.Context, rec record.Record, idle bool) error {
	if p.rate > 0 {
		due := p.start.Add(time.Duration(float64(p.added) / p.rate * float64(time.Second)))
		if wait := time.Until(due); wait > 0 {
			if err := p.flush(ctx); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(wait):
			}
		}
		rec.Time = time.Now()
	}
	p.added++
	p.batch = append(p.batch, rec)
	p.bytes += rec.Size()
	if len(p.batch) == batchRecords || p.added == batchRecords || p.bytes >= batchBytes || idle {
		return p.flush(ctx)
	}
	return nil
}

// flush publishes the batch and waits until it is acknowledged. The first records go into one partition: the service
// judges them in their order, so of a small file the first article is the original. With a rate, time orders them.
func (p *publisher) flush(ctx context.Context) error {
	batch := p.batch
	p.batch, p.bytes = nil, 0
	if len(batch) == 0 {
		return nil
	}
	produce := p.out.Produce
	if p.rate == 0 && p.added <= batchRecords {
		produce = p.out.ProduceTogether
	}
	err := produce(ctx, batch)
	if err == nil {
		p.done += int64(len(batch))
	}
	return err
}
