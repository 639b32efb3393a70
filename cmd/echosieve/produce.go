package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"echosieve/consumer"
	"echosieve/pipeline"
)

const (
	produceBatchRecords = 1000
	produceBatchBytes   = 4 << 20
	// recordOverhead is what a batch of one record takes beside key and value, generously.
	recordOverhead = 128
)

const produceHelp = `Produce publishes JSON Lines, one article a line, into the input topic. Each line becomes one record's value
as it is; the article's id, if it has one, becomes the key. Files may be compressed with gzip or zstd whatever
they are called; "-" or no file is standard input. What mongoexport writes can be read as it is.

A line that is no JSON object or too long for the topic is reported with its file and line number, counted and
left out; --strict stops there. A line without text is published: it is for the service to refuse it.

Exit codes: 0 all lines published; 1 some lines were bad; 2 failed, or no line was an article.`

// produceSummary is the command's result.
type produceSummary struct {
	Topic     string  `json:"topic"`
	Published int64   `json:"published"` // records acknowledged
	Bad       int64   `json:"bad"`       // lines left out
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"per_second"`
}

func newProduceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "produce [FILE...]",
		Short:   "Publish articles from JSON Lines into the input topic",
		GroupID: groupService,
		Long:    produceHelp,
		Example: `  echosieve produce --config echosieve.yaml 2026-*.jsonl.zst
  mongoexport --collection articles | echosieve produce --kafka.brokers kafka:9092`,
	}
	asJSON := addJSONFlag(cmd)
	strict := cmd.Flags().Bool("strict", false, "stop at the first bad line")
	addConfigFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		cfg, err := loadConfig(cmd)
		if err != nil {
			return err
		}
		if cfg.Input.Format != pipeline.FormatJSON {
			return fmt.Errorf("produce publishes JSON, but input.format is %s; set it to json", cfg.Input.Format)
		}
		in := cmd.InOrStdin()
		if len(files) == 0 && onTerminal(in) {
			return errors.New("no file named, and standard input is a terminal; name files of " + holdsArticles)
		}
		if len(files) == 0 {
			files = []string{"-"}
		}
		if err := readyToProduce(cmd.Context(), cfg, files); err != nil {
			return err
		}
		summary, err := produceFiles(cmd.Context(), cfg, files, in, cmd.ErrOrStderr(), *strict)
		if noArticle := (*noArticleError)(nil); errors.As(err, &noArticle) {
			return err
		}
		return errors.Join(printSummary(cmd.OutOrStdout(), summary, *asJSON), err)
	}
	return cmd
}

func printSummary(w io.Writer, s produceSummary, asJSON bool) error {
	if asJSON {
		return printJSON(w, s)
	}
	_, err := fmt.Fprintf(w, "%d records published to %s in %.1f s (%.0f/s), %d bad lines\n",
		s.Published, s.Topic, s.Seconds, s.PerSecond, s.Bad)
	return err
}

// readyToProduce finds out what would stop the command, before it reads anything.
func readyToProduce(ctx context.Context, cfg Config, files []string) error {
	for _, name := range files {
		if name == "-" {
			continue
		}
		if err := checkFile(name, holdsArticles); err != nil {
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

// produceFiles publishes all files. The summary counts what was done, also beside an error, which is an
// *answerError if it is about bad lines.
func produceFiles(
	ctx context.Context, cfg Config, files []string, stdin io.Reader, errOut io.Writer, strict bool,
) (produceSummary, error) {
	summary := produceSummary{Topic: cfg.Kafka.Topics.Input}
	out, err := consumer.NewProducer(cfg.Kafka, cfg.Kafka.Topics.Input)
	if err != nil {
		return summary, err
	}
	p := &lineProducer{cfg: cfg, strict: strict, out: out, progress: newProgress(errOut, sizeOf(files), out.Acknowledged)}
	stop := p.progress.start()
	for _, file := range files {
		if err = p.file(ctx, file, stdin); err != nil {
			break
		}
	}
	if bad := (*answerError)(nil); err == nil || errors.As(err, &bad) {
		err = errors.Join(p.flush(ctx), err) // with --strict all lines before the bad one are published
	}
	// Close waits for what is under way, and may be the one to say that it failed.
	if failed := out.Close(); failed != nil {
		err = failed
	}
	stop()
	if ctx.Err() != nil {
		err = errors.New("interrupted: the rest was not published")
	}
	if err == nil && !p.good {
		return summary, errNoArticle(files, cfg.Input, p.first)
	}
	p.release()

	seconds := time.Since(p.progress.began).Seconds()
	summary.Published, summary.Bad = out.Acknowledged(), p.progress.bad.Load()
	summary.Seconds, summary.PerSecond = seconds, float64(summary.Published)/max(seconds, 1e-3)
	if err == nil && summary.Bad > 0 {
		err = &answerError{fmt.Sprintf("%d bad lines were not published", summary.Bad)}
	}
	return summary, err
}

// sizeOf adds the files' sizes, -1 if one has none, as standard input and pipes.
func sizeOf(files []string) int64 {
	var total int64
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return -1
		}
		total += info.Size()
	}
	return total
}
