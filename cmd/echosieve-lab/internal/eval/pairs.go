package eval

import (
	"errors"

	"github.com/spf13/cobra"

	"echosieve/app/command"
	"echosieve/app/config"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/cmd/echosieve-lab/internal/eval/report"
)

const pairsHelp = `Pairs judges pairs of articles as the service would if one followed the other within the window, and
compares the verdicts with labels. It prints

  recall               share of the copies that are recognised
  precision            share of copies among the pairs that are judged to be copies
  F1                   harmonic mean of both
  false-positive rate  share of the look-alikes that are judged to be copies
  candidate recall     share of the copies that a look-up in the index finds; recall cannot be higher

Then it prints the share flagged of each kind of pair, what other values of detection.near, short_near and values would
give on these pairs, and the pairs with a wrong verdict. --html shows each of
these pairs side by side, with the reason of its verdict and the differences marked.

Each figure has its 95 % interval. Pairs of one family, such as reports on one template, tend to be right or wrong
together, so families are resampled, not pairs (cluster bootstrap, 2,000 resamples, always the same ones). If a rate is
computed from fewer than 20 families, it may be chance, and the output says so.

--docs has the articles, with the fields named by input.fields (id, title, text). --pairs has
tab-separated lines "id_a id_b label kind" below a header line that begins with id_a. A column "base" or "cluster" names
the family of a pair, several names with commas between them. If it is missing or empty, the fields "base" or
"cluster" of the two articles name it. Pairs with a name in common, directly or through other pairs of the same rate,
are one family. A pair without a name is a family by itself. Further columns are ignored.
If several articles have one id, ID is the first of them in the file, and ID#2 the second. A pair of one id twice is the
first and the second.
Labels are 1 for a copy, 0 for a look-alike that is no copy, "version" for another version of A that should be
published, -1 for a pair that is debatable, such as a partial copy. A version is wrong only if it is dropped. Versions
and debatable pairs count only in separate tables by kind, and pairs in the --ignore file (id_a, id_b) only in its row
"ignored". A file of marks that a page of dropped articles has saved holds the articles, and needs no --docs.

Each FILE of articles, named by its language such as tr.jsonl.gz, gives pairs without labels: copies by known edits
(words replaced, sentences cut, added or moved, accents lost, capitals, ...), versions of one publisher (takes of a
story, live blogs that grow) and look-alikes (two articles within one frame, all numbers changed, round-ups, ...).
--part takes one half of the families: choose constants on one half, and report on the other.`

const pairsExample = `  # a report with charts
  echosieve-lab eval pairs --docs articles.jsonl.gz --pairs pairs.tsv --ignore ignore.tsv --html report.html

  # which figures has a stricter second check, and which has a classic recipe?
  echosieve-lab eval pairs --docs articles.jsonl.gz --pairs pairs.tsv --detection.near 0.5
  echosieve-lab eval pairs --docs articles.jsonl.gz --pairs pairs.tsv --recipe classic-fnv

  # in continuous integration: exit code 1 unless all three hold
  echosieve-lab eval pairs --docs articles.jsonl.gz --pairs pairs.tsv \
    --min-recall 0.6 --min-precision 0.99 --max-fpr 0.04

  # in any language, without labels
  echosieve-lab eval pairs tr.jsonl.gz

  # one figure for a script
  echosieve-lab eval pairs --docs articles.jsonl.gz --pairs pairs.tsv --json | jq .kinds.natural_dup`

func newPairsCommand() *cobra.Command {
	var o pairFlags
	cmd := &cobra.Command{
		Use:     "pairs [FILE...]",
		Short:   "Judge pairs, labelled or made by edits: recall, precision, false alarms, by kind and by distance",
		Long:    pairsHelp,
		Example: pairsExample,
		Args:    cobra.ArbitraryArgs,
	}
	o.add(cmd)
	output := newOutput(cmd, "charts and all wrong pairs", report.Pairs, pairFigures)
	output.limit("min-recall", "exit with 1 if recall is below this", true, 1)
	output.limit("min-precision", "exit with 1 if precision is below this", true, 1)
	output.limit("min-f1", "exit with 1 if F1 is below this", true, 1)
	output.limit("min-candidate-recall", "exit with 1 if candidate recall is below this", true, 1)
	output.limit("max-fpr", "exit with 1 if the false-positive rate is above this", false, 1)
	return command.Configured(cmd, func(cmd *cobra.Command, cfg config.Config, names []string) error {
		if err := errors.Join(o.validate(names), output.validate()); err != nil {
			return err
		}
		result, recipeID, err := o.eval(cmd, cfg, names, output.html != "")
		if err != nil {
			return err
		}
		return output.show(result, recipeID, append(names, o.docs, o.pairs, o.ignore)...)
	}, "recipe", "detection", "input")
}

func pairFigures(r figures.PairsResult) []figure {
	return []figure{
		{"min-recall", "recall", r.Recall}, {"min-precision", "precision", r.Precision}, {"min-f1", "F1", r.F1},
		{"min-candidate-recall", "candidate recall", r.CandidateRecall},
		{"max-fpr", "false-positive rate", r.FalsePositiveRate},
	}
}

// eval judges the pairs. With withTexts it adds their texts to labelled pairs with a wrong verdict.
func (o *pairFlags) eval(cmd *cobra.Command, cfg config.Config, names []string, withTexts bool) (
	result figures.PairsResult, recipeID string, err error) {
	recipe, err := cfg.LoadRecipe()
	if err != nil {
		return result, "", err
	}
	set, err := o.read(cmd, cfg, recipe, names)
	if err != nil {
		return result, "", err
	}
	index := cfg.IndexConfig("recipe")
	result, err = figures.Pairs(set.articles, set.pairs, set.ignored,
		figures.ByRecipe(index.Rule, index.Plan(), index.Policy))
	result.Curves, _ = curves(cfg, func(c config.Config) (*figures.Tally, error) {
		index := c.IndexConfig("recipe")
		return figures.TallyPairs(set.articles, set.pairs, set.ignored,
			figures.ByRecipe(index.Rule, index.Plan(), index.Policy)), nil
	})
	if err != nil || !withTexts || o.pairs == "" {
		return result, recipe.ID(), err
	}
	if o.docs == "" {
		for i, p := range result.Wrong {
			if a, known := set.contents[p.A]; known {
				result.Wrong[i].Beside = besideOf(a, set.contents[p.B])
			}
		}
		return result, recipe.ID(), nil
	}
	var drawn []figures.Dropped // of the wrong pairs, those that are labelled
	for i, p := range result.Wrong {
		if a, labelled := set.places[p.A]; labelled {
			drawn = append(drawn, figures.Dropped{Group: i, Article: set.places[p.B].line, Original: a.line})
		}
	}
	beside, err := besides(cmd.Context(), cfg, o.docs, drawn)
	for i, b := range beside {
		result.Wrong[drawn[i].Group].Beside = b
	}
	return result, recipe.ID(), err
}
