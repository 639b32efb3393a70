package figures

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"echosieve/pipeline/article"
	"echosieve/pipeline/evidence"
	"echosieve/pipeline/lookup"
	"echosieve/simhash"
)

// Variant is the recipe news with something switched off.
type Variant struct {
	Name string
	Rule evidence.Rule
	// Articles makes the articles anew, with what is switched off of texts; nil: nothing is.
	Articles func() (map[string]article.Article, error)
}

// Variants returns the rule with each row, each need and each pardon switched off alone. The first one is the
// rule itself.
func Variants(t evidence.Thresholds) []Variant {
	list := []Variant{{Name: "none", Rule: evidence.Rule{Thresholds: t}}}
	add := func(name string, change func(r *evidence.Rule)) {
		rule := evidence.Rule{Thresholds: t}
		change(&rule)
		list = append(list, Variant{Name: name, Rule: rule})
	}
	for i, row := range evidence.Rows()[:len(evidence.Rows())-1] {
		add(fmt.Sprintf("row %d, %s", i+1, row.Reason), func(r *evidence.Rule) { r.Off.Rows = 1 << i })
	}
	for i, need := range evidence.Needs()[:len(evidence.Needs())-1] {
		add("need: "+need.With, func(r *evidence.Rule) { r.Off.Needs = 1 << i })
	}
	for i, pardon := range evidence.Pardons() {
		add("pardon: "+pardon.Of, func(r *evidence.Rule) { r.Off.Pardons = 1 << i })
	}
	add("all about numbers", func(r *evidence.Rule) {
		for i, row := range evidence.Rows() {
			if row.Reason == article.ReasonNumbers || row.Reason == article.ReasonValues {
				r.Off.Rows |= 1 << i
			}
		}
	})
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

// compared is a pair with what all variants judge.
type compared struct {
	Pair
	found, reached bool
	distance       int
	comparison     evidence.Comparison
	fixed          article.Judgement // of pairs that the second check does not see
	checked        bool
}

// Ablate judges each pair by each variant. Look-ups and comparisons are made once for all variants of the rule.
func Ablate(articles map[string]article.Article, pairs []Pair, rule article.Rule, plan lookup.Plan,
	variants []Variant) ([]Ablation, error) {
	list, err := comparePairs(articles, pairs, rule, plan)
	if err != nil {
		return nil, err
	}
	out := make([]Ablation, len(variants))
	base := joinedBy(list, variants[0])
	for i, v := range variants {
		own := list
		if v.Articles != nil {
			if articles, err = v.Articles(); err == nil {
				own, err = comparePairs(articles, pairs, rule, plan)
			}
			if err != nil {
				return nil, fmt.Errorf("without %s: %w", v.Name, err)
			}
		}
		joined := joinedBy(own, v)
		out[i] = Ablation{Off: v.Name, Kinds: map[string]Change{}}
		out[i].Copies = changeOf(list, base, joined, func(p *compared) bool { return p.Label == Copy })
		out[i].LookAlikes = changeOf(list, base, joined, func(p *compared) bool { return p.Label == HardNegative })
		for j := range list {
			kind := list[j].Kind
			if _, known := out[i].Kinds[kind]; !known && base[j] != joined[j] {
				out[i].Kinds[kind] = changeOf(list, base, joined, func(p *compared) bool { return p.Kind == kind })
			}
		}
	}
	return out, nil
}

func comparePairs(articles map[string]article.Article, pairs []Pair, rule article.Rule, plan lookup.Plan) (
	list []compared, err error) {
	for _, p := range pairs {
		earlier, knownA := articles[p.A]
		later, knownB := articles[p.B]
		if !knownA || !knownB {
			return nil, fmt.Errorf("pair %s, %s: no such article", p.A, p.B)
		}
		list = append(list, comparePair(p, &later, &earlier, rule, plan))
	}
	return list, nil
}

func comparePair(p Pair, later, earlier *article.Article, rule article.Rule, plan lookup.Plan) compared {
	c := compared{
		Pair: p, found: !later.Empty && !earlier.Empty && plan.Finds(later, earlier),
		reached:  plan.InReach(later, earlier),
		distance: simhash.Distance(later.Fingerprint, earlier.Fingerprint),
	}
	check := func(int, *article.Article, *article.Article) article.Judgement {
		c.checked = true
		return article.Judgement{}
	}
	c.fixed = (&article.Rule{MaxDistance: rule.MaxDistance, Check: check}).Compare(later, earlier)
	c.comparison = evidence.CompareArticles(later, earlier)
	return c
}

// joinedBy tells which pairs a variant judges to be copies.
func joinedBy(list []compared, v Variant) []bool {
	joined := make([]bool, len(list))
	for i := range list {
		p := &list[i]
		j := p.fixed
		if p.checked {
			j = v.Rule.Judge(p.distance, p.comparison)
		}
		joined[i] = p.found && j.Kind.IsCopy() && (p.reached || j.Kind == article.Exact)
	}
	return joined
}

// changeOf counts the pairs of one sort, and resamples their families.
func changeOf(list []compared, base, joined []bool, counts func(p *compared) bool) Change {
	var c Change
	var terms []term
	for i := range list {
		if !counts(&list[i]) {
			continue
		}
		t := term{families: list[i].Families, whole: 1}
		c.Pairs++
		if base[i] {
			c.Joined++
			t.part--
		}
		if joined[i] {
			t.part++
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
