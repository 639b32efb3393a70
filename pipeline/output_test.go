package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"echosieve/pipeline/article"
	"echosieve/pipeline/record"

	"github.com/stretchr/testify/require"
)

func recordOf(value string) *record.Record {
	return &record.Record{
		Coordinates: article.Coordinates{Topic: "articles", Partition: 2, Offset: 41},
		Value:       []byte(value), Time: time.UnixMilli(1_700_000_000_000),
	}
}

// keys are the header names in their order, on which readers of the output rely.
func keys(headers []record.Header) []string {
	names := make([]string, len(headers))
	for i, h := range headers {
		names[i] = h.Key
	}
	return names
}

func value(headers []record.Header, key string) string {
	for _, h := range headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// A long detail ends with a whole character, wherever its bytes are cut.
func TestDetailIsCutAtACharacter(t *testing.T) {
	for lead := range 3 {
		reject := record.Reject(record.NoText, "%s%s", strings.Repeat("x", lead), strings.Repeat("\u65b0", maxDetailBytes))
		out := deadOutput(recordOf("{}"), reject, 1<<20)
		require.Equal(t, reject.Detail[:lead+(maxDetailBytes-lead)/3*3], out.Detail)
		require.Equal(t, out.Detail, value(out.Headers, HeaderDetail))
	}
}

func TestVerdictHeaders(t *testing.T) {
	r := recordOf("{}")
	r.Headers = []record.Header{{Key: "trace"}, header("echosieve-verdict", "forged"),
		header("echosieve-other", "kept")}
	self := article.Ref{ID: "a1", Coordinates: r.Coordinates}
	original := article.Ref{ID: "o", Coordinates: article.Coordinates{Topic: "articles", Partition: 0, Offset: 7}}
	root := article.Ref{ID: "r", Coordinates: article.Coordinates{Topic: "articles", Partition: 1, Offset: 3}}
	a := &article.Article{Fingerprint: 0xabc}

	out := verdictOutput(r, a, &article.Verdict{Kind: article.Unique, Root: self}, "news-1-00000000")
	require.Equal(t, article.ToUnique, out.Destination)
	require.Equal(t, []string{
		"trace", "echosieve-other", "echosieve-verdict", "echosieve-fingerprint",
		"echosieve-root-id", "echosieve-root", "echosieve-input", "echosieve-recipe",
	}, keys(out.Headers))
	require.Nil(t, out.Headers[0].Value)
	require.Equal(t, "unique", value(out.Headers, HeaderVerdict))
	require.Equal(t, "0000000000000abc", value(out.Headers, HeaderFingerprint))
	require.Equal(t, "a1", value(out.Headers, HeaderRootID))
	require.Equal(t, "articles/2/41", value(out.Headers, HeaderInput))

	partly := &article.Article{Fingerprint: 0xabc, CleanBytes: 3000, BoilerplateBytes: 600, FurnitureBytes: 390}
	out = verdictOutput(r, partly, &article.Verdict{Kind: article.Unique, Root: self}, "news-1-00000000")
	require.Equal(t, "0.33", value(out.Headers, HeaderLeftOut))

	out = verdictOutput(r, a, &article.Verdict{
		Kind: article.Near, Reason: article.ReasonOverlap, Original: original, Root: root, Distance: 3,
		Destination: article.ToDuplicate,
		Likeness:    article.Likeness{Relation: article.Extends, Similarity: 83, Contained: 84, Contains: 100},
	}, "news-1-00000000")
	require.Equal(t, article.ToDuplicate, out.Destination)
	require.Equal(t, []string{
		"trace", "echosieve-other", "echosieve-verdict", "echosieve-fingerprint", "echosieve-reason",
		"echosieve-distance",
		"echosieve-relation", "echosieve-similarity", "echosieve-contained", "echosieve-contains",
		"echosieve-original-id", "echosieve-original",
		"echosieve-root-id", "echosieve-root", "echosieve-input", "echosieve-recipe",
	}, keys(out.Headers))
	require.Equal(t, "near", value(out.Headers, HeaderVerdict))
	require.Equal(t, "overlap", value(out.Headers, HeaderReason))
	require.Equal(t, "3", value(out.Headers, HeaderDistance))
	require.Equal(t, "extends", value(out.Headers, HeaderRelation))
	require.Equal(t, "0.83", value(out.Headers, HeaderSimilarity))
	require.Equal(t, "0.84", value(out.Headers, HeaderContained))
	require.Equal(t, "1.00", value(out.Headers, HeaderContains))
	require.Equal(t, "articles/0/7", value(out.Headers, HeaderOriginal))
	require.Equal(t, "articles/1/3", value(out.Headers, HeaderRoot))
	require.Equal(t, "news-1-00000000", value(out.Headers, HeaderRecipe))

	out = verdictOutput(r, a, &article.Verdict{Kind: article.Possible, Reason: article.ReasonValues,
		Original: original, Root: self, Distance: 9, Destination: article.ToPossible}, "x")
	require.Equal(t, article.ToPossible, out.Destination)
	require.Equal(t, "possible", value(out.Headers, HeaderVerdict))
	require.Equal(t, "values", value(out.Headers, HeaderReason))
	require.Equal(t, "articles/0/7", value(out.Headers, HeaderOriginal))
	require.Equal(t, "articles/2/41", value(out.Headers, HeaderRoot), "the root is itself")
	require.NotContains(t, keys(out.Headers), HeaderRelation, "not told by the recipe")

	out = verdictOutput(r, a, &article.Verdict{Kind: article.Near,
		Likeness: article.Likeness{Relation: article.Revises}, Original: original, Root: root}, "x")
	require.Equal(t, article.ToUnique, out.Destination, "by policy")
	require.Equal(t, "near", value(out.Headers, HeaderVerdict))
	require.Equal(t, "revises", value(out.Headers, HeaderRelation), "by the id")
	require.NotContains(t, keys(out.Headers), HeaderSimilarity, "not told by the recipe")
	require.Equal(t, "articles/1/3", value(out.Headers, HeaderRoot))

	out = verdictOutput(r, &article.Article{LittleText: true},
		&article.Verdict{Kind: article.Exact, Original: original, Root: original, Destination: article.ToDuplicate},
		"x")
	require.NotContains(t, keys(out.Headers), HeaderFingerprint)
	require.Equal(t, "exact", value(out.Headers, HeaderVerdict))
}

func TestDeadOutputAlwaysFits(t *testing.T) {
	const limit = 4096
	reject := record.Reject(record.TooLarge, "%s", strings.Repeat("d", 1000))
	for name, c := range map[string]struct {
		key, value, header      int
		omitValue, omitKey, all bool
	}{
		"small":         {10, 10, 10, false, false, true},
		"large value":   {10, 1 << 20, 10, true, false, true},
		"large key":     {1 << 20, 10, 10, true, true, false},
		"large headers": {10, 10, 1 << 20, true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := recordOf(strings.Repeat("v", c.value))
			r.Key = make([]byte, c.key)
			r.Headers = []record.Header{{Key: "h", Value: make([]byte, c.header)}}
			out := deadOutput(r, reject, limit)
			require.Equal(t, c.omitValue, out.OmitValue)
			require.Equal(t, c.omitKey, out.OmitKey)
			require.Equal(t, c.all, out.Headers[0].Key == "h")
			published := record.Record{Headers: out.Headers}
			if !out.OmitKey {
				published.Key = r.Key
			}
			if !out.OmitValue {
				published.Value = r.Value
			}
			require.LessOrEqual(t, recordBytes(&published), limit)
			require.Equal(t, "too_large", value(out.Headers, HeaderReason))
			require.Equal(t, "articles/2/41", value(out.Headers, HeaderInput))
		})
	}
}

