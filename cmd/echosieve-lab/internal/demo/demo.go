// Package demo is the command demo: the whole service on the shipped sample, with Kafka and Redis in this process.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"echosieve/cmd/echosieve-lab/internal/servers"
	"echosieve/consumer"
	"echosieve/internal/command"
	"echosieve/internal/config"
	"echosieve/internal/service"
	"echosieve/pipeline"
	"echosieve/sample"
)

// timeout bounds the wait for the verdicts of the sample. All together take about two seconds.
const timeout = 2 * time.Minute

// Command returns the command demo.
func Command() *cobra.Command {
	var serve, asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the whole service on the shipped sample, with nothing else installed",
		Long: `Demo starts an in-process Kafka broker and an in-process Redis on loopback ports, runs the same service
as "echosieve run" against them, publishes the shipped sample of news and prints each verdict when it arrives.

With --serve it stays up afterwards and prints the verdicts of articles that you publish from another terminal,
for example with: echosieve produce --kafka.brokers ADDRESS my-articles.jsonl`,
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), serve, asJSON)
		},
	}
	cmd.Flags().BoolVar(&serve, "serve", false, "stay up after the sample until Ctrl-C")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a verdict, and one for the summary")
	return cmd
}

// runDemo starts the servers and the service, shows the verdicts, and stops everything. Log lines of the service go to logs.
func runDemo(ctx context.Context, out, logs io.Writer, serve, asJSON bool) (err error) {
	inProcess, err := servers.Start()
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer inProcess.Close()
	cfg := inProcess.Configure(config.Default())
	cfg.Kafka.Partitions = 1 // one partition: the verdicts come in the order of the sample
	cfg.HTTP.Listen = "127.0.0.1:0"
	cfg.Log.Level = slog.LevelWarn.String()
	records, err := sampleRecords(&cfg.Input)
	if err != nil {
		return err
	}
	// The topics must exist before the service starts, because the service remembers for a second that a topic is missing.
	if err := consumer.EnsureTopics(ctx, cfg.Kafka); err != nil {
		return err
	}
	s, err := service.New(ctx, cfg, cfg.Log.NewLogger(logs))
	if err != nil {
		return err
	}
	v := newView(out, &cfg.Input, records, asJSON)
	v.start(cfg.Kafka.Brokers, s.HTTPAddr(), s.RecipeID())

	serviceCtx, stop := context.WithCancel(ctx)
	group, groupCtx := errgroup.WithContext(serviceCtx)
	group.Go(func() error { return s.Run(groupCtx) })
	group.Go(func() error {
		defer func() {
			if !serve {
				stop()
			}
		}()
		if err := publishSample(groupCtx, cfg.Kafka, records); err != nil {
			return err
		}
		return watchVerdicts(groupCtx, cfg.Kafka, v, len(records), serve)
	})
	err = group.Wait()
	stop()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if err == nil && !serve && v.seen < len(records) {
		err = fmt.Errorf("demo: stopped after %d of %d verdicts", v.seen, len(records))
	}
	return err
}

// publishSample publishes the records, all with the same time.
func publishSample(ctx context.Context, cfg consumer.Config, records []pipeline.Record) (err error) {
	p, err := consumer.NewProducer(cfg, cfg.Topics.Input)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	now := time.Now()
	for i := range records {
		records[i].Time = now
	}
	return p.Produce(ctx, records)
}

// watchVerdicts reads the output topics as any consumer would, and shows each record until want records were shown. With serve it goes
// on until ctx ends.
func watchVerdicts(ctx context.Context, cfg consumer.Config, v *view, want int, serve bool) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(cfg.Brokers...),
		kgo.ConsumeTopics(cfg.Topics.Unique, cfg.Topics.Duplicate, cfg.Topics.Dead),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(100*time.Millisecond),
	)
	if err != nil {
		return fmt.Errorf("demo: reading the verdicts: %w", err)
	}
	defer client.Close()
	sampleCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for v.seen < want {
		fetches := client.PollFetches(sampleCtx)
		fetches.EachRecord(v.show)
		if sampleCtx.Err() != nil && v.seen < want {
			return fmt.Errorf("demo: %d of %d verdicts arrived: %w", v.seen, want, sampleCtx.Err())
		}
	}
	v.summary()
	if serve {
		v.invite(cfg.Brokers)
	}
	for serve && ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(v.show)
	}
	return nil
}

// sampleRecords makes a record of each line of the shipped sample. The key is the id of the article, as crawlers set it.
func sampleRecords(decode *pipeline.DecodeConfig) ([]pipeline.Record, error) {
	var records []pipeline.Record
	for line := range sample.Lines() {
		r := pipeline.Record{Value: line}
		if content, reject := decode.Decode(&r); reject == nil {
			r.Key = []byte(content.ID)
		}
		records = append(records, r)
	}
	if len(records) == 0 {
		return nil, errors.New("demo: the shipped sample is empty")
	}
	return records, nil
}
