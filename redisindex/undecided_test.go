package redisindex

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/redisrig"
)

// leave runs the steps up to the tickets for an article and leaves its entry undecided, like a worker that dies there.
func leave(t *testing.T, x *Index, c article.Article) {
	t.Helper()
	require.NoError(t, connection.LoadScripts(t.Context(), x.client, scripts...))
	b := newClaim(x, []article.Article{c}, newCall(x, nil))
	advance(t, b.storeLists, b.storeEntries, b.drawTickets, b.lookUp)
}

// hands is a clock that moves only with the pauses of claims.
type hands struct {
	now    time.Time
	pauses int
}

// drive sets the clock of an index whose claims are made on the goroutine of the test.
func (h *hands) drive(t *testing.T, x *Index) {
	x.now = func() time.Time { return h.now }
	x.sleep = func(_ context.Context, d time.Duration) error {
		h.now = h.now.Add(d)
		if h.pauses++; h.pauses > 10_000 {
			t.Fatal("a claim waits without end")
		}
		return nil
	}
}

// The worker of an original died after it drew a ticket, and nobody takes over its record. The copy waits for
// the timeout, withdraws the ticket, and becomes the earlier one of the two.
func TestUndecidedOriginalIsWithdrawn(t *testing.T) {
	client := redisrig.Client(t, miniredis.RunT(t).Addr())
	cfg := redisrig.Config(redisrig.Standard)
	cfg.UndecidedTimeout = 10 * time.Second
	x, clock := newIndex(t, client, cfg), &hands{}
	clock.drive(t, x)
	a, b := redisrig.Article(1, 0xff), redisrig.Article(2, 0xfe)
	a.Partition, b.Partition = 1, 2
	leave(t, x, a)
	require.Equal(t, article.Unique, claimOne(t, x, b).Kind)
	require.InDelta(t, 10, clock.now.Sub(time.Time{}).Seconds(), 1)
	require.Equal(t, 1, counted(x.metrics.withdrawn))
	require.Equal(t, b.Coordinates, claimOne(t, x, a).Original.Coordinates, "the record was delivered after all")
}

// The worker of an original pauses after it drew a number. Meanwhile its article gets a higher ticket, a copy
// is decided as the earlier one, and that ticket is withdrawn. The worker must not set its number then:
// neither of the two copies would find an earlier one.
func TestNumberBelowAWithdrawnTicketIsNotSet(t *testing.T) {
	redisrig.OnServers(t, func(t *testing.T, addr string) {
		client := redisrig.Client(t, addr)
		x := newIndex(t, client, redisrig.Config(redisrig.Standard))
		(&hands{}).drive(t, x)
		require.NoError(t, connection.LoadScripts(t.Context(), client, scripts...))
		early, slow := redisrig.Article(1, 0xff), redisrig.Article(2, 0xfe)
		early.Partition, slow.Partition = 1, 2
		b := newClaim(x, []article.Article{slow}, newCall(x, nil))
		advance(t, b.storeLists, b.storeEntries, b.drawTickets)
		require.EqualValues(t, 1, b.tasks[0].number)
		require.Equal(t, article.Unique, claimOne(t, x, early).Kind,
			"with the ticket 2; it gives the slow article the ticket 3")
		f := b.tasks[0].Field()
		withdrew, err := withdrawScript.EvalSha(t.Context(), client, []string{x.keys.Entries(f)}, f.Name(),
			slow.Digest[:], keyspace.TicketBytes(3)).Int()
		require.NoError(t, err)
		require.Equal(t, 1, withdrew)
		require.ErrorIs(t, b.lookUp(t.Context()), errTicketChanged)
		require.Equal(t, early.Coordinates, claimOne(t, x, slow).Original.Coordinates)
	})
}

// After a crash, a record can have a higher ticket than a record that follows it in its partition. A worker
// decides its partition in order, so it must not wait for a record that it will process later.
func TestDoesNotWaitForItself(t *testing.T) {
	x, clock := onMini(t), &hands{}
	clock.drive(t, x)
	first, second := redisrig.Article(1, 0xff), redisrig.Article(2, 0xfe)
	leave(t, x, second)
	require.Equal(t, article.Unique, claimOne(t, x, first).Kind)
	require.Zero(t, clock.pauses)
	require.Equal(t, first.Coordinates, claimOne(t, x, second).Original.Coordinates)
}

// Each of two claims holds a copy of an article of the other one. Both claims end, because each writes the
// verdict that the other waits for.
func TestClaimsDoNotWaitAsAWhole(t *testing.T) {
	client := redisrig.Client(t, miniredis.RunT(t).Addr())
	cfg := redisrig.Config(redisrig.Standard)
	cfg.UndecidedTimeout = 1 << 62
	x := newIndex(t, client, cfg)
	require.NoError(t, connection.LoadScripts(t.Context(), client, scripts...))
	articles := make([]article.Article, 4) // by ticket: the third repeats the first, the fourth the second
	for i := range articles {
		articles[i] = redisrig.Article(i, []simhash.Fingerprint{0xff, 0xff << 32, 0xfe, 0xfe << 32}[i])
		articles[i].Partition = int32(i)
	}
	claims := []*claim{
		newClaim(x, []article.Article{articles[0], articles[3]}, newCall(x, nil)),
		newClaim(x, []article.Article{articles[1], articles[2]}, newCall(x, nil)),
	}
	for _, b := range claims {
		advance(t, b.storeLists, b.storeEntries)
	}
	pipe := client.Pipeline()
	for i, a := range articles {
		claims[0].setTicket(t.Context(), pipe, x.entryOf(a), uint64(i+1))
	}
	pipe.IncrBy(t.Context(), x.keys.Sequence(), int64(len(articles)))
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	for _, b := range claims {
		advance(t, b.drawTickets, b.lookUp, b.fetchEntries)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, len(claims))
	for _, b := range claims {
		go func() { ended <- b.decide(ctx) }()
	}
	for range claims {
		require.NoError(t, <-ended)
	}
	require.Equal(t, articles[1].Coordinates, claims[0].verdicts()[1].Original.Coordinates)
	require.Equal(t, articles[0].Coordinates, claims[1].verdicts()[1].Original.Coordinates)
	require.Positive(t, counted(x.metrics.waits))
}

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
