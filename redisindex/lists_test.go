package redisindex

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/simhash"
	"echosieve/test/redisserver"
)

func TestKeysStayCompact(t *testing.T) {
	client := newClient(t, redisserver.Addr(t))
	x := newIndex(t, client, testConfig(standard))
	for n := range 100 {
		claimOne(t, x, newArticle(n, 1<<63|simhash.Fingerprint(n%50)*0x123456789abcdef1))
	}
	members := 0
	for _, key := range client.Keys(t.Context(), x.keys.prefix+"b:*").Val() {
		for field, list := range client.HGetAll(t.Context(), key).Val() {
			if field != "" {
				members += len(list) / fingerprintBytes
			}
		}
	}
	require.Equal(t, 4*50, members, "each fingerprint once in each block")
}

func TestAddToLists(t *testing.T) {
	for _, server := range servers {
		t.Run(server.name, func(t *testing.T) {
			client := newClient(t, server.start(t))
			key := testConfig(standard).Namespace + ":lists"
			add := func(pairs ...any) {
				for range 2 { // the second time all are there
					reply, err := addScript.Run(t.Context(), client, []string{key}, append([]any{60, maxListBytes}, pairs...)...).Int64Slice()
					require.NoError(t, err)
					require.Equal(t, []int64{0, 0}, reply)
				}
			}
			a, b := "\x00\x01\x02\x03\x04\x05\x06\x07", "\x04\xff%[a]\r\n"
			straddling := (a + b)[4:12]
			add("x", a+b+a, "y", b+b)
			add("x", b+straddling)
			want := a + b + straddling
			require.Equal(t, want, client.HGet(t.Context(), key, "x").Val())
			require.Equal(t, b, client.HGet(t.Context(), key, "y").Val())
			for n := range 1000 { // a flood
				fp := fieldRef{fingerprint: simhash.Fingerprint(n)}.name()
				add("x", fp)
				want += fp
			}
			require.Equal(t, want, client.HGet(t.Context(), key, "x").Val())
			require.Greater(t, client.TTL(t.Context(), key).Val(), 50*time.Second)
		})
	}
}

func TestFullList(t *testing.T) {
	x := newIndex(t, newClient(t, redisserver.Addr(t)), testConfig(standard))
	const most = maxListBytes / fingerprintBytes
	claims := make([]article.Article, most+3)
	for n := range claims {
		claims[n] = newArticle(n, simhash.Fingerprint(uint64(n)*0x9E3779B97F4A7C15)>>16) // all of one block, else apart
	}
	last := claims[most:]
	for range 2 { // the second time nothing changes
		_, err := x.Claim(t.Context(), claims[:most])
		require.NoError(t, err)
		require.Zero(t, counted(x.metrics.full))
	}
	_, err := x.Claim(t.Context(), last)
	require.NoError(t, err)
	require.Equal(t, len(last), counted(x.metrics.full))
	for i, c := range last {
		copied := newArticle(1_000_000+i, c.Fingerprint^1<<60)
		require.Equal(t, c.ID, claimOne(t, x, copied).Original.ID, "its other blocks find it")
	}
}

// A listpack is searched from the front, which would make every look-up in a young index dear.
func TestListsAreHashTables(t *testing.T) {
	client := newClient(t, redisserver.Start(t, "--hash-max-listpack-value", strconv.Itoa(listpackBytes)).Addr)
	x := newIndex(t, client, testConfig(standard))
	claimOne(t, x, newArticle(1, 5))
	keys := client.Keys(t.Context(), x.keys.prefix+"b:*").Val()
	require.Len(t, keys, 4)
	for _, key := range keys {
		require.Equal(t, "hashtable", client.ObjectEncoding(t.Context(), key).Val(), key)
	}
}

// The lists of one hash share commands, but no command touches more of them than it may.
func TestListsShareCommands(t *testing.T) {
	var refs []listRef
	for value := range uint64(300) {
		refs = append(refs, listRef{1, 0, value}, listRef{1, 1, value}, listRef{2, 0, value | 1<<listFieldBits})
	}
	seen := map[listRef]bool{}
	groups := groupByHash(refs)
	require.Len(t, groups, 3*3)
	for _, group := range groups {
		require.LessOrEqual(t, len(group), listsPerCommand)
		for _, n := range group {
			require.Equal(t, refs[group[0]].hash(), refs[n].hash())
			seen[refs[n]] = true
		}
	}
	require.Len(t, seen, len(refs))
}
