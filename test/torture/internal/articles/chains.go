package articles

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/pipeline/article"
)

// A chain is a text that is rewritten several times. Each version drops the four oldest of its twenty
// sentences and adds four new ones. Neighbours in the chain are copies of each other; versions further apart
// are not. A chain shows whether a copy of a copy names the right root.
const (
	chainSentences = 20 // of a version
	chainShift     = 4  // sentences that each version drops
	minVersions    = 3
	maxVersions    = 6
)

// chain returns the records of a chain, with the ids id-0, id-1 and so on. The versions come in a random
// order. Half of the chains repeat one version exactly.
func (w *Writer) chain(id string) []*kgo.Record {
	versions := w.versions(minVersions + w.random.IntN(maxVersions-minVersions+1))
	steps := w.random.Perm(len(versions))
	if w.random.IntN(2) == 0 {
		steps = slices.Insert(steps, w.random.IntN(len(steps)+1), w.random.IntN(len(versions)))
	}
	var records []*kgo.Record
	for i, step := range steps {
		key := fmt.Sprintf("%s-%d", id, i)
		w.Facts[key] = Fact{Family: id, Role: Version, Step: step}
		records = append(records, w.textRecord(key, versions[step]))
	}
	return records
}

// versions returns the texts of a chain: n if the draws allow it, at least minVersions.
func (w *Writer) versions(n int) []string {
	for {
		var texts []string
		var articles []article.Article
		var sentences []string
		for tries := 0; len(texts) < n && tries < 4*n; tries++ {
			next := slices.Clone(sentences[min(chainShift, len(sentences)):])
			for len(next) < chainSentences {
				var b strings.Builder
				w.sentence(&b, 10)
				next = append(next, b.String())
			}
			text := strings.Join(next, " ")
			a, _ := w.recipe.Fingerprint(text, article.Origin{})
			if w.extends(articles, &a) {
				texts, articles, sentences = append(texts, text), append(articles, a), next
			}
		}
		if len(texts) >= minVersions {
			return texts
		}
	}
}

// nearBothWays says whether the service finds one article as a near copy of the other, whichever of the two
// comes first.
func (w *Writer) nearBothWays(a, b *article.Article) bool {
	plan := w.Index.Plan()
	return plan.Judge(&w.Index.Rule, a, b).Kind == article.Near &&
		plan.Judge(&w.Index.Rule, b, a).Kind == article.Near &&
		plan.Finds(a, b) && plan.Finds(b, a)
}

// extends says whether an article continues the chain: the service finds it as a copy of the last version,
// whichever of the two comes first, and does not judge it a copy of an earlier version.
func (w *Writer) extends(chain []article.Article, a *article.Article) bool {
	if len(chain) == 0 {
		return true
	}
	return w.nearBothWays(a, &chain[len(chain)-1]) &&
		!slices.ContainsFunc(chain[:len(chain)-1],
			func(b article.Article) bool { return w.Index.Compare(a, &b).Kind.IsCopy() })
}
