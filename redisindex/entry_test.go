package redisindex

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
)

func TestEntryRoundTrip(t *testing.T) {
	little := entry{span: 3, Article: article.Article{
		Coordinates: article.Coordinates{Topic: strings.Repeat("t", 249), Partition: -1, Offset: math.MinInt64},
		ID:          "\x00新", Time: time.UnixMilli(math.MaxInt64), Fingerprint: 5, Digest: article.Digest{1, 2, 3, 15: 9}, LittleText: true,
	}}
	plain := entry{span: 3, Article: newArticle(7, 5)}
	plain.Signature, plain.Time = []byte("signature"), time.UnixMilli(12)
	data := string(plain.append(little.append(nil, 7), 7))
	for _, want := range []entry{little, plain} {
		var got entry
		var err error
		got, data, err = cutEntry(fieldRef{3, 5}, 7, data)
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
		{article.Verdict{Kind: article.Near, Reason: article.ReasonOverlap, Likeness: half, Original: a, Root: b, Distance: 31, Destination: article.ToPossible}, 21},
		{article.Verdict{Kind: article.Near, Reason: article.ReasonSubject, Likeness: half, Original: noID, Root: noID, Distance: 64, Destination: article.ToDuplicate}, 10},
		{article.Verdict{Kind: article.Possible, Reason: article.ReasonValues, Likeness: half, Original: revised, Root: self, Distance: 16, Destination: article.ToPossible}, 10},
		{article.Verdict{Kind: article.Exact, Likeness: article.SameText, Original: b, Root: a, Destination: article.ToUnique}, 21},
	} {
		data := appendVerdict(nil, m.verdict, self)
		require.Len(t, data, m.bytes, n)
		got, err := decodeVerdict(data, self)
		require.NoError(t, err)
		require.Equal(t, m.verdict, got)
		for n := range data {
			_, err := decodeVerdict(data[:n], self)
			require.ErrorIs(t, err, errCorrupt, "cut to %d bytes", n)
		}
		_, err = decodeVerdict(append(data, 0), self)
		require.ErrorIs(t, err, errCorrupt, "a byte too many")
	}
}

// All numbers that the enumerations have now fit their bits.
func TestVerdictBits(t *testing.T) {
	self := article.Ref{ID: "self"}
	for kind := article.Near; kind.String() != "none"; kind++ {
		for _, relation := range article.Relations() {
			for _, to := range article.VerdictDestinations() {
				v := article.Verdict{Kind: kind, Reason: article.ReasonSubject, Likeness: article.Likeness{Relation: relation}, Root: self, Destination: to}
				got, err := decodeVerdict(appendVerdict(nil, v, self), self)
				require.NoError(t, err)
				require.Equal(t, v, got)
			}
		}
	}
}

func TestTicketsKeepTheirOrder(t *testing.T) {
	for _, n := range []uint64{1, 255, 256, 1 << 24, 1<<48 - 1} {
		require.Len(t, ticketBytes(n), 6)
		require.Equal(t, n, ticketNumber(ticketBytes(n)))
	}
}

func FuzzCutEntry(f *testing.F) {
	good := string((&entry{Article: newArticle(1, 1)}).append(nil, 0))
	for _, seed := range []string{"", good, good + good, good[:30], strings.Repeat("\x00", 60), strings.Repeat("\xff", 60)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		for data != "" {
			e, rest, err := cutEntry(fieldRef{}, 0, data)
			if err != nil {
				return
			}
			if len(rest) >= len(data) {
				t.Fatal("no progress")
			}
			_, _ = decodeVerdict(e.verdictBytes, e.Ref())
			data = rest
		}
	})
}

// damages are bytes of other programs: in place of an entry in a field, or behind one.
func damages() map[string]string {
	c := newArticle(9, 0xff)
	whole := string((&entry{Article: c}).append(nil, 0))
	return map[string]string{
		"text":            "hello, this is another program speaking",
		"a byte":          "x",
		"zeros":           strings.Repeat("\x00", 60),
		"ones":            strings.Repeat("\xff", 60),
		"cut off":         whole[:len(whole)-1],
		"another version": whole[:formAt] + "\x63" + whole[formAt+1:],
	}
}

