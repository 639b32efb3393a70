// Package indextest is the contract of pipeline.Index in the form of tests. Every index must pass Run.
package indextest

import (
	"bytes"
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
	Slices      int
	MaxDistance int
	Blocks      int // 0: MaxDistance + 1
	Probes      int

	LoneDistance int // see article.Search
	Policy       article.Policy
}

// Search returns the requirements of a recipe with one block more than MaxDistance, so that look-ups miss no
// candidate, and with a simple second check. Articles without a signature are judged by their distance. The
// first byte of a signature tells copies: articles with equal bytes are copies, with a difference of 1
// possible copies, otherwise different. The second byte is the length: the longer article contains the shorter
// one. Two articles of length 2 are possible copies if more than an eighth of the window lies between them.
func (p Params) Search() article.Search {
	blocks := p.Blocks
	if blocks == 0 {
		blocks = p.MaxDistance + 1
	}
	return article.Search{
		Blocks: blocks, Probes: p.Probes, LoneDistance: p.LoneDistance,
		Rule: article.Rule{MaxDistance: p.MaxDistance, Check: func(_ int, b, a *article.Article) article.Judgement {
			later, earlier := b.Signature, a.Signature
			switch {
			case len(later) == 0 || len(earlier) == 0:
				return article.Judgement{Kind: article.Near, Reason: article.ReasonDistance}
			case later[1]&earlier[1]&2 != 0 && b.Time.Sub(a.Time).Abs() > p.Window/8:
				return article.Judgement{Kind: article.Possible, Reason: article.ReasonPublisher}
			case later[0] == earlier[0]:
				return article.Judgement{
					Kind: article.Near, Reason: article.ReasonOverlap,
					Likeness: likeness(later, earlier),
				}
			case max(later[0], earlier[0])-min(later[0], earlier[0]) == 1:
				return article.Judgement{
					Kind: article.Possible, Reason: article.ReasonValues,
					Likeness: likeness(later, earlier),
				}
			default:
				return article.Judgement{Reason: article.ReasonNumbers}
			}
		}},
	}
}

// likeness is that of the second check of Params.Search.
func likeness(later, earlier []byte) article.Likeness {
	switch bytes.Compare(later[1:], earlier[1:]) {
	case -1:
		return article.Likeness{Relation: article.Contained, Similarity: 60, Contained: 98, Contains: 61}
	case 1:
		return article.Likeness{Relation: article.Extends, Similarity: 60, Contained: 61, Contains: 98}
	default:
		return article.Likeness{Relation: article.Overlaps, Similarity: 70, Contained: 83, Contains: 82}
	}
}

// standard is used by tests that need no special parameters. Its slices are half an hour long.
var standard = Params{Window: time.Hour, Slices: 2, MaxDistance: 3}

// epoch is the beginning of a slice under the standard parameters.
var epoch = time.UnixMilli(1_700_000_000_000 / 1_800_000 * 1_800_000)

// Run runs all tests of the contract. Each call of newIndex returns a new, empty index.
func Run(t *testing.T, newIndex func(t *testing.T, p Params) pipeline.Index) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, func(*testing.T, Params) pipeline.Index)
	}{
		{"Replay", testReplay},
		{"ReplayWithinCall", testReplayWithinCall},
		{"WindowEdges", testWindowEdges},
		{"Retract", testRetract},
		{"Release", testRelease},
		{"Probes", testProbes},
		{"Anchors", testAnchors},
		{"Reach", testReach},
		{"Flood", testFlood},
		{"OddTimes", testOddTimes},
		{"RecreatedTopic", testRecreatedTopic},
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

// little makes an article with little text.
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
	return article.Verdict{
		Kind: article.Near, Reason: article.ReasonDistance, Original: original.Ref(),
		Root: root.Ref(), Distance: distance, Destination: article.ToDuplicate,
	}
}

func exact(original, root article.Article) article.Verdict {
	return article.ExactVerdict(original.Ref(), root.Ref())
}

// claim claims articles in one call. It fails the test if the index blocks for a minute, as it does when it
// cannot read its store.
func claim(t testing.TB, x pipeline.Index, articles ...article.Article) []article.Verdict {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := x.Claim(ctx, articles)
	require.NoError(t, err)
	require.Len(t, got, len(articles))
	return got
}

// claimOne claims one article in one call.
func claimOne(t testing.TB, x pipeline.Index, c article.Article) article.Verdict {
	t.Helper()
	return claim(t, x, c)[0]
}
