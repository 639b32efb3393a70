package indextest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/simhash"
)

// reference gives verdicts by comparing each article with all earlier ones.
type reference struct {
	Params
	seen []decided
}

type decided struct {
	article article.Article
	slice   int64
	verdict article.Verdict
}

func (r *reference) claim(a article.Article) article.Verdict {
	length := (r.Window / time.Duration(r.Slices)).Milliseconds()
	d := decided{article: a, slice: a.Time.UnixMilli() / length, verdict: unique(a)}
	for _, o := range r.seen { // an exact repeat within the same slice takes precedence over everything else
		if o.slice == d.slice && o.article.Digest == a.Digest {
			return article.ExactVerdict(o.article.Ref(), o.verdict.Root)
		}
	}
	best := -1 // how good the original is: a copy before a possible copy, then the same id before another id
	for _, o := range r.seen {
		j, good := judge(r.Params, a, o.article), 0
		if j.Kind.IsCopy() {
			good += 2
		}
		if j.SameID {
			good++
		}
		if j.Kind == 0 || good <= best {
			continue
		}
		best = good
		d.verdict = article.Verdict{
			Kind: j.Kind, Reason: j.Reason, Likeness: j.Likeness, Original: o.article.Ref(), Root: a.Ref(),
			Distance: simhash.Distance(o.article.Fingerprint, a.Fingerprint), Destination: r.Policy.Destination(j),
		}
		if j.Kind.IsCopy() {
			d.verdict.Root = o.verdict.Root
		}
	}
	r.seen = append(r.seen, d)
	return d.verdict
}

// lengthy gives an article a signature with a length; see Params.Search.
func lengthy(c article.Article, signature, length byte) article.Article {
	c.Signature = []byte{signature, length}
	return c
}

// random makes articles that often repeat each other, roughly in the order of time, with some late ones.
func random(r *rand.Rand, n int, span time.Duration) []article.Article {
	articles := make([]article.Article, n)
	for i := range articles {
		at := span*time.Duration(i)/time.Duration(n) + time.Duration(r.Int64N(int64(span/8)))
		switch kind := r.IntN(10); {
		case kind < 4 || i < 5:
			articles[i] = lengthy(newArticle(i, at, simhash.Fingerprint(r.Uint64()), fmt.Sprint(i)), byte(r.IntN(3)), 1)
		case kind < 5:
			articles[i] = little(i, at, fmt.Sprint("flash ", r.IntN(20)))
		case kind < 7: // the text of an earlier one
			o := articles[r.IntN(i)]
			articles[i] = newArticle(i, at, o.Fingerprint, "")
			articles[i].Digest, articles[i].LittleText, articles[i].Signature = o.Digest, o.LittleText, o.Signature
		default: // up to 4 bits off an earlier one
			o := articles[r.IntN(i)]
			fp := o.Fingerprint
			for range r.IntN(5) {
				fp ^= 1 << r.IntN(64)
			}
			articles[i] = newArticle(i, at, fp, fmt.Sprint(i))
			if r.IntN(2) == 0 {
				articles[i].Signature = []byte{byte(r.IntN(3)), byte(r.IntN(3))}
			}
			if r.IntN(3) == 0 {
				articles[i].ID = o.ID
			}
		}
		articles[i].Time = articles[i].Time.Truncate(time.Millisecond)
	}
	return articles
}

func testReference(t *testing.T, newIndex factory) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	policy := article.Policy{Contained: "unique", Extends: "possible", Overlaps: "possible", SameID: "unique"}
	for _, p := range []Params{standard, {Window: 2 * time.Hour, Slices: 3},
		{Window: 90 * time.Minute, Slices: 1, MaxDistance: 4, Policy: policy}} {
		x, ref := newIndex(t, p), reference{Params: p}
		articles := random(r, 1000, 5*p.Window) // so many that chance leaves no kind out
		verdicts := make([]article.Verdict, 0, len(articles))
		for at := 0; at < len(articles); {
			end := min(len(articles), at+1+r.IntN(40))
			verdicts = append(verdicts, claim(t, x, articles[at:end]...)...)
			at = end
		}
		kinds, relations := map[article.Kind]int{}, map[article.Relation]int{}
		for i, c := range articles {
			require.Equal(t, ref.claim(c), verdicts[i], "claim %d, parameters %+v", i, p)
			kinds[verdicts[i].Kind]++
			relations[verdicts[i].Relation]++
		}
		require.Equal(t, verdicts, claim(t, x, articles...), "replay in one call")
		require.Greater(t, kinds[article.Unique], 50)
		require.Greater(t, kinds[article.Exact], 50)
		if p.MaxDistance > 0 {
			require.Greater(t, kinds[article.Near], 50)
			require.Positive(t, kinds[article.Possible])
			for _, r := range article.Relations() {
				require.Positive(t, relations[r], r)
			}
		}
	}
}

