package redisindex

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/test/redisrig"
)

// damages are bytes of other programs: in place of an entry in a field, or behind one.
func damages() map[string]string {
	c := redisrig.Article(9, 0xff)
	whole := string((&keyspace.Entry{Article: c}).Append(nil, 0))
	const form = 26 // where the version is
	return map[string]string{
		"text":            "hello, this is another program speaking",
		"a byte":          "x",
		"zeros":           strings.Repeat("\x00", 60),
		"ones":            strings.Repeat("\xff", 60),
		"cut off":         whole[:len(whole)-1],
		"another version": whole[:form] + "\x63" + whole[form+1:],
	}
}

// Whatever bytes are in a field of entries, in place of an article's own entry, of that of a relative, or behind an
// entry that is whole, its partition goes on. The damage is set aside, counted and logged once, and the field does not
// grow with each attempt. Entries before the damage stay.
func TestDamagedEntryIsSetAside(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		client := redisrig.Client(t, addr)
		for name, bytes := range damages() {
			for _, where := range []string{"own", "relative", "behind"} {
				t.Run(name+" "+where, func(t *testing.T) { damageOnce(t, client, bytes, where) })
			}
		}
	})
}

func damageOnce(t *testing.T, client redis.UniversalClient, damage, where string) {
	var said bytes.Buffer
	x, err := New(client, redisrig.Config(redisrig.Standard), nil, slog.New(slog.NewTextHandler(&said, nil)), nil)
	require.NoError(t, err)
	a, b := redisrig.Article(1, 0xff), redisrig.Article(2, 0xfe)
	field := x.entryOf(a).Field()
	key, intact := x.keys.Entries(field), ""
	switch where {
	case "behind":
		require.Equal(t, article.Unique, claimOne(t, x, a).Kind)
		intact = client.HGet(t.Context(), key, field.Name()).Val()
	case "relative": // only the fingerprint is in its lists
		require.NoError(t, connection.NewSession(client, "", scripts...).EnsureScripts(t.Context()))
		require.NoError(t, storing{newClaim(newCall(x, []article.Article{a}))}.storeLists(t.Context()))
	}
	require.NoError(t, client.HSet(t.Context(), key, field.Name(), intact+damage).Err())

	if where == "own" {
		require.Equal(t, article.Unique, claimOne(t, x, a).Kind)
	}
	near, again := claimOne(t, x, b), claimOne(t, x, a)
	if where == "relative" {
		require.Equal(t, article.Unique, near.Kind)
		require.Equal(t, b.Coordinates, again.Original.Coordinates)
	} else {
		require.Equal(t, a.Coordinates, near.Original.Coordinates)
		require.Equal(t, article.Unique, again.Kind)
	}
	require.Equal(t, 1, counted(x.metrics.damaged))
	require.Equal(t, 1, strings.Count(said.String(), "set aside"), said.String())
	require.Contains(t, said.String(), hex.EncodeToString([]byte(field.Name())))
	copied := x.keys.DamagedCopy(key, field.Name())
	require.True(t, strings.HasPrefix(client.HGet(t.Context(), copied, "value").Val(), intact+damage))
	require.Positive(t, client.TTL(t.Context(), copied).Val())
	value := client.HGet(t.Context(), key, field.Name()).Val()
	_, bad := x.keys.Layout.InField(key, 0, field.Name(), value)
	require.False(t, bad)
	entries, err := x.keys.DecodeField(field, value)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// A damaged hidden entry in a field of its own is set aside, too: by claims and by a refill.
func TestDamagedHiddenEntry(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		client := redisrig.Client(t, addr)
		for _, restored := range []bool{false, true} {
			x := newIndex(t, client, redisrig.Config(redisrig.Standard))
			x.keys.Layout.MaxEntries = 1
			first, a := redisrig.Article(1, 0xff), redisrig.Article(2, 0xff)
			claimOne(t, x, first)
			e := x.entryOf(a)
			field := e.Field()
			require.NoError(t, client.HSet(t.Context(), x.keys.Entries(field), field.Name()+string(e.HiddenDigest()),
				"no entry").Err())
			if restored {
				outcomes, err := Restore(t.Context(), x, time.Now(), []article.Article{a},
					[]article.Verdict{{Kind: article.Unique, Root: a.Ref()}})
				require.NoError(t, err)
				require.Equal(t, []string{"new"}, outcomes)
			}
			for range 2 {
				require.NotZero(t, claimOne(t, x, a).Kind)
			}
			require.Equal(t, 1, counted(x.metrics.damaged))
		}
	})
}

// A verdict that cannot be decoded is damage as well, for the worker of the article and for the workers of its copies.
func TestDamagedVerdictIsSetAside(t *testing.T) {
	for _, replay := range []bool{false, true} {
		x, a, b := onMini(t), redisrig.Article(1, 0xff), redisrig.Article(2, 0xfe)
		require.Equal(t, article.Unique, claimOne(t, x, a).Kind)
		field := x.entryOf(a).Field()
		key := x.keys.Entries(field)
		value := x.client.HGet(t.Context(), key, field.Name()).Val()
		require.Equal(t, byte(article.Unique), value[len(value)-1])
		require.NoError(t, x.client.HSet(t.Context(), key, field.Name(), value[:len(value)-1]+"\x63").Err())
		if replay {
			require.Equal(t, article.Unique, claimOne(t, x, a).Kind)
			require.Equal(t, a.Coordinates, claimOne(t, x, b).Original.Coordinates)
		} else {
			require.Equal(t, article.Unique, claimOne(t, x, b).Kind)
			require.Equal(t, b.Coordinates, claimOne(t, x, a).Original.Coordinates)
		}
		require.Equal(t, 1, counted(x.metrics.damaged))
	}
}

