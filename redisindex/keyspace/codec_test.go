package keyspace

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/packed"
	"echosieve/simhash"
)

func someArticle(fp simhash.Fingerprint) article.Article {
	return article.Article{Coordinates: article.Coordinates{Topic: "t", Offset: 7}, ID: "7",
		Time: time.UnixMilli(1_700_000_000_000), Fingerprint: fp}
}

func TestEntryRoundTrip(t *testing.T) {
	little := Entry{Slice: 3, Article: article.Article{
		Coordinates: article.Coordinates{Topic: strings.Repeat("t", 249), Partition: -1, Offset: math.MinInt64},
		ID:          "\x00新", Time: time.UnixMilli(math.MaxInt64), Fingerprint: 5,
		Digest: article.Digest{1, 2, 3, 15: 9}, LittleText: true,
	}}
	plain := Entry{Slice: 3, Article: someArticle(5)}
	plain.Signature, plain.Time = []byte("signature"), time.UnixMilli(12)
	data := string(plain.Append(little.Append(nil, 7), 7))
	for _, want := range []Entry{little, plain} {
		var got Entry
		var err error
		got, data, err = CutEntry(FieldRef{3, 5}, 7, data)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.Empty(t, data)
}

func TestVerdictRoundTrip(t *testing.T) {
	self := article.Ref{ID: "self", Coordinates: article.Coordinates{Topic: "t", Partition: 3, Offset: 1<<40 + 1}}
	a := article.Ref{ID: "a", Coordinates: article.Coordinates{Topic: "t", Partition: 3, Offset: 1 << 40}}
	b := article.Ref{ID: "", Coordinates: article.Coordinates{Topic: "u"}}
	noID := article.Ref{ID: "t/1/2", Coordinates: article.Coordinates{Topic: "t", Partition: 1, Offset: 2}}
	revised := article.Ref{ID: "self", Coordinates: article.Coordinates{Topic: "", Partition: 1, Offset: 2}}
	half := article.Likeness{Relation: article.Overlaps, Similarity: 50, Contained: 67, Contains: 66}
	for n, m := range []struct {
		verdict article.Verdict
		bytes   int
	}{
		{article.Verdict{Kind: article.Unique, Root: self}, 1},
		{article.Verdict{Kind: article.Near, Original: a, Root: a, Distance: 3}, 16},
		{article.Verdict{Kind: article.Near, Reason: article.ReasonOverlap, Likeness: half, Original: a, Root: b,
			Distance: 31, Destination: article.ToPossible}, 21},
		{article.Verdict{Kind: article.Near, Reason: article.ReasonSubject, Likeness: half, Original: noID,
			Root: noID, Distance: 64, Destination: article.ToDuplicate}, 10},
		{article.Verdict{Kind: article.Possible, Reason: article.ReasonValues, Likeness: half, Original: revised,
			Root: self, Distance: 16, Destination: article.ToPossible}, 10},
		{article.Verdict{Kind: article.Exact, Likeness: article.SameText, Original: b, Root: a,
			Destination: article.ToUnique}, 21},
	} {
		data := packed.AppendVerdict(nil, m.verdict, self)
		require.Len(t, data, m.bytes, n)
		got, ok := packed.DecodeVerdict(data, self)
		require.True(t, ok)
		require.Equal(t, m.verdict, got)
		for n := range data {
			_, ok := packed.DecodeVerdict(data[:n], self)
			require.False(t, ok, "cut to %d bytes", n)
		}
		_, ok = packed.DecodeVerdict(append(data, 0), self)
		require.False(t, ok, "a byte too many")
	}
}

// All numbers that the enumerations have now fit their bits.
func TestVerdictBits(t *testing.T) {
	self := article.Ref{ID: "self"}
	for kind := article.Near; kind.String() != "none"; kind++ {
		for _, relation := range article.Relations() {
			for _, to := range article.VerdictDestinations() {
				v := article.Verdict{Kind: kind, Reason: article.ReasonSubject,
					Likeness: article.Likeness{Relation: relation}, Root: self, Destination: to}
				got, ok := packed.DecodeVerdict(packed.AppendVerdict(nil, v, self), self)
				require.True(t, ok)
				require.Equal(t, v, got)
			}
		}
	}
}

func FuzzCutEntry(f *testing.F) {
	good := string((&Entry{Article: someArticle(1)}).Append(nil, 0))
	for _, seed := range []string{"", good, good + good, good[:30], strings.Repeat("\x00", 60),
		strings.Repeat("\xff", 60)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		for data != "" {
			e, rest, err := CutEntry(FieldRef{}, 0, data)
			if err != nil {
				return
			}
			if len(rest) >= len(data) {
				t.Fatal("no progress")
			}
			_, _ = packed.DecodeVerdict(e.VerdictBytes, e.Ref())
			data = rest
		}
	})
}

// The lists of one hash share commands, up to listsPerCommand lists in a command.
func TestListsShareCommands(t *testing.T) {
	l := newLayout(testConfig())
	var refs []ListRef
	for value := range uint64(300) {
		refs = append(refs, ListRef{Slice: 1, Block: 0, Value: value}, ListRef{Slice: 1, Block: 1, Value: value},
			ListRef{Slice: 2, Block: 0, Value: value | 1<<l.fieldBits})
	}
	seen := map[ListRef]bool{}
	groups := l.GroupByHash(refs)
	require.Len(t, groups, 3*3)
	for _, group := range groups {
		require.LessOrEqual(t, len(group), listsPerCommand)
		for _, n := range group {
			require.Equal(t, l.hash(refs[group[0]]), l.hash(refs[n]))
			seen[refs[n]] = true
		}
	}
	require.Len(t, seen, len(refs))
}
