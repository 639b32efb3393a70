package redisindex

import (
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/test/redisrig"
)

// A change of policy touches only articles that have no verdict: a record that is delivered again goes to the
// topic that it went to.
func TestChangeOfPolicy(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		client, cfg := redisrig.Client(t, addr), redisrig.Config(redisrig.Standard)
		signed := func(n int, text byte, length byte) article.Article {
			c := redisrig.Article(n, 0xff)
			c.Digest[15], c.Signature = text, []byte{7, length}
			return c
		}
		a, longer, later := signed(1, 1, 10), signed(2, 2, 20), signed(4, 4, 21)
		repeat, left := signed(3, 2, 20), signed(5, 5, 22)
		repeat.Digest = longer.Digest
		before := newIndex(t, client, cfg)
		claimOne(t, before, a)
		first := claimOne(t, before, longer)
		require.Equal(t, article.Extends, first.Relation)
		require.Equal(t, article.ToDuplicate, first.Destination)
		repeated := claimOne(t, before, repeat)
		leave(t, before, left)

		cfg.Policy = article.Policy{Extends: "unique"}
		after := newIndex(t, client, cfg)
		require.Equal(t, first, claimOne(t, after, longer), "delivered again")
		require.Equal(t, repeated, claimOne(t, after, repeat), "delivered again, an exact repeat")
		require.Equal(t, article.ToUnique, claimOne(t, after, later).Destination, "a new article")
		undecided := claimOne(t, after, left)
		require.Equal(t, article.ToUnique, undecided.Destination, "stored before the change and not decided")
		require.Equal(t, undecided, claimOne(t, before, left))
		require.Equal(t, article.ToUnique, claimOne(t, before, later).Destination, "a process with the old policy")

		before.SetPolicy(article.Policy{Extends: "possible"})
		require.Equal(t, first, claimOne(t, before, longer), "delivered again, after SetPolicy")
		require.Equal(t, article.ToPossible, claimOne(t, before, signed(6, 6, 23)).Destination,
			"a new article, after SetPolicy")
	})
}

// Two processes with different policies decide one article. The slower one has chosen a destination when the
// other one writes its verdict. The first verdict written counts, and both processes publish alike.
func TestTwoPolicies(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		client, cfg := redisrig.Client(t, addr), redisrig.Config(redisrig.Standard)
		a, b := redisrig.Article(1, 0xff), redisrig.Article(2, 0xff)
		a.Signature, b.Signature = []byte{7, 10}, []byte{7, 20}
		cfg.Extends = "possible"
		fast := newIndex(t, client, cfg)
		claimOne(t, fast, a)

		cfg.Extends = "unique"
		x := newIndex(t, client, cfg)
		slow := newClaim(x, []article.Article{b}, newCall(x, nil))
		advance(t, slow.storeLists, slow.storeEntries, slow.drawTickets, slow.lookUp, slow.fetchEntries)
		ready, _, err := slow.propose()
		require.NoError(t, err)
		require.Equal(t, article.ToUnique, ready[0].proposal.Destination)
		first := claimOne(t, fast, b)
		require.Equal(t, article.ToPossible, first.Destination)
		require.NoError(t, slow.writeVerdicts(t.Context(), ready))
		require.Equal(t, []article.Verdict{first}, slow.verdicts())
	})
}