// testConcurrent claims the same articles in several goroutines, in different orders and calls. All must get
// the same verdicts.
func testConcurrent(t *testing.T, newIndex factory) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	x := newIndex(t, standard)
	articles := random(rand.New(rand.NewPCG(seed, 0)), 200, 3*standard.Window)
	const workers = 4
	verdicts := make([]map[article.Coordinates]article.Verdict, workers)
	var group sync.WaitGroup
	for w := range workers {
		verdicts[w] = map[article.Coordinates]article.Verdict{}
		r := rand.New(rand.NewPCG(seed, uint64(w)))
		order := r.Perm(len(articles))
		group.Go(func() {
			for at := 0; at < len(order); {
				end := min(len(order), at+1+r.IntN(10))
				var call []article.Article
				for _, i := range order[at:end] {
					call = append(call, articles[i])
				}
				got, err := x.Claim(t.Context(), call)
				if err != nil {
					t.Error(err)
					return
				}
				for i, v := range got {
					verdicts[w][call[i].Coordinates] = v
				}
				at = end
			}
		})
	}
	group.Wait()
	for w := 1; w < workers; w++ {
		require.Equal(t, verdicts[0], verdicts[w], "every worker got the same verdicts")
	}
	require.Empty(t, Inconsistent(standard, articles, verdicts[0], true))
}

// Inconsistent says how verdicts contradict each other, "" if they do not. Every original must have been
// claimed. Every chain of originals must end in an article that is no copy, which must be the root of all
// articles in the chain. If complete is set, of two copies of each other inside the window at least one must
// have the verdict of a copy; an index that limits how many candidates it reads may miss copies.
func Inconsistent(p Params, articles []article.Article, verdicts map[article.Coordinates]article.Verdict,
	complete bool) string {
	for i, a := range articles {
		for _, b := range articles[:i] {
			neither := !verdicts[a.Coordinates].Kind.IsCopy() && !verdicts[b.Coordinates].Kind.IsCopy()
			if complete && neither && judge(p, a, b).Kind.IsCopy() {
				return fmt.Sprintf("%v and %v are copies of each other, and neither has the verdict of a copy",
					a.Coordinates, b.Coordinates)
			}
		}
		at := a.Coordinates
		for steps := 0; verdicts[at].Kind.IsCopy(); steps++ {
			if steps > len(articles) {
				return fmt.Sprintf("the chain of %v has no end", a.Coordinates)
			}
			at = verdicts[at].Original.Coordinates
		}
		if verdicts[at].Kind == 0 {
			return fmt.Sprintf("the chain of %v ends in an article that was not claimed", a.Coordinates)
		}
		if root := verdicts[a.Coordinates].Root.Coordinates; root != at {
			return fmt.Sprintf("%v names the root %v, but its chain ends in %v", a.Coordinates, root, at)
		}
	}
	return ""
}

// judge says what the later of two different articles is to the earlier one.
func judge(p Params, a, b article.Article) article.Judgement {
	distance := simhash.Distance(a.Fingerprint, b.Fingerprint)
	switch {
	case a.Coordinates == b.Coordinates || a.Time.Sub(b.Time).Abs() > p.Window:
		return article.Judgement{}
	case a.Digest == b.Digest:
		return article.Judgement{Kind: article.Exact, Reason: article.ReasonDigest, Likeness: article.SameText,
			SameID: a.ID == b.ID}
	case a.LittleText || b.LittleText || distance > p.MaxDistance:
		return article.Judgement{}
	}
	j := p.Search().Check(distance, &a, &b)
	if j.SameID = j.Kind != 0 && a.ID == b.ID; j.SameID {
		j.Relation = article.Revises
	}
	return j
}
