package pipeline

import (
	"testing"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"
	"echosieve/simhash"

	"github.com/stretchr/testify/require"
)

func TestParseHeadersReadsWhatWasPublished(t *testing.T) {
	r := recordOf("{}")
	self := article.Ref{ID: "a1", Coordinates: r.Coordinates}
	original := article.Ref{ID: "o", Coordinates: article.Coordinates{Topic: "articles", Offset: 7}}
	root := article.Ref{ID: "r", Coordinates: article.Coordinates{Topic: "articles.old", Partition: 1, Offset: 3}}
	fingerprint := simhash.Fingerprint(0xabc)
	likeness := article.Likeness{Relation: article.Extends, Similarity: 57, Contained: 58, Contains: 100}
	for name, v := range map[string]article.Verdict{
		"unique": {Kind: article.Unique, Root: self},
		"near": {Kind: article.Near, Reason: article.ReasonOverlap, Original: original, Root: root, Distance: 3,
			Likeness: likeness, Destination: article.ToDuplicate},
		"exact": article.ExactVerdict(original, original),
		"classic": {Kind: article.Near, Reason: article.ReasonDistance, Original: original, Root: root, Distance: 3,
			Destination: article.ToDuplicate},
		"possible": {Kind: article.Possible, Reason: article.ReasonValues, Original: original, Root: self,
			Distance: 9, Likeness: likeness, Destination: article.ToPossible},
	} {
		t.Run(name, func(t *testing.T) {
			want := OutputHeaders{Verdict: v, Fingerprint: &fingerprint, Input: r.Coordinates,
				Recipe: "news-1-00000000"}
			got, err := ParseHeaders(verdictOutput(r, &article.Article{Fingerprint: fingerprint}, &v,
				want.Recipe).Headers)
			require.NoError(t, err)
			require.Equal(t, want, got)

			want.Fingerprint = nil
			got, err = ParseHeaders(verdictOutput(r, &article.Article{LittleText: true}, &v, want.Recipe).Headers)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}

	got, err := ParseHeaders(tombstoneOutput(r, "x").Headers)
	require.NoError(t, err)
	require.Equal(t, OutputHeaders{Verdict: article.Verdict{Kind: article.Unique}, Input: r.Coordinates, Recipe: "x"},
		got)

	reject := record.Reject(record.NoText, "none of the fields")
	got, err = ParseHeaders(deadOutput(r, reject, 1<<20).Headers)
	require.NoError(t, err)
	require.Equal(t, OutputHeaders{Input: r.Coordinates, Reject: reject}, got)
}

func TestParseHeadersNamesTheBadHeader(t *testing.T) {
	_, err := ParseHeaders(recordOf("{}").Headers)
	require.ErrorIs(t, err, ErrNoOutput)
	r := recordOf("{}")
	self := article.Ref{Coordinates: r.Coordinates}
	good := verdictOutput(r, &article.Article{}, &article.Verdict{Kind: article.Near, Reason: article.ReasonOverlap,
		Original: self, Root: self}, "x").Headers
	for name, bad := range map[string]string{
		HeaderVerdict: "maybe", HeaderReason: "mood", HeaderDistance: "far", HeaderRelation: "cousin",
		HeaderSimilarity: "1.01", HeaderContained: "x", HeaderContains: "-0.1", HeaderFingerprint: "abc",
		HeaderInput:    "articles/1",
		HeaderOriginal: "a/b/c/d", HeaderRoot: "articles/0/-1",
	} {
		headers := append(append([]record.Header{}, good...), header(name, bad))
		_, err := ParseHeaders(headers)
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, bad)
	}
}
