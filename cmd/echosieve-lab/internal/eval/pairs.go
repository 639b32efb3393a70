package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/cmd/echosieve-lab/internal/eval/report"
	"echosieve/cmd/echosieve-lab/internal/eval/tables"
	"echosieve/internal/app/command"
	"echosieve/internal/app/config"
	"echosieve/internal/app/files"
	"echosieve/pipeline/article"
)

const pairsHelp = `Pairs judges pairs of articles as the service would if one followed the other within the window, and compares the
verdicts with labels. It prints

  recall               share of the copies that are recognised
  precision            share of copies among the pairs that are judged to be copies
  F1                   harmonic mean of both
  false-positive rate  share of the look-alikes that are judged to be copies
  candidate recall     share of the copies that a look-up in the index finds; recall cannot be higher

Then it prints the share flagged of each kind of pair, the figures that a plain limit on the Hamming distance would give at
every distance from 0 to 32 bits if all pairs were compared, and the pairs with a wrong verdict. --html shows each of these
pairs side by side, with the reason of its verdict and the differences marked.

Each figure has its 95 % interval. Pairs of one family, such as reports on one template, tend to be right or wrong
together, so families are resampled, not pairs (cluster bootstrap, 2,000 resamples, always the same ones). If a rate is
computed from fewer than 20 families, it may be chance, and the output says so.

--docs has the articles, with the fields named by input.fields (id, title, text). --pairs has
tab-separated lines "id_a id_b label kind" below a header line that begins with id_a. A column "base" or "cluster" names
the family of a pair, several names with commas between them. If it is missing or empty, the fields "base" or
"cluster" of the two articles name it. Pairs with a name in common, directly or through other pairs of the same rate, are
one family. A pair without a name is a family by itself. Further columns are ignored.
If several articles have one id, ID is the first of them in the file, and ID#2 the second. A pair of one id twice is the
first and the second.
Labels are 1 for a copy, 0 for a look-alike that is no copy, -1 for a pair that is debatable, such as a partial copy. Debatable
pairs count only in a separate table by kind, and pairs in the --ignore file (id_a, id_b) only in its row "ignored".`

const pairsExample = `  # a report with charts
  echosieve-lab eval pairs --docs articles.jsonl.gz --pairs pairs.tsv --ignore ignore.tsv --html report.html

  # which figures has a stricter second check, and which has a classic recipe?
  echosieve-lab eval pairs --docs articles.jsonl.gz --pairs pairs.tsv --detection.near 0.5
  echosieve-lab eval pairs --docs articles.jsonl.gz --pairs pairs.tsv --recipe classic-fnv

  # in continuous integration: exit code 1 unless all three hold
  echosieve-lab eval pairs --docs articles.jsonl.gz --pairs pairs.tsv \
    --min-recall 0.6 --min-precision 0.99 --max-fpr 0.04

  # one figure for a script
  echosieve-lab eval pairs --docs articles.jsonl.gz --pairs pairs.tsv --json | jq .kinds.natural_dup`

func newPairsCommand() *cobra.Command {
	var docs, pairs, ignore string
	cmd := &cobra.Command{
		Use:     "pairs --docs FILE --pairs FILE",
		Short:   "Judge labelled pairs: recall, precision, false alarms, by kind and by distance",
		Long:    pairsHelp,
		Example: pairsExample,
		Args:    command.NoArgs,
	}
	cmd.Flags().StringVar(&docs, "docs", "", "file of articles")
	cmd.Flags().StringVar(&pairs, "pairs", "", "labelled pairs, tab-separated")
	cmd.Flags().StringVar(&ignore, "ignore", "", "pairs that count only in a separate row, tab-separated")
	output := newOutput(cmd, "charts and all wrong pairs", report.Pairs, tables.Pairs)
	limits := gates{cmd: cmd}
	limits.add("min-recall", "exit with 1 if recall is below this", true, 1)
	limits.add("min-precision", "exit with 1 if precision is below this", true, 1)
	limits.add("min-f1", "exit with 1 if F1 is below this", true, 1)
	limits.add("min-candidate-recall", "exit with 1 if candidate recall is below this", true, 1)
	limits.add("max-fpr", "exit with 1 if the false-positive rate is above this", false, 1)
	config.AddFlags(cmd.Flags(), "recipe", "detection", "input")
	for _, required := range []string{"docs", "pairs"} {
		_ = cmd.MarkFlagRequired(required) // fails only for a flag that does not exist
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := errors.Join(limits.validate(), output.validate()); err != nil {
			return err
		}
		cfg, err := config.Load(cmd.Flags())
		if err != nil {
			return err
		}
		result, recipeID, err := evalPairs(cmd, cfg, docs, pairs, ignore, output.html != "")
		if err != nil {
			return err
		}
		if err := output.show(cmd.OutOrStdout(), result, recipeID, docs, pairs, ignore); err != nil {
			return err
		}
		return limits.check(
			figure{"min-recall", "recall", result.Recall},
			figure{"min-precision", "precision", result.Precision},
			figure{"min-f1", "F1", result.F1},
			figure{"min-candidate-recall", "candidate recall", result.CandidateRecall},
			figure{"max-fpr", "false-positive rate", result.FalsePositiveRate},
		)
	}
	return cmd
}

