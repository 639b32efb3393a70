package eval

import (
	"errors"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"echosieve/cmd/echosieve-lab/internal/eval/edits"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/cmd/echosieve-lab/internal/eval/tables"
	"echosieve/internal/app/command"
	"echosieve/internal/app/config"
	"echosieve/pipeline/article"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/page"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/text"
)

const ablateHelp = `Ablate says what each part of the recipe is worth on your articles: it switches off one row, one kind of evidence, one rule that leaves
out text, one list of words or one named set at a time, and counts the copies and look-alikes that are joined more or fewer. Each change has its 95 % interval if families are
resampled, and the number of families with a change: a change in one family may be chance.

The pairs are those of --docs and --pairs, as eval pairs reads them, and pairs made by known edits of the articles in each FILE,
as eval languages makes them. --part takes one half of the families, by a hash of their names: choose constants on one half and
report on the other.`

const ablateExample = `  echosieve-lab eval ablate --docs articles.jsonl.gz --pairs pairs.tsv
  echosieve-lab eval ablate --part second tr.jsonl.gz sw.jsonl.gz

  # which kinds of pairs change without the row about beginnings?
  echosieve-lab eval ablate --json --docs articles.jsonl.gz --pairs pairs.tsv | jq '.[] | select(.off == "row 6, lead") | .kinds'`

// ablateOptions holds the values of the flags of eval ablate.
type ablateOptions struct {
	docs, pairs, ignore, part, kinds string
	bases                            int
}

func newAblateCommand() *cobra.Command {
	var o ablateOptions
	cmd := &cobra.Command{
		Use:     "ablate [FILE...]",
		Short:   "Switch off each part of the rule: which copies and look-alikes are joined then",
		Long:    ablateHelp,
		Example: ablateExample,
		Args:    cobra.ArbitraryArgs,
	}
	asJSON := command.AddJSONFlag(cmd)
	cmd.Flags().StringVar(&o.docs, "docs", "", "file of the articles of the pairs")
	cmd.Flags().StringVar(&o.pairs, "pairs", "", "labelled pairs, tab-separated")
	cmd.Flags().StringVar(&o.ignore, "ignore", "", "pairs that do not count, tab-separated")
	cmd.Flags().StringVar(&o.kinds, "kinds", kindsAll, kindsHelp)
	cmd.Flags().StringVar(&o.part, "part", partAll,
		"families to use: first or second half by a hash of the name, or all")
	cmd.Flags().IntVar(&o.bases, "bases", 60, "articles of each FILE from which pairs are made")
	config.AddFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if err := o.validate(names); err != nil {
			return err
		}
		cfg, err := config.Load(cmd.Flags())
		if err != nil {
			return err
		}
		index := cfg.IndexConfig("recipe")
		if index.Check == nil {
			return fmt.Errorf("recipe %s has no second check", cfg.Recipe)
		}
		articles, pairs, err := o.read(cmd, cfg, names)
		if err != nil {
			return err
		}
		result, err := figures.Ablate(articles, o.half(pairs), index.Rule, index.Plan(),
			append(figures.Variants(cfg.Detection.Thresholds), o.textVariants(cmd, cfg, names)...))
		if err != nil {
			return err
		}
		if *asJSON {
			return command.PrintJSON(cmd.OutOrStdout(), result)
		}
		return tables.Ablate(cmd.OutOrStdout(), result)
	}
	return cmd
}

// textVariants are the recipe without one text rule or one list of words. Each reads the files again.
func (o *ablateOptions) textVariants(cmd *cobra.Command, cfg config.Config, names []string) (list []figures.Variant) {
	add := func(name string, off func(d *recipe.Config)) {
		own := cfg
		off(&own.Detection)
		list = append(list, figures.Variant{Name: name, Rule: evidence.NewRule(cfg.Detection.Thresholds),
			Articles: func() (map[string]article.Article, error) {
				articles, _, err := o.read(cmd, own, names)
				return articles, err
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

func (o *ablateOptions) validate(names []string) error {
	switch {
	case o.docs == "" != (o.pairs == ""):
		return errors.New("--docs and --pairs belong together")
	case o.docs == "" && len(names) == 0:
		return errors.New("name labelled pairs with --docs and --pairs, or files of articles")
	case o.bases < 1:
		return fmt.Errorf("--bases is %d, must be at least 1", o.bases)
	case o.part != partAll && o.part != partFirst && o.part != partSecond:
		return fmt.Errorf("--part is %q, must be %s, %s or %s", o.part, partFirst, partSecond, partAll)
	}
	return checkKinds(o.kinds)
}

// read returns all articles and pairs.
func (o *ablateOptions) read(cmd *cobra.Command, cfg config.Config, names []string) (map[string]article.Article,
	[]figures.Pair, error) {
	all := newPairSet()
	recipe, err := cfg.LoadRecipe()
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		language, _, _ := strings.Cut(filepath.Base(name), ".")
		texts, err := readTexts(cmd, cfg, name, partAll)
		if err != nil {
			return nil, nil, err
		}
		corpus := edits.NewCorpus(language, texts)
		for i := range min(o.bases, len(texts)) {
			base := i * len(texts) / min(o.bases, len(texts))
			for _, e := range pairsOf(corpus, o.kinds, base, 1) {
				all.add(e, language, base)
			}
		}
		all.fingerprint(recipe)
	}
	if o.docs == "" {
		return all.articles, all.pairs, nil
	}
	labelled, err := readPairs(cmd.Context(), o.pairs, true)
	if err != nil {
		return nil, nil, err
	}
	ignored := map[[2]string]bool{}
	if o.ignore != "" {
		list, err := readPairs(cmd.Context(), o.ignore, false)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range list {
			ignored[[2]string{p.A, p.B}], ignored[[2]string{p.B, p.A}] = true, true
		}
	}
	reader := newReader(cmd, o.docs)
	list, err := reader.fingerprint(cmd.Context(), cfg, recipe, o.docs)
	if err := reader.finish(cmd.ErrOrStderr(), cfg.Input.AsJSON(), err); err != nil {
		return nil, nil, err
	}
	families := map[string][]string{}
	for _, a := range list {
		all.articles[a.id], families[a.id] = a.article, a.families
	}
	for _, p := range labelled {
		if len(p.Families) == 0 {
			p.Families = slices.Concat(families[p.A], families[p.B])
		}
		if !ignored[[2]string{p.A, p.B}] {
			all.pairs = append(all.pairs, p)
		}
	}
	return all.articles, all.pairs, nil
}

// half returns the pairs of the part. A pair belongs to the half of the first of its families by name.
func (o *ablateOptions) half(pairs []figures.Pair) []figures.Pair {
	if o.part == partAll {
		return pairs
	}
	return slices.DeleteFunc(pairs, func(p figures.Pair) bool {
		h := fnv.New32a()
		if len(p.Families) > 0 {
			_, _ = h.Write([]byte(slices.Min(p.Families)))
		}
		return h.Sum32()>>7&1 == 1 != (o.part == partSecond)
	})
}
