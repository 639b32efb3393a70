package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"echosieve/cmd/echosieve-lab/internal/eval/edits"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/cmd/echosieve-lab/internal/eval/tables"
	"echosieve/internal/app/command"
	"echosieve/internal/app/config"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
)

const languagesHelp = `Languages measures how well the filter does in languages for which there are no labelled pairs. It makes the pairs itself: from
some articles of each file it makes copies by known edits (words replaced, sentences cut, added or moved, accents lost, capitals, ...) and
look-alikes (two articles within one frame, all numbers changed, ...). It prints

  recall, false     shares of the copies and of the look-alikes that are judged to be copies, with 95 % intervals over articles

With --kinds versions the copies are versions as one publisher sends them (takes of a story, live blogs that grow, another dateline, flashes),
and the look-alikes stand beside each other (round-ups, two reports above one list, two articles inside the same prose).

Each file holds one language and is named by its code, such as tr.jsonl.gz. --part chooses constants on one half of the articles and reports on the other.`

const languagesExample = `  echosieve-lab eval languages tr.jsonl.gz sw.jsonl.gz

  # quick: fewer articles
  echosieve-lab eval languages --bases 20 *.jsonl.gz

  # versions of stories, round-ups, lists of related news
  echosieve-lab eval languages --kinds versions tr.jsonl.gz

  # which kinds of edit does a language miss?
  echosieve-lab eval languages --json vi.jsonl.gz | jq '.languages[] | .kinds | map_values(.flagged / .n)'`

// languagesOptions holds the values of the flags of eval languages.
type languagesOptions struct {
	bases       int
	seed        uint64
	part, kinds string
}

// What pairs are made of an article.
const (
	kindsEdits    = "edits"
	kindsVersions = "versions"
	kindsAll      = "all"
)

// pairsOf makes the pairs of an article of the given kinds.
func pairsOf(corpus *edits.Corpus, kinds string, base int, seed uint64) []edits.Edit {
	var list []edits.Edit
	if kinds != kindsVersions {
		list = corpus.Edits(base, seed)
	}
	if kinds != kindsEdits {
		list = append(list, corpus.Versions(base, seed)...)
	}
	return list
}

func checkKinds(kinds string) error {
	if kinds != kindsEdits && kinds != kindsVersions && kinds != kindsAll {
		return fmt.Errorf("--kinds is %q, must be %s, %s or %s", kinds, kindsEdits, kindsVersions, kindsAll)
	}
	return nil
}

const kindsHelp = "pairs to make: edits, versions (of one publisher, and neighbours on its pages), or all"

// The parts of a file's articles, by a hash of their ids.
const (
	partAll    = "all"
	partFirst  = "first"
	partSecond = "second"
)

func newLanguagesCommand() *cobra.Command {
	var o languagesOptions
	cmd := &cobra.Command{
		Use:     "languages FILE...",
		Short:   "In any language, without labels: copies and look-alikes by known edits",
		Long:    languagesHelp,
		Example: languagesExample,
		Args:    cobra.MinimumNArgs(1),
	}
	asJSON := command.AddJSONFlag(cmd)
	cmd.Flags().IntVar(&o.bases, "bases", 60, "articles of each language from which pairs are made")
	cmd.Flags().Uint64Var(&o.seed, "seed", 1, "which articles and edits are drawn")
	cmd.Flags().StringVar(&o.part, "part", partAll, "articles to use: first or second half by a hash of the id, or all")
	cmd.Flags().StringVar(&o.kinds, "kinds", kindsEdits, kindsHelp)
	config.AddFlags(cmd.Flags(), "recipe", "detection", "input")
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if o.bases < 1 {
			return errors.New("--bases must be at least 1")
		}
		if o.part != partAll && o.part != partFirst && o.part != partSecond {
			return fmt.Errorf("--part is %q, must be %s, %s or %s", o.part, partFirst, partSecond, partAll)
		}
		if err := checkKinds(o.kinds); err != nil {
			return err
		}
		cfg, err := config.Load(cmd.Flags())
		if err != nil {
			return err
		}
		result, err := evalLanguages(cmd, cfg, o, names)
		if err != nil {
			return err
		}
		if *asJSON {
			return command.PrintJSON(cmd.OutOrStdout(), result)
		}
		return tables.Languages(cmd.OutOrStdout(), result)
	}
	return cmd
}

func evalLanguages(cmd *cobra.Command, cfg config.Config, o languagesOptions, names []string) (
	figures.LanguagesResult, error) {
	result := figures.LanguagesResult{Part: o.part, Languages: []figures.LanguageResult{}}
	recipe, err := cfg.LoadRecipe()
	if err != nil {
		return result, err
	}
	all := newPairSet()
	for _, name := range names {
		language, _, _ := strings.Cut(filepath.Base(name), ".")
		texts, err := readTexts(cmd, cfg, name, o.part)
		if err != nil {
			return result, err
		}
		run := languageRun{cfg: cfg, recipe: recipe, options: o, corpus: edits.NewCorpus(language, texts),
			texts: texts, language: language}
		one, err := run.figures(cmd.Context(), all)
		if err != nil {
			return result, fmt.Errorf("%s: %w", name, err)
		}
		result.Languages = append(result.Languages, one)
	}
	result.All, err = all.figures(cfg)
	return result, err
}

// readTexts reads the texts of the articles of one part of a file.
func readTexts(cmd *cobra.Command, cfg config.Config, name, part string) ([]string, error) {
	input := cfg.Input.AsJSON()
	var texts []string
	skipped := reader{}
	err := eachArticle(cmd.Context(), name, input, func(r io.Reader) io.Reader { return r }, func(line []byte) error {
		content, reject := input.Decode(&record.Record{Value: line})
		if reject != nil {
			return reject
		}
		h := fnv.New32a()
		h.Write([]byte(content.ID))
		if second := h.Sum32()>>16&1 == 1; part == partAll || second == (part == partSecond) {
			texts = append(texts, content.Text)
		}
		return nil
	}, skipped.skip)
	skipped.reportSkipped(cmd.ErrOrStderr())
	if err == nil && len(texts) == 0 {
		err = errors.New("there is no article in " + name)
	}
	return texts, err
}

// languageRun measures one language.
type languageRun struct {
	cfg      config.Config
	recipe   *recipe.Recipe
	options  languagesOptions
	corpus   *edits.Corpus
	texts    []string
	language string
}

// leastBase is the length from which an article is edited, in bytes. Of a shorter one, a sentence is most of it.
const leastBase = 200

// figures measures the language, and adds its pairs to all.
func (r *languageRun) figures(ctx context.Context, all *pairSet) (figures.LanguageResult, error) {
	own := newPairSet()
	bases := 0
	for _, i := range rand.New(rand.NewPCG(r.options.seed, 1)).Perm(len(r.texts)) {
		if bases == r.options.bases {
			break
		}
		if len(r.texts[i]) < leastBase {
			continue
		}
		bases++
		for _, e := range pairsOf(r.corpus, r.options.kinds, i, r.options.seed) {
			own.add(e, r.language, i)
		}
	}
	own.fingerprint(r.recipe)
	all.join(own)
	pairs, err := own.figures(r.cfg)
	result := figures.LanguageResult{Language: r.language, Articles: len(r.texts), PairsResult: pairs}
	return result, cmp.Or(err, context.Cause(ctx))
}
