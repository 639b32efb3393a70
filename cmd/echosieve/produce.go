package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"echosieve/internal/command"
	"echosieve/internal/config"
	"echosieve/internal/files"
	"echosieve/internal/produce"
	"echosieve/pipeline"
)

const produceHelp = `Produce publishes JSON Lines, one article a line, into the input topic. Each line becomes the value of one
record, unchanged. The id of the article, if it has one, becomes the key. Files may be compressed with gzip or zstd, whatever
their names are. "-" is standard input, and so is no file. The output of mongoexport can be published directly.

A line that is no JSON object, or is too long for the topic, is reported with its file and line number, counted and left
out. With --strict the command stops at such a line. A line without text is published, and the service refuses it.

Exit codes: 0 all lines published; 1 some lines were bad; 2 failed, or no line was an article.`

func newProduceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "produce [FILE...]",
		Short:   "Publish articles from JSON Lines into the input topic",
		GroupID: groupService,
		Long:    produceHelp,
		Example: `  echosieve produce --config echosieve.yaml 2026-*.jsonl.zst
  mongoexport --collection articles | echosieve produce --kafka.brokers kafka:9092`,
	}
	asJSON := command.AddJSONFlag(cmd)
	strict := cmd.Flags().Bool("strict", false, "stop at the first bad line")
	config.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		cfg, err := config.Load(cmd.Flags())
		if err != nil {
			return err
		}
		if cfg.Input.Format != pipeline.FormatJSON {
			return fmt.Errorf("produce publishes JSON, but input.format is %s; set it to json", cfg.Input.Format)
		}
		in := cmd.InOrStdin()
		if len(names) == 0 && files.OnTerminal(in) {
			return errors.New("no file named, and standard input is a terminal; name files of " + files.HoldsArticles)
		}
		if len(names) == 0 {
			names = []string{"-"}
		}
		if err := produce.Ready(cmd.Context(), cfg, names); err != nil {
			return err
		}
		summary, err := produce.Files(cmd.Context(), cfg, names, in, cmd.ErrOrStderr(), *strict)
		if noArticle := (*files.NoArticleError)(nil); errors.As(err, &noArticle) {
			return err
		}
		return errors.Join(printSummary(cmd.OutOrStdout(), summary, *asJSON), err)
	}
	return cmd
}

func printSummary(w io.Writer, s produce.Summary, asJSON bool) error {
	if asJSON {
		return command.PrintJSON(w, s)
	}
	_, err := fmt.Fprintf(w, "%d records published to %s in %.1f s (%.0f/s), %d bad lines\n",
		s.Published, s.Topic, s.Seconds, s.PerSecond, s.Bad)
	return err
}
