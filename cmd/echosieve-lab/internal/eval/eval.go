// Package eval is the command eval with its commands pairs, stream, versus and ablate. They read files of articles and
// send them through the stages of the service. Package figures computes the figures, package report shows them.
package eval

import "github.com/spf13/cobra"

const help = `Eval measures the filter on your own articles.

  pairs       for pairs, labelled or made by known edits: recall, precision, false alarms, by kind and by distance
  stream      for a labelled stream in time order: copies caught and originals dropped, without Kafka
              and Redis
  versus      without labels: which articles one recipe drops and another keeps, side by side with their originals
  ablate      which copies and look-alikes are joined if a part of the rule is switched off

Every setting of the service (--detection.*, --recipe, --window, --input.fields.*) can be given to each of them, or
a file with --config: measure the settings that you run, then the settings that you consider.

After a miss a reader sees an article twice. After a false alarm nobody sees the article. A false alarm is worse: reduce
false alarms and dropped originals first, then raise recall as far as they stay low.

Files of articles are read as produce reads them. Figures go to standard output, as JSON with --json. --html writes a
report with charts into one file that needs no other file and no network. Limits such as --min-recall make the exit code
1 when they are not kept, for use in continuous integration.`

const example = `  echosieve-lab eval pairs --docs articles.jsonl.gz --pairs pairs.tsv --html report.html
  echosieve-lab eval stream --docs stream.jsonl.gz --min-caught 0.9 --max-dropped 0
  echosieve-lab eval versus articles.jsonl.gz --html versus.html`

// Command returns the command eval with its commands.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "eval",
		Short:   "Measure on your own articles how well copies are told from look-alikes",
		Long:    help,
		Example: example,
	}
	cmd.AddCommand(newPairsCommand(), newStreamCommand(), newAblateCommand(), newVersusCommand())
	return cmd
}
