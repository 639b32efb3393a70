package main

import (
	"fmt"
	"slices"
	"strings"

	"echosieve/pipeline/article"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A chain is a text that is rewritten again and again: each version leaves out the oldest sentences and has as many new ones, so
// that neighbours are copies of each other, but versions further apart are not.
const (
	chainSentences = 20 // of a version
	chainShift     = 4  // sentences that each version leaves out
	leastChain     = 3
	mostChain      = 6
)

// chain writes a chain. Its versions come in a random order; half of the chains have an exact repeat of one of them. The ids are
// id-0, id-1 and so on.
func (d *desk) chain(id string) []*kgo.Record {
	versions := d.versions(leastChain + d.random.IntN(mostChain-leastChain+1))
	steps := d.random.Perm(len(versions))
	if d.random.IntN(2) == 0 {
		steps = slices.Insert(steps, d.random.IntN(len(steps)+1), d.random.IntN(len(versions)))
	}
	var records []*kgo.Record
	for i, step := range steps {
		key := fmt.Sprintf("%s-%d", id, i)
		d.facts[key] = fact{group: id, role: version, step: step}
		records = append(records, d.textRecord(key, versions[step]))
	}
	return records
}

// versions returns the texts of a chain, so many if chance allows, at least leastChain.
func (d *desk) versions(n int) []string {
	for {
		var texts []string
		var prints []article.Article
		var sentences []string
		for tries := 0; len(texts) < n && tries < 4*n; tries++ {
			next := slices.Clone(sentences[min(chainShift, len(sentences)):])
			for len(next) < chainSentences {
				var b strings.Builder
				d.sentence(&b, 10)
				next = append(next, b.String())
			}
			text := strings.Join(next, " ")
			a, _ := d.recipe.Fingerprint(text)
			if d.extends(prints, &a) {
				texts, prints, sentences = append(texts, text), append(prints, a), next
			}
		}
		if len(texts) >= leastChain {
			return texts
		}
	}
}

// extends says whether a version is a copy of the last one that is found whichever comes first, and no copy of the others.
func (d *desk) extends(chain []article.Article, a *article.Article) bool {
	if len(chain) == 0 {
		return true
	}
	last := &chain[len(chain)-1]
	plan := d.index.Plan()
	return d.index.Compare(a, last).Kind == article.Near && plan.Finds(a, last) && plan.Finds(last, a) &&
		!slices.ContainsFunc(chain[:len(chain)-1], func(b article.Article) bool { return d.index.Compare(a, &b).Kind.IsCopy() })
}
