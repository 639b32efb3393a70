package eval

import (
	"fmt"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/cmd/echosieve-lab/internal/eval/report"
	"echosieve/pipeline/article"
	"echosieve/pipeline/page"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/text"
)

const ablateHelp = `Ablate says what each part of the recipe is worth on your articles: it switches off one row, one
kind of evidence, one rule that leaves out text, one list of words or one named set at a time, and counts the copies and
look-alikes that are joined more or fewer. Each change has its 95 % interval if families are resampled, and the number
of families with a change: a change in one family may be chance.

The pairs are those of eval pairs: of --docs and --pairs, and made by known edits of the articles in each FILE.`

const ablateExample = `  echosieve-lab eval ablate --docs articles.jsonl.gz --pairs pairs.tsv
  echosieve-lab eval ablate --part second tr.jsonl.gz sw.jsonl.gz

  # which kinds of pairs change without the row about beginnings?
  echosieve-lab eval ablate --json --docs articles.jsonl.gz --pairs pairs.tsv |
    jq '.[] | select(.off == "row 6, lead") | .kinds'`

func newAblateCommand() *cobra.Command {
	var o pairFlags
	cmd := &cobra.Command{
		Use:     "ablate [FILE...]",
		Short:   "Switch off each part of the rule: which copies and look-alikes are joined then",
		Long:    ablateHelp,
		Example: ablateExample,
		Args:    cobra.ArbitraryArgs,
	}
	asJSON := command.AddJSONFlag(cmd)
	o.add(cmd)
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, names []string) error {
		if err := o.validate(names); err != nil {
			return err
		}
		index := cfg.IndexConfig("recipe")
		if index.Check == nil {
			return fmt.Errorf("recipe %s has no second check", cfg.Recipe)
		}
		set, err := o.articles(cmd, cfg, names)
		if err != nil {
			return err
		}
		variants := figures.Variants(cfg.Detection.Thresholds, index.MaxDistance, index.Plan())
		result, err := figures.Ablate(set.articles, set.pairs, set.ignored, append(variants,
			o.textVariants(cmd, cfg, names, variants[0].Judge)...))
		if err != nil {
			return err
		}
		if *asJSON {
			return command.PrintJSON(cmd.OutOrStdout(), result)
		}
		return report.Ablate(result).Print(cmd.OutOrStdout())
	})
}

// textVariants are the recipe without one text rule or one list of words. Each reads the files again.
func (o *pairFlags) textVariants(cmd *cobra.Command, cfg config.Config, names []string, judge figures.Judge) (
	list []figures.Variant) {
	add := func(name string, off func(d *recipe.Config)) {
		own := cfg
		off(&own.Detection)
		list = append(list, figures.Variant{Name: name, Judge: judge,
			Articles: func() (map[string]article.Article, error) {
				set, err := o.articles(cmd, own, names)
				if err != nil {
					return nil, err
				}
				return set.articles, nil
			}})
	}
	add("text: html article", func(d *recipe.Config) { d.HTML = page.HTMLText })
	for i, rule := range page.Rules() {
		add("text: "+rule, func(d *recipe.Config) { d.Off.Rules = 1 << i })
	}
	for _, words := range text.WordLists() {
		add("words: "+words, func(d *recipe.Config) { d.Off.Words = words })
	}
	return list
}

// articles reads the pairs with articles of the recipe of cfg.
func (o *pairFlags) articles(cmd *cobra.Command, cfg config.Config, names []string) (*pairSet, error) {
	made, err := cfg.LoadRecipe()
	if err != nil {
		return nil, err
	}
	return o.read(cmd, cfg, made, names)
}
