package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/app/produce"
	"echosieve/app/visible"
)

// mostRate bounds --rate. No single process publishes that many records a second.
const mostRate = 1_000_000

const produceHelp = `Produce publishes articles into the input topic. Each line of JSON Lines becomes the value of one
record, unchanged. Also recognised are JSON lists, JSON over several lines, CSV and TSV with a header that names the
text, and WARC (the page's address becomes the id, WARC-Date the record's time). The id of the article, if it
has one, becomes the key. Without --rate the first 1,000 records of a run go into one partition, so that the
service judges them in the order of the files; further ones are placed by their key. Files may be compressed
with gzip or zstd, whatever their names are. "-", or no file, means standard input. The output of mongoexport
can be published directly.

A line, row or element that is damaged, or too long for the topic, is reported with its file and line
number (the first ten), counted and left out. With --strict the command stops at it. Damage behind which nobody knows
where the next row or element of a table or list begins ends that file. So do a hundred pieces without an article at the
beginning: it is no file of articles, or their text stands under another name, and the message has the names. Other
articles without text are published and become dead letters. Pages of a WARC file are decoded as browsers do it;
responses without a page are counted by cause.

With --sample the shipped sample is published instead of a file: 77 invented articles in Chinese and
English, with copies, look-alikes and broken lines. Do not send it to a topic of real ones.

A lost connection is waited for. A lost acknowledgement can repeat a thousand records. If the command ends before the
files do, it names the number of records with which --skip goes on.

Exit codes: 0 all lines published; 1 some lines were bad; 2 failed, or no
line was an article.`

func newProduceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "produce [FILE...]",
		Short: "Publish articles from files into the input topic",
		Long:  produceHelp,
		Example: `  echosieve produce --config echosieve.yaml 2026-*.jsonl.zst
  mongoexport --collection articles | echosieve produce --kafka.brokers kafka:9092
  echosieve produce --sample --rate 5 --kafka.brokers kafka:9092`,
	}
	asJSON := command.AddJSONFlag(cmd)
	strict := cmd.Flags().Bool("strict", false, "stop at the first bad line")
	fromSample := cmd.Flags().Bool("sample", false, "publish the shipped sample instead of files")
	rate := cmd.Flags().Float64("rate", 0, "records a second; 0: as fast as possible")
	skip := cmd.Flags().Int64("skip", 0, "records at the beginning of the files that an earlier run has published")
	unquoted := command.AddUnquotedFlag(cmd)
	config.AddFlags(cmd.Flags(), "kafka", "input")
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if err := sampleFlags(names, *fromSample, *strict || *skip != 0, *rate); err != nil {
			return err
		}
		cfg, err := config.Load(cmd.Flags())
		if err != nil {
			return err
		}
		if topics := cfg.Kafka.Topics.Inputs; len(topics) > 1 {
			return fmt.Errorf("kafka.topics.input has %s: name the one to publish into with --kafka.topics.input",
				strings.Join(topics, ", "))
		}
		if err := files.PublishesJSON(cfg.Input.Config); err != nil {
			return err
		}
		if !*fromSample {
			if names, err = files.Named(names, cmd.InOrStdin()); err != nil {
				return err
			}
		}
		if err := produce.Ready(cmd.Context(), cfg, cmd.ErrOrStderr()); err != nil {
			return err
		}
		var summary produce.Summary
		if *fromSample {
			summary, err = produce.Sample(cmd.Context(), cfg, cmd.ErrOrStderr(), *rate)
		} else {
			summary, err = produce.Files(cmd.Context(), cfg, names, cmd.InOrStdin(), cmd.ErrOrStderr(),
				produce.Options{Strict: *strict, Rate: *rate, Unquoted: *unquoted, Skip: *skip})
		}
		if noArticle := (*files.NoArticleError)(nil); errors.As(err, &noArticle) && summary.Published == 0 {
			return err
		}
		return errors.Join(command.Print(cmd, *asJSON, summary, func() string { return summaryText(&summary) }), err)
	}
	return cmd
}

// sampleFlags refuses flags that exclude or need each other. ofFiles says that --strict or --skip is set.
func sampleFlags(names []string, fromSample, ofFiles bool, rate float64) error {
	switch {
	case !(rate >= 0 && rate <= mostRate): // also not a number
		return fmt.Errorf("--rate must be between 0 and %d", mostRate)
	case fromSample && len(names) > 0:
		return fmt.Errorf("--sample takes the place of files; leave out --sample or %s", names[0])
	case fromSample && ofFiles:
		return errors.New("--strict and --skip are about the lines of files; leave them out with --sample")
	}
	return nil
}

func summaryText(s *produce.Summary) string {
	line := fmt.Sprintf("%s published to %s in %.1f s (%.0f/s), %s\n", visible.Count(s.Published, "record"), s.Topic,
		s.Seconds, s.PerSecond, visible.Count(s.Bad, "bad line"))
	if s.Refused > 0 {
		line += fmt.Sprintf("%d of the records will be dead letters: %s; see input.fields\n", s.Refused, s.Reason)
	}
	return line
}
