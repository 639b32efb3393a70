// Package indextest is the contract of pipeline.Index as tests: every index must pass Run.
package indextest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/simhash"
)

// Params are what an index is made with.
type Params struct {
	Window      time.Duration
	Generations int
	MaxDistance int
	Blocks      int // 0: MaxDistance + 1
	Probes      int
}

// Search is what the parameters say about search: the pigeonhole principle, so that nothing is missed, and a toy of a
// second check. Articles without signature are judged by their distance; others by the difference of their one byte:
// 0 is a copy, 1 a possible one.
func (p Params) Search() article.Search {
	blocks := p.Blocks
	if blocks == 0 {
		blocks = p.MaxDistance + 1
	}
	return article.Search{
		Blocks: blocks, Probes: p.Probes,
		Rule: article.Rule{MaxDistance: p.MaxDistance, Check: func(_ int, a, b []byte) article.Judgement {
			switch {
			case len(a) == 0 || len(b) == 0:
				return article.Judgement{Kind: article.Near, Reason: article.ReasonDistance}
			case a[0] == b[0]:
				return article.Judgement{Kind: article.Near, Reason: article.ReasonOverlap}
			case max(a[0], b[0])-min(a[0], b[0]) == 1:
				return article.Judgement{Kind: article.Possible, Reason: article.ReasonValues}
			default:
				return article.Judgement{Reason: article.ReasonNumbers}
			}
		}},
	}
}

// standard is used where a test needs nothing special: generations of half an hour.
var standard = Params{Window: time.Hour, Generations: 2, MaxDistance: 3}

// epoch lies on a generation's border under the standard parameters.
var epoch = time.UnixMilli(1_700_000_000_000 / 1_800_000 * 1_800_000)

// Run runs the contract. newIndex returns an empty index; each call another one.
func Run(t *testing.T, newIndex func(t *testing.T, p Params) pipeline.Index) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, func(*testing.T, Params) pipeline.Index)
	}{
		{"Kinds", testKinds},
		{"SameCall", testSameCall},
		{"Replay", testReplay},
		{"ReplayWithinCall", testReplayWithinCall},
		{"WindowEdges", testWindowEdges},
		{"Borders", testBorders},
		{"LittleText", testLittleText},
		{"SecondCheck", testSecondCheck},
		{"Probes", testProbes},
		{"Anchors", testAnchors},
		{"Flood", testFlood},
		{"ExactRepeats", testExactRepeats},
		{"Roots", testRoots},
		{"OddTimes", testOddTimes},
		{"LongNames", testLongNames},
		{"TwoTextsAtOnePlace", testTwoTextsAtOnePlace},
		{"HighBits", testHighBits},
		{"Reference", testReference},
		{"Concurrent", testConcurrent},
		{"ContextEnd", testContextEnd},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newIndex) })
	}
}

// newArticle makes the n-th article of a test. Equal texts have equal digests.
func newArticle(n int, at time.Duration, fp simhash.Fingerprint, text string) article.Article {
	sum := sha256.Sum256([]byte(text))
	return article.Article{
		Coordinates: article.Coordinates{Topic: "articles", Partition: int32(n % 3), Offset: int64(n)},
		ID:          fmt.Sprintf("id-%d", n), Time: epoch.Add(at),
		Digest: article.Digest(sum[:16]), Fingerprint: fp,
	}
}

// little makes the claim of an article with little text.
func little(n int, at time.Duration, text string) article.Article {
	c := newArticle(n, at, 0, text)
	c.Fingerprint = simhash.Fingerprint(binary.BigEndian.Uint64(c.Digest[:]))
	c.LittleText = true
	return c
}

func unique(c article.Article) article.Verdict {
	return article.Verdict{Kind: article.Unique, Root: c.Ref()}
}

func near(original, root article.Article, distance int) article.Verdict {
	return article.Verdict{Kind: article.Near, Reason: article.ReasonDistance, Original: original.Ref(), Root: root.Ref(), Distance: distance}
}

func exact(original, root article.Article) article.Verdict {
	return article.Verdict{Kind: article.Exact, Reason: article.ReasonDigest, Original: original.Ref(), Root: root.Ref()}
}

// claim claims in one call. An index that blocks, because it cannot make sense of its store, fails the test.
func claim(t testing.TB, x pipeline.Index, claims ...article.Article) []article.Verdict {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	matches, err := x.Claim(ctx, claims)
	require.NoError(t, err)
	require.Len(t, matches, len(claims))
	return matches
}

// claimOne claims one article in a call of its own.
func claimOne(t testing.TB, x pipeline.Index, c article.Article) article.Verdict {
	t.Helper()
	return claim(t, x, c)[0]
}