func TestVerdictHeadersFitTheirBound(t *testing.T) {
	long := article.Ref{ID: strings.Repeat("i", article.MaxIDBytes),
		Coordinates: article.Coordinates{Topic: strings.Repeat("t", 249), Partition: 1<<31 - 1, Offset: 1<<63 - 1}}
	r := &record.Record{Coordinates: long.Coordinates}
	longest := &article.Verdict{Kind: article.Unique + 1, Original: long, Root: long, Distance: 64,
		Likeness: article.SameText}
	longest.Relation = article.Contained
	out := verdictOutput(r, &article.Article{}, longest, strings.Repeat("r", 64))
	require.LessOrEqual(t, recordBytes(&record.Record{Headers: out.Headers})-recordBytes(r), maxVerdictHeaderBytes)
	dead := deadOutput(r, record.Reject(record.TooLarge, "%s", strings.Repeat("d", 9999)), 1)
	require.LessOrEqual(t, recordBytes(&record.Record{Headers: dead.Headers})-recordBytes(r), maxDeadHeaderBytes)
}

// Headers with our names are replaced. All other headers are kept unchanged and in their order, and ours occur once.
func FuzzHeaders(f *testing.F) {
	f.Add("crawler", []byte("x"), HeaderVerdict, []byte("forged"))
	f.Add("", []byte{}, HeaderInput, []byte(nil))
	f.Add(HeaderReason, []byte("\xff\x00"), strings.ToUpper(HeaderReason), []byte("kept"))
	f.Fuzz(func(t *testing.T, key1 string, value1 []byte, key2 string, value2 []byte) {
		in := []record.Header{{Key: key1, Value: value1}, {Key: key2, Value: value2}, {Key: key1, Value: value2}}
		r := recordOf("x")
		r.Headers = in
		out := deadOutput(r, record.Reject(record.NotJSON, "detail"), 1<<20)
		var foreign []string
		ours := map[string]int{}
		for _, h := range out.Headers {
			if slices.Contains(ownHeaders, h.Key) {
				ours[h.Key]++
				continue
			}
			foreign = append(foreign, fmt.Sprintf("%q %q %t", h.Key, h.Value, h.Value == nil))
		}
		var want []string
		for _, h := range in {
			if !slices.Contains(ownHeaders, h.Key) {
				want = append(want, fmt.Sprintf("%q %q %t", h.Key, h.Value, h.Value == nil))
			}
		}
		if !slices.Equal(want, foreign) || len(ours) != 3 || ours[HeaderReason] != 1 || ours[HeaderDetail] != 1 ||
			ours[HeaderInput] != 1 {
			t.Fatalf("%q became %q, of ours %v", want, foreign, ours)
		}
	})
}
