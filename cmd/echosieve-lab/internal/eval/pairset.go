package eval

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"echosieve/app/config"
	"echosieve/app/files"
	"echosieve/cmd/echosieve-lab/internal/eval/edits"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
	"echosieve/pipeline/record"
)

// pairFlags name the pairs of eval pairs and eval ablate: labelled ones, and those made by known edits.
type pairFlags struct {
	docs, pairs, ignore, part string
	bases                     int
}

// The parts of the families.
const (
	partAll    = "all"
	partFirst  = "first"
	partSecond = "second"
)

func (o *pairFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.docs, "docs", "", "file of the articles of labelled pairs")
	cmd.Flags().StringVar(&o.pairs, "pairs", "", "labelled pairs, tab-separated")
	cmd.Flags().StringVar(&o.ignore, "ignore", "", "pairs that do not count, tab-separated")
	cmd.Flags().StringVar(&o.part, "part", partAll,
		"families to use: first or second half by a hash of the name, or all")
	cmd.Flags().IntVar(&o.bases, "bases", 60, "articles of each FILE from which pairs are made")
}

func (o *pairFlags) validate(names []string) error {
	switch {
	case o.docs != "" && o.pairs == "":
		return errors.New("--docs and --pairs belong together: --pairs labels pairs of the articles")
	case o.pairs == "" && len(names) == 0:
		return errors.New("name labelled pairs with --docs and --pairs, or files of articles")
	case o.bases < 1:
		return fmt.Errorf("--bases is %d, must be at least 1", o.bases)
	case o.part != partAll && o.part != partFirst && o.part != partSecond:
		return fmt.Errorf("--part is %q, must be %s, %s or %s", o.part, partFirst, partSecond, partAll)
	}
	return nil
}

// pairSet holds pairs with their articles.
type pairSet struct {
	articles       map[string]article.Article
	places         map[string]fingerprinted   // of the articles of labelled pairs
	contents       map[string]article.Content // of the articles that the file of pairs holds
	pairs, ignored []figures.Pair
}

// read returns the pairs of the part: those of --docs and --pairs, and those made of the files of names.
func (o *pairFlags) read(cmd *cobra.Command, cfg config.Config, made *recipe.Recipe, names []string) (*pairSet, error) {
	s := &pairSet{articles: map[string]article.Article{}, places: map[string]fingerprinted{},
		contents: map[string]article.Content{}}
	for _, name := range names {
		texts, err := readTexts(cmd, cfg, name)
		if err != nil {
			return nil, err
		}
		s.makePairs(made, name, texts, o)
	}
	read := o.readMarked
	if o.docs != "" {
		read = o.readLabelled
	}
	if o.pairs != "" {
		if err := read(cmd, cfg, made, s); err != nil {
			return nil, err
		}
	}
	s.pairs = o.half(s.pairs)
	return s, nil
}

func (o *pairFlags) readLabelled(cmd *cobra.Command, cfg config.Config, made *recipe.Recipe, s *pairSet) error {
	labelled, err := readPairs(cmd.Context(), o.pairs, true)
	if err != nil {
		return err
	}
	if o.ignore != "" {
		if s.ignored, err = readPairs(cmd.Context(), o.ignore, false); err != nil {
			return err
		}
	}
	reader := newReader(cmd, o.docs)
	list, err := reader.fingerprint(cmd.Context(), cfg, made, o.docs)
	if err := reader.finish(cmd.ErrOrStderr(), cfg.Input.AsJSON(), err); err != nil {
		return err
	}
	versions := map[string]int{}
	for _, a := range list {
		versions[a.id]++
		name := version(a.id, versions[a.id])
		if _, known := s.places[name]; known {
			return fmt.Errorf("%s: %q names two articles", o.docs, name)
		}
		s.articles[name], s.places[name] = a.article, *a
	}
	for _, pairs := range [][]figures.Pair{labelled, s.ignored} {
		for i, p := range pairs {
			if p.A == p.B {
				p.B = version(p.A, 2)
				pairs[i].B = p.B
			}
			if len(p.Families) == 0 {
				pairs[i].Families = slices.Concat(s.places[p.A].families, s.places[p.B].families)
			}
		}
	}
	s.pairs = append(s.pairs, labelled...)
	return nil
}

