// Package produce makes records of the lines of files, and publishes them. The command produce publishes them as fast as it can. The
// command load of echosieve-lab uses Lines and Ready, and publishes at a given rate.
package produce

import (
	"context"
	"errors"
	"fmt"
	"io"

	"echosieve/consumer"
	"echosieve/internal/command"
	"echosieve/internal/config"
	"echosieve/internal/files"
	"echosieve/pipeline"
)

const (
	batchRecords = 1000
	batchBytes   = 4 << 20
)

// Summary counts what was published.
type Summary struct {
	Topic     string  `json:"topic"`
	Published int64   `json:"published"` // records acknowledged
	Bad       int64   `json:"bad"`       // lines left out
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"per_second"`
}

// Ready checks, before anything is read, that publishing can begin: the files exist, brokers answer, and the input topic exists.
// With kafka.create_topics it creates the topics.
func Ready(ctx context.Context, cfg config.Config, names []string) error {
	for _, name := range names {
		if name == "-" {
			continue
		}
		if err := files.Check(name, files.HoldsArticles); err != nil {
			return err
		}
	}
	if cfg.Kafka.CreateTopics {
		return consumer.EnsureTopics(ctx, cfg.Kafka)
	}
	err := consumer.FindTopic(ctx, cfg.Kafka, cfg.Kafka.Topics.Input)
	if missing := (*consumer.MissingTopicsError)(nil); errors.As(err, &missing) {
		return fmt.Errorf("the topic %s does not exist, or this user has no right on it; create it, type the command again with --kafka.create_topics, or name another one with --kafka.topics.input",
			cfg.Kafka.Topics.Input)
	}
	return err
}

// Files publishes all files; the name "-" stands for stdin. With strict it stops at the first bad line. The summary is valid
// also if there is an error. The error is a *command.AnswerError if lines were bad, and a *files.NoArticleError if no line was an article.
func Files(ctx context.Context, cfg config.Config, names []string, stdin io.Reader, errOut io.Writer, strict bool) (Summary, error) {
	summary := Summary{Topic: cfg.Kafka.Topics.Input}
	out, err := consumer.NewProducer(cfg.Kafka, cfg.Kafka.Topics.Input)
	if err != nil {
		return summary, err
	}
	progress := files.NewProgress(errOut, files.Size(names), "published", out.Acknowledged)
	lines := NewLines(cfg, progress)
	lines.strict = strict
	p := &publisher{out: out}
	stop := progress.Start()
	for _, name := range names {
		err = lines.each(ctx, name, stdin, func(record pipeline.Record, idle bool) error { return p.add(ctx, record, idle) })
		if err != nil {
			break
		}
	}
	if bad := (*command.AnswerError)(nil); err == nil || errors.As(err, &bad) {
		err = errors.Join(p.flush(ctx), err) // with strict, the lines before the bad line are published
	}
	// Close waits for requests that were under way when ctx ended.
	if failed := out.Close(); failed != nil {
		err = failed
	}
	stop()
	if ctx.Err() != nil {
		err = errors.New("interrupted: the rest was not published")
	}
	if err == nil {
		if err := lines.finish(names); err != nil {
			return summary, err
		}
	}
	lines.release()

	seconds := progress.Elapsed().Seconds()
	summary.Published, summary.Bad = out.Acknowledged(), progress.Bad.Load()
	summary.Seconds, summary.PerSecond = seconds, float64(summary.Published)/max(seconds, 1e-3)
	if err == nil && summary.Bad > 0 {
		err = &command.AnswerError{Text: fmt.Sprintf("%d bad lines were not published", summary.Bad)}
	}
	return summary, err
}

// publisher hands records to the producer in batches.
type publisher struct {
	out   *consumer.Producer
	batch []pipeline.Record
	bytes int
}

// add takes a record. A batch is published when it is full, and when reading the next record may have to wait for input.
func (p *publisher) add(ctx context.Context, record pipeline.Record, idle bool) error {
	p.batch = append(p.batch, record)
	p.bytes += record.Size()
	if len(p.batch) == batchRecords || p.bytes >= batchBytes || idle {
		return p.flush(ctx)
	}
	return nil
}

// flush publishes the batch and waits until it is acknowledged.
func (p *publisher) flush(ctx context.Context) error {
	batch := p.batch
	p.batch, p.bytes = nil, 0
	if len(batch) == 0 {
		return nil
	}
	return p.out.Produce(ctx, batch)
}
