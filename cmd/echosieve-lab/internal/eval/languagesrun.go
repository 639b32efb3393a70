package eval

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"echosieve/cmd/echosieve-lab/internal/eval/edits"
	"echosieve/cmd/echosieve-lab/internal/eval/figures"
	"echosieve/internal/app/config"
	"echosieve/pipeline/article"
	"echosieve/pipeline/lookup"
	"echosieve/pipeline/recipe"
	"echosieve/simhash"
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

// nearestIndex finds for an article the stored articles that the service would compare it with: as many as
// redis.max_candidates, the nearest first. Unlike the index of the service it never forgets and has one
// slice.
type nearestIndex struct {
	plan     lookup.Plan
	rule     article.Rule
	most     int
	articles []article.Article
	lists    map[simhash.Block][]int32
}

func newNearestIndex(cfg config.Config) *nearestIndex {
	index := cfg.IndexConfig("recipe")
	return &nearestIndex{plan: index.Plan(), rule: index.Rule, most: index.MaxCandidates,
		lists: map[simhash.Block][]int32{}}
}

func (x *nearestIndex) store(a article.Article) {
	for _, block := range x.plan.AppendStored(nil, &a) {
		x.lists[block] = append(x.lists[block], int32(len(x.articles)))
	}
	a.Sums = nil
	x.articles = append(x.articles, a)
}

// find returns the number of candidates of an article, and whether it is a copy of one of them.
func (x *nearestIndex) find(a *article.Article) (candidates int, caught bool) {
	distances := map[int32]int{}
	var found []int32
	filter := x.plan.NewFilter()
	for _, block := range x.plan.AppendLookups(nil, a) {
		for _, i := range x.lists[block] {
			fp := x.articles[i].Fingerprint
			distance := simhash.Distance(a.Fingerprint, fp)
			if _, seen := distances[i]; !seen && filter.Accepts(block.Index, fp, distance) {
				distances[i] = distance
				found = append(found, i)
			}
		}
	}
	slices.SortStableFunc(found, func(i, j int32) int { return distances[i] - distances[j] })
	found = found[:min(len(found), x.most)]
	return len(found), slices.ContainsFunc(found, func(i int32) bool {
		return x.plan.Judge(&x.rule, a, &x.articles[i]).Kind.IsCopy()
	})
}

// candidates returns the mean number of candidates of an article in a corpus of figures.CorpusArticles.
func (r *languageRun) candidates() float64 {
	texts := r.texts[:min(len(r.texts), figures.CorpusArticles)]
	texts = append(slices.Clip(texts), r.corpus.Mixed(figures.CorpusArticles-len(texts), r.options.seed)...)
	index, sum := newNearestIndex(r.cfg), 0
	articles := fingerprints(r.recipe, texts)
	for _, a := range articles {
		index.store(a)
	}
	for i := range articles {
		n, _ := index.find(&articles[i])
		sum += max(0, n-1) // the article itself
	}
	return float64(sum) / float64(len(texts))
}

// streamCopies is the number of copies at the end of the stream.
const streamCopies = 400

// stream fills in the share of copies that are caught at the end of a stream.
func (r *languageRun) stream(result *figures.LanguageResult) {
	texts := r.corpus.Mixed(r.options.stream, r.options.seed+1)
	index := newNearestIndex(r.cfg)
	for _, a := range fingerprints(r.recipe, texts) {
		index.store(a)
	}
	step := len(texts) / streamCopies
	copies := make([]string, streamCopies)
	for i := range copies {
		copies[i] = r.corpus.Repost(texts[i*step], i, r.options.seed)
	}
	candidates := 0
	for _, a := range fingerprints(r.recipe, copies) {
		n, caught := index.find(&a)
		candidates += n
		if caught {
			result.StreamCaught++
		}
	}
	result.StreamArticles, result.StreamCopies = len(texts), streamCopies
	result.StreamOnes = float64(candidates) / streamCopies
}
