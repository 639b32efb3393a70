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
	require.NoError(t, connection.NewSession(x.client, "", scripts...).EnsureScripts(t.Context()))
	b := newClaim(newCall(x, []article.Article{c}))
	steps := b.steps()
	advance(t, steps[:4]...)
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
		require.NoError(t, connection.NewSession(client, "", scripts...).EnsureScripts(t.Context()))
		early, slow := redisrig.Article(1, 0xff), redisrig.Article(2, 0xfe)
		early.Partition, slow.Partition = 1, 2
		b := newClaim(newCall(x, []article.Article{slow}))
		steps := b.steps()
		advance(t, steps[:3]...)
		require.EqualValues(t, 1, b.tasks[0].number)
		require.Equal(t, article.Unique, claimOne(t, x, early).Kind,
			"with the ticket 2; it gives the slow article the ticket 3")
		f := b.tasks[0].Field()
		withdrew, err := withdrawScript.EvalSha(t.Context(), client, []string{x.keys.Entries(f)}, f.Name(),
			slow.Digest[:], keyspace.TicketBytes(3)).Int()
		require.NoError(t, err)
		require.Equal(t, 1, withdrew)
		require.ErrorIs(t, looking{b}.lookUp(t.Context()), errTicketChanged)
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
	require.NoError(t, connection.NewSession(client, "", scripts...).EnsureScripts(t.Context()))
	articles := make([]article.Article, 4) // by ticket: the third repeats the first, the fourth the second
	for i := range articles {
		articles[i] = redisrig.Article(i, []simhash.Fingerprint{0xff, 0xff << 32, 0xfe, 0xfe << 32}[i])
		articles[i].Partition = int32(i)
	}
	claims := []*claim{
		newClaim(newCall(x, []article.Article{articles[0], articles[3]})),
		newClaim(newCall(x, []article.Article{articles[1], articles[2]})),
	}
	for _, b := range claims {
		steps := b.steps()
		advance(t, steps[:2]...)
	}
	pipe := client.Pipeline()
	for i, a := range articles {
		claims[0].eval(t.Context(), pipe, ticketScript, x.entryOf(a), keyspace.TicketBytes(uint64(i+1)))
	}
	pipe.IncrBy(t.Context(), x.keys.Sequence(), int64(len(articles)))
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
	for _, b := range claims {
		steps := b.steps()
		advance(t, steps[2:5]...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, len(claims))
	for _, b := range claims {
		go func() { ended <- deciding{b}.decide(ctx) }()
	}
	for range claims {
		require.NoError(t, <-ended)
	}
	require.Equal(t, articles[1].Coordinates, claims[0].verdicts()[1].Original.Coordinates)
	require.Equal(t, articles[0].Coordinates, claims[1].verdicts()[1].Original.Coordinates)
	require.Positive(t, counted(x.metrics.waits))
}
