// Package diff is the command diff: what two sets of verdicts about the same articles have in common.
package diff

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/config/schema"
	"echosieve/app/inquiry"
	"echosieve/app/sidebyside"
	"echosieve/pipeline/article"
)

const help = `Diff compares the verdicts of two runs about the same input records, such as those of the service and of a
shadow with other settings: how many agree, what only one of them takes for a copy, by kind and reason, how many copies
have another original or root, and samples of each change with their texts side by side. Each run reads the partitions
in another order: that original and copy change places, or that another original came first, is no change.

A and B are output topics, with commas between them: all topics of a run belong to one side. Verdicts are
joined by the header echosieve-input. Texts are read from the input topic, so a shadow need not publish them.

Each side takes 32 bytes of memory for a record, about twice that while it is read. Diff ends with an error at --most
records; --since reads fewer. It needs Read on the topics and changes nothing.

Exit codes: 0 compared, whatever the differences; 1 no record has a verdict on both sides; 2 failed.`

// Command returns the command diff.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare the verdicts of two runs: a service and a shadow",
		Long:  help,
		Example: `  echosieve diff --config echosieve.yaml --since 24h \
      articles-unique,articles-duplicate,articles-dead articles-shadow
  echosieve diff --config echosieve.yaml old-unique,old-duplicate articles-shadow --samples 10`,
		Args: command.Wants(2, "two sides, A and B (put commas, without spaces, between the topics of one side)"),
	}
	asJSON := command.AddJSONFlag(cmd)
	samples := cmd.Flags().Uint("samples", 3, "samples of each change")
	since := schema.DurationFlag(cmd.Flags(), "since", 0,
		"how far back the records lie whose verdicts are read; 0: all")
	most := cmd.Flags().Uint("most", 10_000_000, "most verdicts of a side")
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, args []string) error {
		reader := inquiry.NewReader(cfg, cmd.ErrOrStderr())
		defer reader.Close()
		l := &loader{reader: reader, places: places{numbers: map[article.Coordinates]uint32{}}, most: int(*most)}
		if *since > 0 {
			l.since = time.Now().Add(-*since)
		}
		a, err := l.load(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		b, err := l.load(cmd.Context(), args[1])
		if err != nil {
			return err
		}
		result := join(a, b, int(*samples))
		if result.Both == 0 {
			return &command.AnswerError{
				Text: fmt.Sprintf("no record has a verdict on both sides: %s has %d, %s has %d; do both come from "+
					"one input topic?", args[0], result.A.Records, args[1], result.B.Records)}
		}
		l.addTexts(cmd.Context(), &result)
		return command.Print(cmd, *asJSON, result, func() string {
			return result.text(sidebyside.TerminalOf(cmd.OutOrStdout()))
		})
	}, "kafka", "input")
}
