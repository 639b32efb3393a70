package eval

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/cmd/echosieve-lab/internal/eval/report"
	"echosieve/cmd/echosieve-lab/internal/eval/tables"
	"echosieve/internal/app/command"
	"echosieve/internal/app/config"
	"echosieve/pipeline/article"
)

const thresholdHelp = `Threshold helps to choose a limit without labels: the least similarity of a copy (--detection.near), or, for recipes
where only the distance decides, the largest distance (--detection.max_distance). For each article of a file it finds the
most similar earlier article, and prints for every limit how many articles it would flag. Then it shows some pairs on
each side of the present limit, side by side, with the differences marked. Read them: at which limit do copies end and
look-alikes begin?

A good limit lies in a valley: most real copies are very similar, unrelated articles are not, and there are few pairs
between them. If look-alikes (market reports, weather, fixtures) begin before the valley, choose a limit that none of
them reaches.

All articles of the file are compared with each other, whatever their times. The time grows with the square of their number,
which --limit bounds. Texts are shown as the filter compares them: without markup, in lower case and simplified script.
The same --seed shows the same pairs again.`

const thresholdExample = `  # what would each limit flag? With pairs to read in a browser
  echosieve-lab eval threshold --docs articles.jsonl.gz --html look.html

  # ten pairs of each limit, only next to the present one
  echosieve-lab eval threshold --docs articles.jsonl.gz --span 1 --each 10

  # another present limit: which pairs are near it?
  echosieve-lab eval threshold --docs articles.jsonl.gz --detection.near 0.5

  # other pairs
  echosieve-lab eval threshold --docs articles.jsonl.gz --seed 2`

// thresholdOptions holds the values of the flags of eval threshold.
type thresholdOptions struct {
	docs              string
	span, each, limit int
	seed              uint64
}

func newThresholdCommand() *cobra.Command {
	var o thresholdOptions
	cmd := &cobra.Command{
		Use:     "threshold --docs FILE",
		Short:   "Without labels: what each limit would flag, with pairs near the border to read",
		Long:    thresholdHelp,
		Example: thresholdExample,
		Args:    command.NoArgs,
	}
	cmd.Flags().StringVar(&o.docs, "docs", "", "file of articles")
	output := newOutput(cmd, "charts and pairs", report.Threshold, tables.Threshold)
	cmd.Flags().IntVar(&o.span, "span", 3, "limits on each side of the present one of which pairs are shown")
	cmd.Flags().IntVar(&o.each, "each", 3, "pairs to show of each limit")
	cmd.Flags().IntVar(&o.limit, "limit", 50_000, "articles to read at most")
	cmd.Flags().Uint64Var(&o.seed, "seed", 1, "which pairs are drawn")
	config.AddFlags(cmd.Flags(), "recipe", "detection", "input")
	_ = cmd.MarkFlagRequired("docs") // fails only for a flag that does not exist
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if o.span < 0 || o.each < 0 || o.limit < 1 {
			return errors.New("--span and --each must not be negative, --limit must be at least 1")
		}
		if err := output.validate(); err != nil {
			return err
		}
		cfg, err := config.Load(cmd.Flags())
		if err != nil {
			return err
		}
		result, recipeID, err := evalThreshold(cmd, cfg, o)
		if err != nil {
			return err
		}
		return output.show(cmd.OutOrStdout(), result, recipeID, o.docs)
	}
	return cmd
}

func evalThreshold(cmd *cobra.Command, cfg config.Config, o thresholdOptions) (figures.ThresholdResult, string, error) {
	ctx, scale := cmd.Context(), newScale(cfg)
	recipe, err := cfg.LoadRecipe()
	if err != nil {
		return figures.ThresholdResult{}, "", err
	}
	reader := newReader(cmd, o.docs)
	list, err := reader.fingerprint(ctx, cfg, recipe, o.docs, o.limit)
	if err := reader.finish(cmd.ErrOrStderr(), cfg.Input.AsJSON(), err); err != nil {
		return figures.ThresholdResult{}, "", err
	}
	articles := make([]article.Article, len(list))
	for i, a := range list {
		articles[i] = a.article
	}
	limits, err := figures.Limits(ctx, articles, scale)
	if err != nil {
		return figures.ThresholdResult{}, "", fmt.Errorf("interrupted: %w", err)
	}
	result := figures.ThresholdResult{
		LimitsResult: limits, Current: scale.Limits[scale.Current], Seed: o.seed, Samples: []figures.SamplePair{},
	}
	drawn := limits.Sample(scale.Current-o.span, scale.Current+o.span, o.each, o.seed)
	wanted := map[int]bool{}
	for _, pair := range drawn {
		wanted[pair.Article], wanted[pair.Earlier] = true, true
	}
	texts, err := articlesAt(ctx, cfg, o.docs, wanted)
	if err != nil {
		return figures.ThresholdResult{}, "", err
	}
	for _, pair := range drawn {
		shown := figures.SamplePair{Limit: scale.Limits[pair.Level]}
		shown.Earlier, shown.Later = sidesOf(texts[pair.Earlier], texts[pair.Article])
		result.Samples = append(result.Samples, shown)
	}
	return result, recipe.ID(), nil
}