// Whatever bytes are in a field of entries, its partition goes on. The damage is set aside, counted and logged once, and the field
// does not grow with each attempt. Entries before the damage stay.
func TestDamagedEntryIsSetAside(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			client := newClient(t, server.start(t))
			for name, bytes := range damages() {
				for _, before := range []bool{false, true} {
					t.Run(name, func(t *testing.T) { damageOnce(t, client, bytes, before) })
				}
			}
		})
	}
}

// claimSoon is claimOne with a time limit: with a bug, the index would try again without end.
func claimSoon(t *testing.T, x *Index, c article.Article) article.Verdict {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m, err := x.Claim(ctx, []article.Article{c})
	require.NoError(t, err)
	return m[0]
}

func damageOnce(t *testing.T, client redis.UniversalClient, damage string, before bool) {
	var said bytes.Buffer
	x, err := New(client, testConfig(standard), nil, slog.New(slog.NewTextHandler(&said, nil)), nil)
	require.NoError(t, err)
	a, b := newArticle(1, 0xff), newArticle(2, 0xfe)
	field := x.entryOf(a).field()
	key, intact := x.keys.entries(field), ""
	if before { // the damage is behind an entry that is whole
		require.Equal(t, article.Unique, claimSoon(t, x, a).Kind)
		intact = client.HGet(t.Context(), key, field.name()).Val()
	} else { // only the fingerprint is in its lists
		require.NoError(t, loadScripts(t.Context(), client))
		require.NoError(t, newBatch(x, []article.Article{a}, newCall(x, nil)).storeLists(t.Context()))
	}
	require.NoError(t, client.HSet(t.Context(), key, field.name(), intact+damage).Err())

	near, again := claimSoon(t, x, b), claimSoon(t, x, a)
	if before {
		require.Equal(t, a.Coordinates, near.Original.Coordinates)
		require.Equal(t, article.Unique, again.Kind)
	} else {
		require.Equal(t, article.Unique, near.Kind)
		require.Equal(t, b.Coordinates, again.Original.Coordinates)
	}
	require.Equal(t, 1, counted(x.metrics.damaged))
	require.Equal(t, 1, strings.Count(said.String(), "set aside"), said.String())
	require.Contains(t, said.String(), hex.EncodeToString([]byte(field.name())))
	copied := x.keys.damaged(key, field.name())
	require.Equal(t, intact+damage, client.HGet(t.Context(), copied, "value").Val())
	require.Positive(t, client.TTL(t.Context(), copied).Val())
	value := client.HGet(t.Context(), key, field.name()).Val()
	require.Equal(t, len(value), intactBytes(value))
	entries, err := x.decodeField(field, value)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// If the own entry of an article is damaged when the article is claimed again, the entry is set aside as well.
func TestDamagedOwnEntry(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			client := newClient(t, server.start(t))
			for name, bytes := range damages() {
				t.Run(name, func(t *testing.T) {
					x, a := newIndex(t, client, testConfig(standard)), newArticle(1, 0xff)
					field := x.entryOf(a).field()
					require.NoError(t, client.HSet(t.Context(), x.keys.entries(field), field.name(), bytes).Err())
					for range 3 {
						require.Equal(t, article.Unique, claimSoon(t, x, a).Kind)
					}
					require.Equal(t, 1, counted(x.metrics.damaged))
				})
			}
		})
	}
}

// A damaged hidden entry in a field of its own is set aside, too: by claims and by a refill.
func TestDamagedHiddenEntry(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			client := newClient(t, server.start(t))
			for _, restored := range []bool{false, true} {
				x := newIndex(t, client, testConfig(standard))
				x.maxEntries = 1
				first, a := newArticle(1, 0xff), newArticle(2, 0xff)
				claimSoon(t, x, first)
				e := x.entryOf(a)
				field := e.field()
				require.NoError(t, client.HSet(t.Context(), x.keys.entries(field), field.name()+string(e.hiddenDigest()), "no entry").Err())
				if restored {
					require.Equal(t, RestoredNew, restoreOne(t, startRestore(t, x), a, article.Verdict{Kind: article.Unique, Root: a.Ref()}))
				}
				for range 2 {
					require.NotZero(t, claimSoon(t, x, a).Kind)
				}
				require.Equal(t, 1, counted(x.metrics.damaged))
			}
		})
	}
}

