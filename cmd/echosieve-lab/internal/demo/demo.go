// Package demo is the command demo: the whole service on the shipped sample, with Kafka and Redis in this process.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/service"
	"echosieve/cmd/echosieve-lab/internal/load"
	"echosieve/consumer/learning"
	"echosieve/consumer/tools"
	"echosieve/internal/stopping"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/learnt"
	"echosieve/pipeline/record"
	"echosieve/sample"
)

const (
	// timeout bounds the wait for the verdicts of the sample and of the burst after it. All together take
	// about four seconds, and a minute on a machine that others use as well.
	timeout = 5 * time.Minute
	// pace is the time between two records of the sample: each is a batch of its own, so its delay is not
	// that of a batch's last record.
	pace = 25 * time.Millisecond
	// burst is the number of records that are published at once after the sample, to measure the rate over
	// many batches.
	burst = 3000
	// anyPort is where a process listens that nobody is told of.
	anyPort = "127.0.0.1:0"
)

// Command returns the command demo.
func Command() *cobra.Command {
	var serve bool
	var listen string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the whole service on the shipped sample, with nothing else installed",
		Long: `Demo starts an in-process Kafka broker and an in-process Redis on loopback ports, runs the same service
as "echosieve run" against them, publishes the shipped sample of news and prints each verdict when it arrives. Then
it publishes 3,000 more articles at once and prints how many verdicts a second came.

With --serve it publishes the sample only and stays up. It prints the verdicts of articles that you publish from another
terminal, and shows them and their stories on a web page, the console. To publish:
echosieve produce --kafka.brokers ADDRESS my-articles.jsonl`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), serve, listen)
		},
	}
	cmd.Flags().BoolVar(&serve, "serve", false, "stay up after the sample until Ctrl-C")
	cmd.Flags().StringVar(&listen, "http.listen", config.Default().HTTP.Listen, "with --serve: address of the console")
	return cmd
}

// runDemo starts the servers and the service, shows the verdicts, and stops everything. Log lines of the
// service go to logs.
func runDemo(ctx context.Context, out, logs io.Writer, serve bool, listen string) (err error) {
	inProcess, err := load.StartServers()
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer inProcess.Close()
	cfg := inProcess.Configure(config.Default())
	cfg.Kafka.Partitions = 1 // one partition: one order of the verdicts, see outputs
	cfg.Kafka.Topics.Learnt = cfg.LearntTopic()
	cfg.HTTP.Console, cfg.HTTP.Look = true, true
	cfg.HTTP.Listen = anyPort
	if serve {
		cfg.HTTP.Listen = listen
	}
	cfg.Log.Level = slog.LevelWarn.String()
	records := sampleRecords(&cfg.Input.Config)
	// The topics must exist before the service starts, because the service remembers for a second that a
	// topic is missing.
	if err := load.EnsureTopics(ctx, cfg.Kafka); err != nil {
		return err
	}
	log, _ := cfg.Log.NewLogger(logs)
	s, err := service.New(ctx, cfg, log)
	if err != nil {
		return err
	}
	v := newView(out, &cfg.Input.Config, records)
	v.start(cfg.Kafka.Brokers, s.HTTPAddr(), s.RecipeID())

	serviceCtx, stop := context.WithCancel(ctx)
	group, groupCtx := errgroup.WithContext(serviceCtx)
	group.Go(func() error { return s.Run(groupCtx) })
	if serve { // the console shows stories, too
		cfg := cfg
		cfg.HTTP.Listen = anyPort
		role, err := service.NewStories(ctx, cfg, service.StoriesConfig{}, log)
		if err != nil {
			stop()
			return errors.Join(err, group.Wait())
		}
		group.Go(func() error { return role.Run(groupCtx) })
	}
	group.Go(func() error {
		defer func() {
			if !serve {
				stop()
			}
		}()
		return demonstrate(groupCtx, cfg, s.HTTPAddr(), v, records, serve)
	})
	err = group.Wait()
	stop()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if err == nil && !serve && len(v.delays) < len(records) {
		err = fmt.Errorf("demo: stopped after %d of %d verdicts", len(v.delays), len(records))
	}
	return err
}

