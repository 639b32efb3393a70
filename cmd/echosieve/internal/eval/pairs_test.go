package eval

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline"
	"echosieve/simhash"
)

func article(digest byte, fp simhash.Fingerprint) pipeline.Article {
	return pipeline.Article{Fingerprint: fp, SimHash: fp, Digest: pipeline.Digest{digest}}
}

// byDistance is the rule of four blocks and three bits, without a second check.
var byDistance = ByRecipe(pipeline.Search{Layout: simhash.Layout{Count: 4}, MaxDistance: 3})

func TestPairs(t *testing.T) {
	articles := map[string]pipeline.Article{
		"a":     article(1, 0),
		"same":  article(1, 0),
		"near":  article(2, 0b111),
		"far":   article(3, 0xff_ff),                            // 16 bits away, three blocks equal
		"other": article(4, 0xffff_ffff_ffff_ffff),              // no block equal
		"tpl":   article(5, 0b1),                                // a look-alike at distance 1
		"short": {Digest: pipeline.Digest{6}, LittleText: true}, // distance 0, but too little text
	}
	pairs := []Pair{
		{"a", "same", Copy, "exact"},
		{"a", "near", Copy, "edit"},
		{"a", "far", Copy, "edit"},
		{"a", "other", Copy, "edit"},
		{"a", "tpl", HardNegative, "template"},
		{"a", "other", HardNegative, "background"},
		{"a", "short", HardNegative, "background"},
		{"near", "tpl", Partial, "digest"},
		{"far", "tpl", HardNegative, "ignored"},
	}
	r, err := Pairs(articles, pairs, []Pair{{A: "tpl", B: "far"}, {A: "far", B: "tpl"}, {A: "a", B: "unknown"}}, byDistance)
	require.NoError(t, err)
	require.Equal(t, 7, r.Docs)
	require.Equal(t, 8, r.Pairs)
	require.Equal(t, Rates{Recall: 2. / 4, Precision: 2. / 3, FalsePositiveRate: 1. / 3}, r.Rates)
	require.InDelta(t, 4./7, r.F1, 1e-12)
	require.InDelta(t, 3./4, r.CandidateRecall, 1e-12)
	require.Equal(t, map[string]KindResult{
		"exact": {Label: 1, N: 1, Flagged: 1}, "edit": {Label: 1, N: 3, Flagged: 1}, "template": {N: 1, Flagged: 1},
		"background": {N: 2}, IgnoredKind: {Label: -1, N: 1}, "digest": {Label: -1, N: 1, Flagged: 1},
	}, r.Kinds)
	require.Len(t, r.Distance, 33)
	require.Equal(t, AtDistance{0, Rates{Recall: 1. / 4, Precision: 1. / 2, FalsePositiveRate: 1. / 3}}, r.Distance[0])
	require.Equal(t, AtDistance{16, Rates{Recall: 3. / 4, Precision: 3. / 5, FalsePositiveRate: 2. / 3}}, r.Distance[16])

	_, err = Pairs(articles, []Pair{{"a", "nobody", Copy, "edit"}}, nil, byDistance)
	require.ErrorContains(t, err, "nobody")
}

// The names are what scripts read.
func TestJSONNames(t *testing.T) {
	out, err := json.Marshal(PairsResult{Kinds: map[string]KindResult{"k": {}}, Distance: []AtDistance{{}}})
	require.NoError(t, err)
	require.JSONEq(t, `{"docs":0,"pairs":0,"recall":0,"precision":0,"false_positive_rate":0,"f1":0,"candidate_recall":0,
		"kinds":{"k":{"label":0,"n":0,"flagged":0,"possible":0}},
		"distance":[{"k":0,"recall":0,"precision":0,"false_positive_rate":0}]}`, string(out))
}

func TestParsePair(t *testing.T) {
	p, header, err := ParsePair("x\ty\t-1\tdigest\t.5", true)
	require.NoError(t, err)
	require.False(t, header)
	require.Equal(t, Pair{"x", "y", Partial, "digest"}, p)
	p, _, err = ParsePair("x\ty", false)
	require.NoError(t, err)
	require.Equal(t, Pair{A: "x", B: "y"}, p)
	_, header, err = ParsePair("id_a\tid_b\tlabel\tkind", true)
	require.NoError(t, err)
	require.True(t, header)
	for _, bad := range []string{"x", "x\ty", "x\ty\t2\tk", "x\ty\tyes\tk"} {
		_, _, err := ParsePair(bad, true)
		require.Error(t, err, bad)
	}
}