// readMarked reads pairs from a file that holds their articles, too.
func (o *pairFlags) readMarked(cmd *cobra.Command, _ config.Config, made *recipe.Recipe, s *pairSet) error {
	labelled, err := readPairs(cmd.Context(), o.pairs, true)
	if err != nil {
		return err
	}
	input, names, versions := config.Default().Input.AsJSON(), map[string]string{}, map[string]int{}
	for i, p := range labelled {
		for _, side := range []struct {
			id    *string
			value string
		}{{&labelled[i].A, p.ArticleA}, {&labelled[i].B, p.ArticleB}} {
			id, value := side.id, side.value
			if value == "" {
				return fmt.Errorf("%s does not hold both articles of the pair %s, %s: name the file of the articles "+
					"with --docs", o.pairs, p.A, p.B)
			}
			if names[value] == "" {
				content, reject := input.Decode(&record.Record{Value: []byte(value)})
				if reject != nil {
					return fmt.Errorf("%s: pair %s, %s: %w", o.pairs, p.A, p.B, reject)
				}
				versions[*id]++
				name := version(*id, versions[*id])
				names[value], s.contents[name] = name, content
				a, _ := made.Fingerprint(content.Text, content.Origin(time.Time{}))
				a.ID, a.Time = content.ID, timeOf([]byte(value))
				s.articles[name] = a
			}
			*id = names[value]
		}
	}
	s.pairs = append(s.pairs, labelled...)
	return nil
}

// version is the name of the nth article with an id, in a file of pairs.
func version(id string, n int) string {
	if n == 1 {
		return id
	}
	return fmt.Sprintf("%s#%d", id, n)
}

// half returns the pairs of the part. A pair belongs to the half of the first of its families by name.
func (o *pairFlags) half(pairs []figures.Pair) []figures.Pair {
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

// readTexts reads the texts of the articles of a file.
func readTexts(cmd *cobra.Command, cfg config.Config, name string) ([]string, error) {
	input := cfg.Input.AsJSON()
	var texts []string
	skipped := reader{}
	err := eachArticle(cmd.Context(), name, input, nil, skipped.skip, func(line []byte) error {
		content, reject := input.Decode(&record.Record{Value: line})
		if reject != nil {
			return reject
		}
		texts = append(texts, content.Text)
		return nil
	})
	skipped.reportSkipped(cmd.ErrOrStderr())
	if err == nil && len(texts) == 0 {
		err = errors.New("there is no article in " + name)
	}
	return texts, err
}

// leastBase is the length from which an article is edited, in bytes. Of a shorter one, a sentence is most of it.
const leastBase = 200

// editSeed says which articles and edits are drawn.
const editSeed = 1

// makePairs makes pairs of some articles of a file by known edits. All edits of an article are one family.
func (s *pairSet) makePairs(made *recipe.Recipe, file string, texts []string, o *pairFlags) {
	language, _, _ := strings.Cut(filepath.Base(file), ".")
	corpus := edits.NewCorpus(language, texts)
	var ids, versions []string
	bases := 0
	for _, i := range rand.New(rand.NewPCG(editSeed, 1)).Perm(len(texts)) {
		if len(texts[i]) < leastBase || bases == o.bases {
			continue
		}
		bases++
		family := fmt.Sprintf("%s-%d", language, i)
		list := append(corpus.Edits(i, editSeed), corpus.Versions(i, editSeed)...)
		for _, e := range list {
			p := figures.Pair{A: family + "-" + e.Kind, B: family + "-" + e.Kind + "-later", Kind: e.Kind,
				Families: []string{family}}
			if e.Copy {
				p.Label = figures.Copy
			}
			s.pairs = append(s.pairs, p)
			ids, versions = append(ids, p.A, p.B), append(versions, e.Earlier, e.Later)
		}
	}
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	articles := make([]article.Article, len(versions))
	for i, text := range versions {
		workers.Go(func() error {
			articles[i], _ = made.Fingerprint(text, article.Origin{})
			return nil
		})
	}
	_ = workers.Wait() // nil
	for i, a := range articles {
		s.articles[ids[i]] = a
	}
}

// readPairs reads a file of pairs. With labelled false, it holds pairs to ignore.
func readPairs(ctx context.Context, name string, labelled bool) ([]figures.Pair, error) {
	var pairs []figures.Pair
	parser := figures.PairParser{Labelled: labelled}
	if err := files.Check(name, files.HoldsPairs); err != nil {
		return nil, err
	}
	lines := &files.Reader{Names: []string{name}, Limit: maxLine, Lines: true}
	for line, err := range lines.Articles(ctx) {
		if err != nil {
			return nil, err
		}
		p, header, err := parser.Parse(string(line.Value))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", lines.At(line), err)
		}
		if !header {
			pairs = append(pairs, p)
		}
	}
	if labelled && len(pairs) == 0 {
		return nil, fmt.Errorf("there is no pair in %s; expected are %s", name, files.HoldsPairs)
	}
	return pairs, nil
}