// demonstrate publishes the sample and shows the verdicts of the service that listens at listen. Then it
// measures a burst or, with serve, keeps showing verdicts until ctx ends.
func demonstrate(ctx context.Context, cfg config.Config, listen string, v *view, records []record.Record,
	serve bool) (err error) {
	sampleCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// The service has joined its group: otherwise the first delays would be those of its start.
	if load.WaitReady(sampleCtx, "http://"+listen) != nil {
		return fmt.Errorf("demo: the service is not ready: %w", sampleCtx.Err())
	}
	producer, err := tools.NewProducer(cfg.Kafka, cfg.Kafka.Topics.Inputs[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, producer.Close()) }()
	outputs, err := newOutputs(cfg.Kafka)
	if err != nil {
		return err
	}
	defer outputs.close()

	both, bothCtx := errgroup.WithContext(sampleCtx)
	both.Go(func() error { return publishSample(bothCtx, producer, records) })
	both.Go(func() error { return outputs.each(bothCtx, len(records), v.show) })
	if err := both.Wait(); err != nil {
		return err
	}
	learnt, err := learntFrom(sampleCtx, cfg)
	if err != nil {
		return err
	}
	if serve { // without the burst: the console shows the sample
		v.summary(0, 0)
		v.showStories()
		v.showLearnt(learnt)
		v.invite(cfg, listen)
		return outputs.each(ctx, math.MaxInt, v.show)
	}
	began := time.Now()
	if err := producer.Produce(sampleCtx, burstRecords()); err != nil {
		return err
	}
	if err := outputs.each(sampleCtx, burst, func(*record.Record) {}); err != nil {
		return err
	}
	v.summary(burst, time.Since(began))
	v.showStories()
	v.showLearnt(learnt)
	return nil
}

// learntFrom waits for the sentence that the sample teaches, which the service publishes after the verdicts. It counts
// for nothing here: this Kafka leaves the time of a record to its writer.
func learntFrom(ctx context.Context, cfg config.Config) (learnt.Row, error) {
	archive, err := tools.NewArchive(cfg.Kafka, cfg.Kafka.Topics.Learnt)
	if err != nil {
		return learnt.Row{}, fmt.Errorf("demo: %w", err)
	}
	defer archive.Close()
	for {
		r, err := archive.Record(ctx, article.Coordinates{Topic: cfg.Kafka.Topics.Learnt})
		if row, ok := learning.RowOf(&r); err == nil && ok {
			return row, nil
		}
		if ended := stopping.Wait(ctx, 100*time.Millisecond); ended != nil {
			return learnt.Row{}, fmt.Errorf("demo: no sentence was learnt: %w", errors.Join(ended, err))
		}
	}
}

// publishSample publishes one record after the other, with a pause between them.
func publishSample(ctx context.Context, producer *tools.Producer, records []record.Record) error {
	for _, rec := range records {
		if err := stopping.Wait(ctx, pace); err != nil {
			return err
		}
		rec.Time = time.Now()
		if err := producer.Produce(ctx, []record.Record{rec}); err != nil {
			return err
		}
	}
	return nil
}

// burstRecords makes the records of the burst. Three in ten repeat an earlier one.
func burstRecords() []record.Record {
	feed := load.NewFeed("burst", .3, 1)
	records := make([]record.Record, burst)
	for i := range records {
		id, value := feed.Next()
		records[i] = record.Record{Key: []byte(id), Value: value}
	}
	return records
}

// sampleRecords makes a record of each line of the shipped sample. The key is the id of the article, as
// crawlers set it.
func sampleRecords(decode *decode.Config) (records []record.Record) {
	for line := range sample.Lines() {
		r := record.Record{Value: line}
		if content, reject := decode.Decode(&r); reject == nil {
			r.Key = []byte(content.ID)
		}
		records = append(records, r)
	}
	return records
}
