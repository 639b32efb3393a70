package figures

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"echosieve/pipeline/article"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/lookup"
)

// Variant is the recipe with something switched off.
type Variant struct {
	Name  string
	Judge Judge
	// Articles makes the articles anew, with what is switched off of texts; nil: nothing is.
	Articles func() (map[string]article.Article, error)
}

// Variants returns the rule with each row, each need and each pardon switched off alone. The first one is the
// rule itself.
func Variants(t evidence.Thresholds, maxDistance int, plan lookup.Plan) (list []Variant) {
	add := func(name string, off evidence.Off) {
		rule := evidence.Rule{Thresholds: t, Off: off}
		check := func(distance int, later, earlier *article.Article) article.Judgement {
			return rule.Judge(distance, evidence.CompareArticles(later, earlier))
		}
		list = append(list, Variant{Name: name,
			Judge: ByRecipe(article.Rule{MaxDistance: maxDistance, Check: check}, plan, article.DefaultPolicy())})
	}
	add("none", evidence.Off{})
	numbers := evidence.Off{}
	for i, row := range evidence.Rows()[:len(evidence.Rows())-1] {
		add(fmt.Sprintf("row %d, %s", i+1, row.Reason), evidence.Off{Rows: 1 << i})
		if row.Reason == article.ReasonNumbers || row.Reason == article.ReasonValues {
			numbers.Rows |= 1 << i
		}
	}
	for i, need := range evidence.Needs()[:len(evidence.Needs())-1] {
		add("need: "+need.With, evidence.Off{Needs: 1 << i})
	}
	for i, pardon := range evidence.Pardons() {
		add("pardon: "+pardon.Of, evidence.Off{Pardons: 1 << i})
	}
	add("all about numbers", numbers)
	return list
}

// Change is what a variant changes for one sort of pairs.
type Change struct {
	Pairs    int `json:"pairs"`
	Joined   int `json:"joined"`   // by the rule itself
	Change   int `json:"change"`   // pairs joined more by the variant; negative: fewer
	Families int `json:"families"` // with a pair that is judged otherwise
	// Low and High are the ends of the 95 % interval of Change if families are resampled.
	Low  int `json:"low"`
	High int `json:"high"`
}

// Ablation is what a variant changes.
type Ablation struct {
	Off        string            `json:"off"`
	Copies     Change            `json:"copies"`
	LookAlikes Change            `json:"look_alikes"`
	Kinds      map[string]Change `json:"kinds"` // those in which something changes
}

// Ablate judges each pair that is not in ignore by each variant.
func Ablate(articles map[string]article.Article, pairs, ignore []Pair, variants []Variant) ([]Ablation, error) {
	out := make([]Ablation, len(variants))
	var base []judged
	for i, v := range variants {
		own := articles
		if v.Articles != nil {
			var err error
			if own, err = v.Articles(); err != nil {
				return nil, fmt.Errorf("without %s: %w", v.Name, err)
			}
		}
		list, _, err := judgeAll(own, pairs, ignore, v.Judge)
		if err != nil {
			return nil, err
		}
		if base == nil {
			base = list
		}
		out[i] = Ablation{Off: v.Name, Kinds: map[string]Change{}}
		out[i].Copies = changeOf(base, list, func(p *judged) bool { return p.Label == Copy })
		out[i].LookAlikes = changeOf(base, list, func(p *judged) bool { return p.Label == HardNegative })
		for j, p := range list {
			if _, known := out[i].Kinds[p.Kind]; !known && base[j].Flagged != p.Flagged {
				out[i].Kinds[p.Kind] = changeOf(base, list, func(q *judged) bool { return q.Kind == p.Kind })
			}
		}
	}
	return out, nil
}

// changeOf counts the pairs of one sort, and resamples their families.
func changeOf(base, list []judged, counts func(p *judged) bool) Change {
	var c Change
	var terms []term
	for i := range list {
		if !counts(&list[i]) {
			continue
		}
		t := list[i].term(list[i].Flagged)
		c.Pairs++
		if base[i].Flagged {
			c.Joined++
			t.part--
		}
		c.Change += t.part
		terms = append(terms, t)
	}
	var changed []int
	families := familiesOf(terms)
	for _, f := range families {
		if f.part != 0 {
			c.Families++
		}
		changed = append(changed, f.part)
	}
	random := rand.New(rand.NewPCG(intervalSeed, 0))
	sums := make([]float64, resamples)
	for i := range sums {
		for range changed {
			sums[i] += float64(changed[random.IntN(len(changed))])
		}
	}
	slices.Sort(sums)
	c.Low, c.High = int(quantile(sums, tail)), int(quantile(sums, 1-tail))
	return c
}
