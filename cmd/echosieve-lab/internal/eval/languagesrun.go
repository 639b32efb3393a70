package eval

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"echosieve/cmd/echosieve-lab/internal/eval/edits"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/internal/app/config"
	"echosieve/pipeline/article"
	"echosieve/pipeline/recipe"
)

// pairSet holds labelled pairs with their articles.
type pairSet struct {
	ids      []string
	texts    []string
	articles map[string]article.Article
	pairs    []figures.Pair
}

func newPairSet() *pairSet { return &pairSet{articles: map[string]article.Article{}} }

// add adds an edit of an article. All edits of an article are one family.
func (s *pairSet) add(e edits.Edit, language string, base int) {
	family := fmt.Sprintf("%s-%d", language, base)
	id := family + "-" + e.Kind
	p := figures.Pair{A: id, B: id + "-later", Kind: e.Kind, Families: []string{family}}
	if e.Copy {
		p.Label = figures.Copy
	}
	s.pairs = append(s.pairs, p)
	s.ids, s.texts = append(s.ids, p.A, p.B), append(s.texts, e.Earlier, e.Later)
}

// fingerprint makes the articles, and forgets the texts.
func (s *pairSet) fingerprint(r *recipe.Recipe) {
	for i, a := range fingerprints(r, s.texts) {
		s.articles[s.ids[i]] = a
	}
	s.ids, s.texts = nil, nil
}

// join adds the pairs of another set.
func (s *pairSet) join(other *pairSet) {
	for id, a := range other.articles {
		s.articles[id] = a
	}
	s.pairs = append(s.pairs, other.pairs...)
}

func (s *pairSet) figures(cfg config.Config) (figures.PairsResult, error) {
	return figures.Pairs(s.articles, s.pairs, nil, newJudge(cfg))
}

// fingerprints returns the articles of texts, in their order. It uses all cores.
func fingerprints(r *recipe.Recipe, texts []string) []article.Article {
	articles := make([]article.Article, len(texts))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(texts)); i = next.Add(1) - 1 {
				articles[i], _ = r.Fingerprint(texts[i], article.Origin{})
			}
		})
	}
	workers.Wait()
	return articles
}