// A verdict that cannot be decoded is damage as well, for the worker of the article and for the workers of its copies.
func TestDamagedVerdictIsSetAside(t *testing.T) {
	client := newClient(t, miniredis.RunT(t).Addr())
	for _, replay := range []bool{false, true} {
		x, a, b := newIndex(t, client, testConfig(standard)), newArticle(1, 0xff), newArticle(2, 0xfe)
		require.Equal(t, article.Unique, claimSoon(t, x, a).Kind)
		field := x.entryOf(a).field()
		key := x.keys.entries(field)
		value := client.HGet(t.Context(), key, field.name()).Val()
		require.Equal(t, byte(article.Unique), value[len(value)-1])
		require.NoError(t, client.HSet(t.Context(), key, field.name(), value[:len(value)-1]+"\x63").Err())
		if replay {
			require.Equal(t, article.Unique, claimSoon(t, x, a).Kind)
			require.Equal(t, a.Coordinates, claimSoon(t, x, b).Original.Coordinates)
		} else {
			require.Equal(t, article.Unique, claimSoon(t, x, b).Kind)
			require.Equal(t, b.Coordinates, claimSoon(t, x, a).Original.Coordinates)
		}
		require.Equal(t, 1, counted(x.metrics.damaged))
	}
}

// A key of the wrong type stops the partition, because only an operator can know which program needs the value. The error names the
// key and the remedy.
func TestForeignValueNamesItsKey(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			client := newClient(t, server.start(t))
			a := newArticle(1, 0xff)
			for name, pick := range map[string]func(x *Index) string{
				"entries": func(x *Index) string {
					return x.keys.entries(x.entryOf(a).field())
				},
				"lists":       func(x *Index) string { return x.keys.listHash(listRef{x.layout.span(windowTime(a.Time)), 0, 0}) },
				"generations": func(x *Index) string { return x.keys.exists(x.layout.span(windowTime(a.Time))) },
				"counter":     func(x *Index) string { return x.keys.sequence() },
			} {
				t.Run(name, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					told := make(chan error, 1)
					x, err := New(client, testConfig(standard), prometheus.NewRegistry(), slog.New(slog.DiscardHandler), func(_ string, _ fmt.Stringer, err error) {
						if err != nil {
							select {
							case told <- err:
							default:
							}
						}
					})
					require.NoError(t, err)
					key := pick(x)
					require.NoError(t, client.Set(ctx, key, "not a number", 0).Err())
					verdict := make(chan article.Verdict, 1)
					go func() {
						if m, err := x.Claim(ctx, []article.Article{a}); err == nil {
							verdict <- m[0]
						}
					}()
					why := <-told
					require.ErrorContains(t, why, key)
					require.ErrorContains(t, why, "RENAME")
					require.NoError(t, client.Del(ctx, key).Err())
					require.Equal(t, article.Unique, (<-verdict).Kind, "the partition goes on by itself")
				})
			}
		})
	}
}

// If the length of a list is not a multiple of 8 bytes, every fingerprint that is added behind it would be shifted. So the list is
// cut to its whole fingerprints.
func TestRaggedListIsMended(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			client := newClient(t, server.start(t))
			x := newIndex(t, client, testConfig(standard))
			a := newArticle(1, 0xff)
			field := x.entryOf(a).field()
			for _, block := range x.layout.plan.AppendStored(nil, &article.Article{Fingerprint: a.Fingerprint}) {
				ref := listRef{field.span, block.Index, block.Value}
				require.NoError(t, client.HSet(t.Context(), x.keys.listHash(ref), "", "", ref.field(), "12345678abc").Err())
			}
			claimSoon(t, x, a)
			require.Equal(t, a.Coordinates, claimSoon(t, x, newArticle(2, 0xfe)).Original.Coordinates)
			require.Equal(t, 4, counted(x.metrics.damaged))
		})
	}
}
