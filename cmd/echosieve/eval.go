package main

import (
	"github.com/spf13/cobra"

	"echosieve/cmd/echosieve/internal/eval"
)

const evalHelp = `Eval measures the filter on articles of your own, so that its settings need not be taken on trust.

  pairs       for labelled pairs: recall, precision, false alarms, by kind of pair and by Hamming distance
  stream      for a labelled stream in time order: copies caught and originals dropped, by the whole service
              without Kafka
  threshold   without labels: how many articles each limit would flag, and sampled pairs near the border side by
              side, to choose a limit by reading them

Every setting of the service (--detection.*, --recipe, --window, --input.fields.*) can be given to each of them, or
a file with --config: measure the settings that you run, then the ones that you consider.

A miss costs a reader a repeated article; a false alarm costs an article that nobody will see. The second is worse:
begin with false alarms and dropped originals, then raise recall as far as they allow.

Articles are JSON Lines, plain, .gz or .zst, read as the service reads them. Figures go to standard output, as JSON
with --json; --html writes a report with charts into one file that loads nothing from anywhere. Limits such as
--min-recall make the exit code 1 when they are not kept, for use in continuous integration.`

const evalExample = `  echosieve eval pairs --docs articles.jsonl.gz --pairs pairs.tsv --html report.html
  echosieve eval stream --docs stream.jsonl.gz --min-caught 0.9 --max-dropped 0
  echosieve eval threshold --docs articles.jsonl.gz --html look.html`

func newEvalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "eval",
		GroupID: groupTry,
		Short:   "Measure on your own articles how well copies are told from look-alikes",
		Long:    evalHelp,
		Example: evalExample,
	}
	cmd.AddCommand(newEvalPairsCommand(), newEvalStreamCommand(), newEvalThresholdCommand())
	return cmd
}

// newJudge is the rule by which the service tells two articles from copies. It is chosen nowhere else in eval.
func newJudge(cfg Config) eval.Judge {
	index := cfg.index("recipe")
	return eval.ByRecipe(index.Rule, index.Plan())
}

// newScale is the setting that decides what is a copy, which eval threshold helps to choose.
func newScale(cfg Config) eval.Scale {
	index := cfg.index("recipe")
	if index.Check == nil {
		return eval.DistanceScale(index.MaxDistance)
	}
	return eval.SimilarityScale(index.Rule, index.Plan(), cfg.Detection.Thresholds)
}
