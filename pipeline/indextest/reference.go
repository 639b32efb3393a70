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

// reference answers by comparing with everything, one claim after another.
type reference struct {
	Params
	seen []verdict
}

type verdict struct {
	claim      article.Article
	generation int64
	match      article.Verdict
}

func (r *reference) claim(c article.Article) article.Verdict {
	length := (r.Window / time.Duration(r.Generations)).Milliseconds()
	v := verdict{claim: c, generation: c.Time.UnixMilli() / length, match: unique(c)}
	for _, o := range r.seen { // an exact repeat of the same generation goes before everything else
		if o.generation == v.generation && o.claim.Digest == c.Digest {
			return article.Verdict{Kind: article.Exact, Reason: article.ReasonDigest, Original: o.claim.Ref(), Root: o.match.Root}
		}
	}
	for _, o := range r.seen {
		j := judge(r.Params, c, o.claim)
		if j.Kind == 0 || v.match.Kind == article.Possible && j.Kind == article.Possible {
			continue
		}
		v.match = article.Verdict{Kind: j.Kind, Reason: j.Reason, Original: o.claim.Ref(), Root: o.match.Root}
		v.match.Distance = simhash.Distance(o.claim.Fingerprint, c.Fingerprint)
		if j.Kind.IsCopy() {
			break
		}
		v.match.Root = c.Ref()
	}
	r.seen = append(r.seen, v)
	return v.match
}

// random makes articles that often repeat each other, in rough order of time, with late ones among them.
func random(r *rand.Rand, n int, span time.Duration) []article.Article {
	claims := make([]article.Article, n)
	for i := range claims {
		at := span*time.Duration(i)/time.Duration(n) + time.Duration(r.Int64N(int64(span/8)))
		switch kind := r.IntN(10); {
		case kind < 4 || i < 5:
			claims[i] = signed(newArticle(i, at, simhash.Fingerprint(r.Uint64()), fmt.Sprint(i)), byte(r.IntN(3)))
		case kind < 5:
			claims[i] = little(i, at, fmt.Sprint("flash ", r.IntN(20)))
		case kind < 7: // the text of an earlier one
			o := claims[r.IntN(i)]
			claims[i] = newArticle(i, at, o.Fingerprint, "")
			claims[i].Digest, claims[i].LittleText, claims[i].Signature = o.Digest, o.LittleText, o.Signature
		default: // up to 4 bits off an earlier one
			fp := claims[r.IntN(i)].Fingerprint
			for range r.IntN(5) {
				fp ^= 1 << r.IntN(64)
			}
			claims[i] = newArticle(i, at, fp, fmt.Sprint(i))
			if r.IntN(2) == 0 {
				claims[i].Signature = []byte{byte(r.IntN(3))}
			}
		}
		claims[i].Time = claims[i].Time.Truncate(time.Millisecond)
	}
	return claims
}

func testReference(t *testing.T, newIndex factory) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for _, p := range []Params{standard, {Window: 2 * time.Hour, Generations: 3}, {Window: 90 * time.Minute, Generations: 1, MaxDistance: 4}} {
		x, ref := newIndex(t, p), reference{Params: p}
		claims := random(r, 1000, 5*p.Window) // so many that chance leaves no kind out
		answers := make([]article.Verdict, 0, len(claims))
		for at := 0; at < len(claims); {
			end := min(len(claims), at+1+r.IntN(40))
			answers = append(answers, claim(t, x, claims[at:end]...)...)
			at = end
		}
		kinds := map[article.Kind]int{}
		for i, c := range claims {
			require.Equal(t, ref.claim(c), answers[i], "claim %d, parameters %+v", i, p)
			kinds[answers[i].Kind]++
		}
		require.Equal(t, answers, claim(t, x, claims...), "replay in one call")
		require.Greater(t, kinds[article.Unique], 50)
		require.Greater(t, kinds[article.Exact], 50)
		if p.MaxDistance > 0 {
			require.Greater(t, kinds[article.Near], 50)
			require.Positive(t, kinds[article.Possible])
		}
	}
}

// testConcurrent claims the same articles in several goroutines in different orders and calls.
func testConcurrent(t *testing.T, newIndex factory) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	x := newIndex(t, standard)
	claims := random(rand.New(rand.NewPCG(seed, 0)), 200, 3*standard.Window)
	const workers = 4
	answers := make([]map[article.Coordinates]article.Verdict, workers)
	var group sync.WaitGroup
	for w := range workers {
		answers[w] = map[article.Coordinates]article.Verdict{}
		r := rand.New(rand.NewPCG(seed, uint64(w)))
		order := r.Perm(len(claims))
		group.Go(func() {
			for at := 0; at < len(order); {
				end := min(len(order), at+1+r.IntN(10))
				var call []article.Article
				for _, i := range order[at:end] {
					call = append(call, claims[i])
				}
				matches, err := x.Claim(t.Context(), call)
				if err != nil {
					t.Error(err)
					return
				}
				for i, m := range matches {
					answers[w][call[i].Coordinates] = m
				}
				at = end
			}
		})
	}
	group.Wait()
	for w := 1; w < workers; w++ {
		require.Equal(t, answers[0], answers[w], "every worker got the same answers")
	}
	require.Empty(t, Inconsistent(standard, claims, answers[0], true))
}

// Inconsistent says how answers contradict each other, "" if they do not: every original must have been claimed,
// every chain of originals must end in an article that is no copy and is the root of all in the chain, and, if complete, no two copies inside the window
// may both be none (an index that limits what it reads may let copies through).
func Inconsistent(p Params, claims []article.Article, answers map[article.Coordinates]article.Verdict, complete bool) string {
	for i, a := range claims {
		for _, b := range claims[:i] {
			twins := !answers[a.Coordinates].Kind.IsCopy() && !answers[b.Coordinates].Kind.IsCopy()
			if complete && twins && judge(p, a, b).Kind.IsCopy() {
				return fmt.Sprintf("twins: %v and %v are copies and both held to be none", a.Coordinates, b.Coordinates)
			}
		}
		at := a.Coordinates
		for steps := 0; answers[at].Kind.IsCopy(); steps++ {
			if steps > len(claims) {
				return fmt.Sprintf("the chain of %v has no end", a.Coordinates)
			}
			at = answers[at].Original.Coordinates
		}
		if answers[at].Kind == 0 {
			return fmt.Sprintf("the chain of %v ends in an article that was not claimed", a.Coordinates)
		}
		if root := answers[a.Coordinates].Root.Coordinates; root != at {
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
		return article.Judgement{Kind: article.Exact, Reason: article.ReasonDigest}
	case a.LittleText || b.LittleText || distance > p.MaxDistance:
		return article.Judgement{}
	default:
		return p.Search().Check(distance, a.Signature, b.Signature)
	}
}
