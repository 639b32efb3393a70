package redisindex

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/redisrig"
)

// Advice is what Claim decides next: for copies near and exact, in one slice and in two, for revisions with
// the id of the original, and for articles that only resemble one. It writes nothing.
func TestAdviceIsTheNextVerdict(t *testing.T) {
	wanted := []article.Kind{article.Unique, article.Near, article.Exact, article.Possible}
	redisrig.OnKinds(t, func(t *testing.T, addr, buckets string) {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		client := redisrig.Client(t, addr)
		kinds := map[article.Kind]int{}
		// An index that knows all texts and fingerprints finds exact copies only: another round begins with an empty one.
		for round := 0; len(kinds) < len(wanted) && round < 50; round++ {
			cfg := redisrig.KindConfig(redisrig.Standard, buckets)
			if cfg.Buckets == keyspace.BucketsSets {
				// The members of a set come in any order, and of equally near candidates the first ones are compared.
				cfg.MaxCandidates = 1000
			}
			adviceIsTheNextVerdict(t, newIndex(t, client, cfg), random, kinds)
		}
		require.ElementsMatch(t, wanted, slices.Collect(maps.Keys(kinds)), "%v", kinds)
	})
}

// adviceIsTheNextVerdict claims 150 articles, and counts their verdicts.
func adviceIsTheNextVerdict(t *testing.T, x *Index, random *rand.Rand, kinds map[article.Kind]int) {
	t.Helper()
	for i := range 150 {
		a := redisrig.Article(i, simhash.Fingerprint(1)<<random.IntN(4)|simhash.Fingerprint(random.IntN(3))<<40)
		text := byte(random.IntN(6)) // equal texts have equal fingerprints and signatures
		a.Digest = article.Digest{text, byte(a.Fingerprint), byte(a.Fingerprint >> 40)}
		a.Signature = []byte{text % 3, text / 3}
		a.ID = fmt.Sprint(random.IntN(40))
		a.Time = a.Time.Add(time.Duration(random.IntN(90)) * time.Minute)
		before := x.client.Keys(t.Context(), x.keys.Prefix+"*").Val()
		advice, err := x.Advise(t.Context(), &a)
		require.NoError(t, err)
		require.ElementsMatch(t, before, x.client.Keys(t.Context(), x.keys.Prefix+"*").Val())
		verdict := claimOne(t, x, a)
		require.Equal(t, verdict, advice.Verdict, "article %d, %d candidates", i, len(advice.Candidates))
		kinds[verdict.Kind]++
	}
}

// An original without a verdict has no root yet; one that the index hides is no original.
func TestAdviceAboutUndecidedAndHidden(t *testing.T) {
	x := onMini(t)
	original, later := redisrig.Article(1, 0xF0), redisrig.Article(2, 0xF1)
	require.NoError(t, x.session.EnsureScripts(t.Context()))
	b := newClaim(newCall(x, []article.Article{original}))
	steps := b.steps()
	advance(t, steps[:4]...) // with a ticket, without a verdict
	advice, err := x.Advise(t.Context(), &later)
	require.NoError(t, err)
	require.Equal(t, original.Ref(), advice.Verdict.Original)
	require.Zero(t, advice.Verdict.Root)

	claimOne(t, x, original)
	stored, err := x.Stored(t.Context(), &original)
	require.NoError(t, err)
	hidden, err := x.Hide(t.Context(), stored[0])
	require.NoError(t, err)
	require.True(t, hidden)
	for _, a := range []article.Article{later, original} { // an exact repeat is no copy of it, either
		a.Offset = 9
		advice, err = x.Advise(t.Context(), &a)
		require.NoError(t, err)
		require.Equal(t, article.Unique, advice.Verdict.Kind)
		require.Equal(t, advice.Verdict, claimOne(t, x, a))
		x = newIndex(t, x.client, x.cfg)
	}
}

func TestStored(t *testing.T) {
	x := onMini(t)
	x.keys.Layout.MaxEntries = 2
	original, near := redisrig.Article(1, 0xF0), redisrig.Article(2, 0xF0)
	claimOne(t, x, original)
	read := counted(x.metrics.members)
	claimOne(t, x, near)
	overflow := redisrig.Article(3, 0xF0)
	claimOne(t, x, overflow)
	require.Equal(t, 3*read, counted(x.metrics.members), "no claim reads a list twice")

	found, err := x.Stored(t.Context(), &original)
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, original.Coordinates, found[0].Coordinates)
	require.Equal(t, article.Verdict{Kind: article.Unique, Root: original.Ref()}, found[0].Verdict)
	require.Equal(t, original.Ref(), found[1].Verdict.Original)
	require.Less(t, found[0].Ticket, found[1].Ticket)

	found, err = x.Stored(t.Context(), &overflow)
	require.NoError(t, err)
	require.Len(t, found, 3)
	require.True(t, found[2].Overflow)
	require.Equal(t, overflow.Coordinates, found[2].Coordinates)

	other := redisrig.Article(4, 0xF0)
	other.Time = other.Time.Add(-10 * x.cfg.Window)
	found, err = x.Stored(t.Context(), &other)
	require.NoError(t, err)
	require.Empty(t, found, "of slices out of reach")
}
