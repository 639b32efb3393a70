package eval

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/app/visible"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/cmd/echosieve-lab/internal/eval/report"
)

const streamHelp = `Stream sends labelled articles, in the order of the file, through the service's own stages, batch by
batch, with an index in this process, and compares the verdicts with the labels. It prints, by language, kind and
publisher,

  caught           copies that are judged to be copies
  dropped          originals that are judged to be copies: articles that no reader would see. Each one is listed with
                   the article that it was judged to repeat
  wrong original   caught copies whose root, the unique article at the end of the chain, belongs to another cluster

Then it prints how long after their originals the caught copies came, and how many articles were judged copies of an
article of the same publisher, and of another publisher. With --sample 20 it shows 20 of each side by side, of those
that are dropped without an equal text: read them to find out how many of your drops are wrong.

Of a stream with copies it also prints what other values of detection.near, short_near and values would give, and what
one step costs: each value judges the whole stream anew, with the same fingerprints.

The articles have the fields named by input.fields and these labels:

  ts       time in seconds since 1970; decides, with --window, which articles can be copies of which. If no
           article has a time, each is one second later than the one before
  dup_of   id of the earlier article that this one repeats; without it, an article is an original
  lang     language, for the table by language
  kind     how the copy was made, for the table by kind
  publisher  the path of input.fields.publisher, else the host of the address, for the table by publisher
  ambig    true: skip the article, its label is not certain

Of a stream without any dup_of, the output calls the articles that are judged to be copies flagged: nobody knows which
of them are originals. If you know that the stream holds no copies, every flagged article is wrong.
An article whose original is not in the file, or was skipped, counts as an original.`

const streamExample = `  echosieve-lab eval stream --docs stream.jsonl.gz --html report.html

  # without labels: how many of the drops are wrong?
  echosieve-lab eval stream --docs articles.jsonl.gz --sample 20 --html drops.html

  # what would a window of a day lose?
  echosieve-lab eval stream --docs stream.jsonl.gz --window 24h

  # in continuous integration: exit code 1 unless nine of ten copies are caught in each language and no original is lost
  echosieve-lab eval stream --docs stream.jsonl.gz --min-caught 0.9 --max-dropped 0`

func newStreamCommand() *cobra.Command {
	var docs string
	var sample int
	cmd := &cobra.Command{
		Use:     "stream --docs FILE",
		Short:   "Send a labelled stream through the service: copies caught, originals dropped",
		Long:    streamHelp,
		Example: streamExample,
		Args:    command.NoArgs,
	}
	cmd.Flags().StringVar(&docs, "docs", "", "file of articles in the order in which they come")
	cmd.Flags().IntVar(&sample, "sample", 0, "dropped articles to show side by side, within one publisher and across")
	output := newOutput(cmd, "charts", report.Stream, streamFigures)
	output.limit("min-caught", "exit with 1 if the share of copies caught is below this in some language", true, 1)
	output.limit("max-dropped", "exit with 1 if more originals than this are dropped", false, 1e12)
	output.limit("max-wrong-original", "exit with 1 if more copies than this have a wrong original", false, 1e12)
	_ = cmd.MarkFlagRequired("docs") // fails only for a flag that does not exist
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, _ []string) error {
		if err := output.validate(); err != nil {
			return err
		}
		if sample < 0 {
			return errors.New("--sample must not be negative")
		}
		result, recipeID, err := evalStream(cmd, cfg, docs, sample)
		if err != nil {
			return err
		}
		return output.show(result, recipeID, docs)
	}, "kafka", "redis", "window", "recipe", "detection", "policy", "input", "log")
}

func streamFigures(r figures.StreamResult) []figure {
	total := r.Total()
	figures := []figure{
		{"max-dropped", "number of originals dropped,", float64(total.Dropped)},
		{"max-wrong-original", "number of wrong originals,", float64(total.WrongOriginal)},
	}
	for _, language := range slices.Sorted(maps.Keys(r.Languages)) {
		figures = append(figures, figure{
			"min-caught", "share of copies caught, language " + visible.Line(language) + ",",
			r.Languages[language].CaughtShare(),
		})
	}
	return figures
}

func evalStream(cmd *cobra.Command, cfg config.Config, docs string, sample int) (result figures.StreamResult,
	recipeID string, err error) {
	s, recipeID, err := judgeStream(cmd, cfg, docs, false)
	if err != nil {
		return result, "", err
	}
	if result, err = figures.Stream(s.articles, s.verdicts); err != nil {
		return result, "", fmt.Errorf("%s: %w", docs, err)
	}
	result.Skipped = s.skipped
	if result.Total().Copies > 0 {
		if result.Curves, err = s.curves(cmd); err != nil {
			return result, "", err
		}
	}
	drawn := result.Sample(sample)
	for i, d := range drawn {
		drawn[i].Article, drawn[i].Original = s.places[d.Article], s.places[d.Original]
	}
	beside, err := besides(cmd.Context(), cfg, docs, drawn)
	for i, b := range beside {
		result.Samples = append(result.Samples,
			figures.JoinPair{Publishers: result.Joins[drawn[i].Group].Publishers, Beside: b})
	}
	return result, recipeID, err
}