// evalPairs judges the pairs. With withTexts it adds their texts to pairs with a wrong verdict.
func evalPairs(cmd *cobra.Command, cfg config.Config, docs, pairs, ignore string, withTexts bool) (
	figures.PairsResult, string, error) {
	labelled, err := readPairs(cmd.Context(), pairs, true)
	if err != nil {
		return figures.PairsResult{}, "", err
	}
	var ignored []figures.Pair
	if ignore != "" {
		if ignored, err = readPairs(cmd.Context(), ignore, false); err != nil {
			return figures.PairsResult{}, "", err
		}
	}
	recipe, err := cfg.LoadRecipe()
	if err != nil {
		return figures.PairsResult{}, "", err
	}
	reader := newReader(cmd, docs)
	list, err := reader.fingerprint(cmd.Context(), cfg, recipe, docs)
	if err := reader.finish(cmd.ErrOrStderr(), cfg.Input.AsJSON(), err); err != nil {
		return figures.PairsResult{}, "", err
	}
	articles := make(map[string]article.Article, len(list))
	places := make(map[string]fingerprinted, len(list))
	versions := map[string]int{}
	for _, a := range list {
		versions[a.id]++
		name := version(a.id, versions[a.id])
		if _, known := articles[name]; known {
			return figures.PairsResult{}, "", fmt.Errorf("%s: %q names two articles", docs, name)
		}
		articles[name], places[name] = a.article, a
	}
	for _, pairs := range [][]figures.Pair{labelled, ignored} {
		for i, p := range pairs {
			if p.A == p.B {
				p.B = version(p.A, 2)
				pairs[i].B = p.B
			}
			if len(p.Families) == 0 {
				pairs[i].Families = slices.Concat(places[p.A].families, places[p.B].families)
			}
		}
	}
	result, err := figures.Pairs(articles, labelled, ignored, newJudge(cfg))
	if err == nil && withTexts {
		err = addTexts(cmd.Context(), cfg, docs, result.Wrong, places)
	}
	return result, recipe.ID(), err
}

// version is the name of the nth article with an id, in a file of pairs.
func version(id string, n int) string {
	if n == 1 {
		return id
	}
	return fmt.Sprintf("%s#%d", id, n)
}

// addTexts reads the articles of the wrong pairs again, and adds their texts side by side.
func addTexts(ctx context.Context, cfg config.Config, docs string, wrong []figures.WrongPair,
	places map[string]fingerprinted) error {
	wanted := map[int]bool{}
	for _, p := range wrong {
		wanted[places[p.A].line], wanted[places[p.B].line] = true, true
	}
	articles, err := articlesAt(ctx, cfg, docs, wanted)
	if err != nil {
		return err
	}
	for i := range wrong {
		p := &wrong[i]
		p.Beside = besideOf(articles[places[p.A].line], articles[places[p.B].line])
	}
	return nil
}

func readPairs(ctx context.Context, name string, labelled bool) ([]figures.Pair, error) {
	var pairs []figures.Pair
	parser := figures.PairParser{Labelled: labelled}
	err := files.EachLine(ctx, name, files.HoldsPairs, func(line []byte) error {
		p, header, err := parser.Parse(string(line))
		if err == nil && !header {
			pairs = append(pairs, p)
		}
		return err
	})
	if err == nil && labelled && len(pairs) == 0 {
		err = fmt.Errorf("there is no pair in %s; expected are %s", name, files.HoldsPairs)
	}
	return pairs, err
}