// A key of the wrong type stops the partition, because only an operator can know which program needs the
// value. The error names the key and the remedy.
func TestForeignValueNamesItsKey(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		client := redisrig.Client(t, addr)
		a := redisrig.Article(1, 0xff)
		for name, pick := range map[string]func(x *Index) string{
			"entries":     func(x *Index) string { return x.keys.Entries(x.entryOf(a).Field()) },
			"lists":       func(x *Index) string { return x.keys.List(keyspace.ListRef{Slice: x.entryOf(a).Slice}) },
			"generations": func(x *Index) string { return x.keys.Exists(x.entryOf(a).Slice) },
			"counter":     func(x *Index) string { return x.keys.Sequence() },
		} {
			t.Run(name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				told := make(chan error, 1)
				x, err := New(client, redisrig.Config(redisrig.Standard), prometheus.NewRegistry(),
					slog.New(slog.DiscardHandler), func(_ string, _ fmt.Stringer, err error) {
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

// If the length of a list is not a multiple of the size of its fingerprints, every fingerprint that is added
// behind it would be shifted. So the list is cut to its whole fingerprints.
func TestRaggedListIsMended(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		client := redisrig.Client(t, addr)
		x := newIndex(t, client, redisrig.Config(redisrig.Standard))
		a := redisrig.Article(1, 0xff)
		field := x.entryOf(a).Field()
		for _, block := range x.keys.Layout.Plan.AppendStored(nil, &article.Article{Fingerprint: a.Fingerprint}) {
			ref := keyspace.ListRef{Slice: field.Slice, Block: block.Index, Value: block.Value}
			require.NoError(t, client.HSet(t.Context(), x.keys.List(ref), x.keys.Layout.Field(ref),
				"1234567812345678abc").Err())
		}
		claimOne(t, x, a)
		require.Equal(t, a.Coordinates, claimOne(t, x, redisrig.Article(2, 0xfe)).Original.Coordinates)
		require.Equal(t, 4, counted(x.metrics.damaged))
	})
}

// tamperer replaces the replies of a server, one after another: an empty text leaves a reply as it is.
type tamperer struct {
	redisrig.NoHook
	replies []string
}

// ProcessPipelineHook implements redis.Hook.
func (h *tamperer) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if len(h.replies) == 0 {
				break
			}
			text := h.replies[0]
			h.replies = h.replies[1:]
			if text != "" {
				tamper(cmd, text)
			}
		}
		return err
	}
}

func tamper(cmd redis.Cmder, text string) {
	var list []any
	for _, word := range strings.Split(text, ",") {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			list = append(list, n)
		} else if word == "nil" {
			list = append(list, nil)
		} else {
			list = append(list, word)
		}
	}
	switch cmd := cmd.(type) {
	case *redis.StringCmd:
		cmd.SetVal(text)
	case *redis.SliceCmd:
		cmd.SetVal(list)
	case *redis.StringSliceCmd:
		cmd.SetVal(strings.Split(text, ","))
	case *redis.IntCmd:
		cmd.SetVal(int64(len(text)))
	case *redis.Cmd:
		if len(list) == 1 {
			cmd.SetVal(list[0])
		} else {
			cmd.SetVal(list)
		}
	}
}

// Whatever a server replies, a claim ends with verdicts or with an error. It never panics. "~" stands between replies.
func FuzzReplies(f *testing.F) {
	f.Add("")
	for i := range 12 { // each step in turn
		for _, text := range []string{"hello", "nil", "7,8", "-1", "hello,nil,7", strings.Repeat("\x00", 60)} {
			f.Add(strings.Repeat("~", i) + text)
		}
	}
	f.Fuzz(func(t *testing.T, replies string) {
		addr, cfg := miniredis.RunT(t).Addr(), redisrig.Config(redisrig.Standard)
		near, c := redisrig.Article(2, 4), redisrig.Article(1, 5)
		claimOne(t, newIndex(t, redisrig.Client(t, addr), cfg), near)
		client := redisrig.Client(t, addr)
		require.NoError(t, connection.NewSession(client, "", scripts...).EnsureScripts(t.Context()))
		client.AddHook(&tamperer{replies: strings.Split(replies, "~")})
		x := newIndex(t, client, cfg)
		x.session = connection.NewSession(client, "") // the server has the scripts
		(&hands{}).drive(t, x)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		verdicts, err := newCall(x, []article.Article{c}).run(ctx)
		require.False(t, errors.Is(ctx.Err(), context.DeadlineExceeded), "the claim does not end")
		require.True(t, err != nil || len(verdicts) == 1)
	})
}
