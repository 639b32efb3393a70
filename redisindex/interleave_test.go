package redisindex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"echosieve/pipeline/article"
	"echosieve/pipeline/indextest"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
	"echosieve/simhash"
	"echosieve/test/redisrig"
)

// TestInterleaving runs the index in several workers. A scheduler lets their commands pass one by one, in an
// order drawn from a seed. Workers crash at any command. Their articles, and others, are delivered again,
// also while the first worker is only slow.
//
// All verdicts of one article must be equal. Of two articles that resemble each other, at least one must be a
// copy. Every chain of originals must end in a unique article, which is the root of the whole chain. Every
// schedule must end: copies wait for originals whose workers are dead, until the tickets of these originals
// are withdrawn.
//
// ECHOSIEVE_TEST_SCHEDULES sets the number of schedules, and ECHOSIEVE_TEST_SEED the first seed: schedule i
// of seed s is schedule 0 of seed s+i.
func TestInterleaving(t *testing.T) {
	schedules, seed := interleavings(t)
	redisrig.OnKinds(t, func(t *testing.T, addr, buckets string) {
		interleave(t, schedules, seed, buckets, func() redis.UniversalClient { return redisrig.Client(t, addr) })
	})
}

// interleavings returns the number of schedules and the first seed.
func interleavings(t *testing.T) (schedules int, seed uint64) {
	schedules, err := strconv.Atoi(cmp.Or(os.Getenv("ECHOSIEVE_TEST_SCHEDULES"), "200"))
	require.NoError(t, err)
	now := fmt.Sprint(time.Now().UnixMicro())
	seed, err = strconv.ParseUint(cmp.Or(os.Getenv("ECHOSIEVE_TEST_SEED"), now), 10, 64)
	require.NoError(t, err)
	return schedules, seed
}

// interleave runs the schedules on indexes with a value of redis.buckets.
func interleave(t *testing.T, schedules int, seed uint64, buckets string, connect func() redis.UniversalClient) {
	require.NoError(t, connection.NewSession(connect(), "", scripts...).EnsureScripts(t.Context()))
	var clients []*steppedClient
	for range 4 {
		clients = append(clients, newSteppedClient(connect()))
	}
	seen := map[string]int{}
	for i := range schedules {
		w, complete := newWorld(t, clients, seed+uint64(i), buckets, seen)
		require.Empty(t, w.schedule(t, complete), "seed %d", seed+uint64(i))
	}
	t.Logf("seed %d, %d schedules: %v", seed, schedules, seen)
	// Each of these events must happen in at least one schedule.
	for _, what := range []string{"commands", "crashes", "zombies", "replays", "near", "exact", "unique", "given",
		"capped", "crowded", "waits", "withdrawn", "chains"} {
		if seen[what] == 0 && schedules >= 100 {
			t.Errorf("no schedule had %s", what)
		}
	}
}

// worker is one delivery of some articles.
type worker struct {
	client   *steppedClient
	call     []int // articles, by number
	done     chan struct{}
	cancel   context.CancelFunc
	verdicts []article.Verdict
	err      error
	restores bool // the call restores articles, see TestInterleavingRestore
	outcomes []string
}

// world is one schedule.
type world struct {
	r        *rand.Rand
	cfg      keyspace.Config
	claims   []article.Article
	verdicts [][]article.Verdict // all published ones, by article
	idle     []*steppedClient
	live     []*worker
	seen     map[string]int
	indexes  map[*steppedClient]*Index
	clock    time.Duration
	steps    int
	failure  atomic.Pointer[error]
	end      func()  // ends all calls
	patient  bool    // nobody crashes or withdraws a ticket: all articles must get verdicts all the same
	bursts   int     // about as many steps a worker takes in a row
	last     *worker // took the last step
	lost     []int   // articles that are to be restored with their first verdict
	forgot   bool    // Redis was flushed, see loseMemory
	gone     []int   // articles that are neither restored nor delivered again
}

// prints differ from the first one in 1, 3, 5 and 40 bits. The third is near the second and the fourth, but
// the fourth is not near the first. The last two have high bits, so members of sets are negative numbers.
var prints = []simhash.Fingerprint{0, 1, 1 | 1<<17 | 1<<40, 1 | 3<<17 | 1<<40 | 1<<63, 0xffffffffff << 24}

// schedule runs the schedule, and returns what is wrong with the verdicts, or "".
func (w *world) schedule(t *testing.T, complete bool) string {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.end = cancel
	if !w.run(ctx) {
		return fmt.Sprintf("the articles got no verdicts within %d commands", maxSteps)
	}
	if err := w.failure.Load(); err != nil {
		return (*err).Error()
	}
	return w.problem(complete)
}

// newWorld draws a schedule. It is complete if look-ups find every relative.
func newWorld(t *testing.T, clients []*steppedClient, seed uint64, buckets string, seen map[string]int) (w *world,
	complete bool) {
	r := rand.New(rand.NewPCG(seed, 1))
	w = &world{r: r, cfg: redisrig.KindConfig(redisrig.Standard, buckets), seen: seen,
		indexes: map[*steppedClient]*Index{}, bursts: 1 + 19*r.IntN(2)}
	w.cfg.Namespace += fmt.Sprintf("-%x", seed)
	w.cfg.UndecidedTimeout = time.Duration(1+r.IntN(500)) * time.Millisecond // of a clock that only pauses move
	if w.patient = r.IntN(4) == 0; w.patient {
		w.cfg.UndecidedTimeout = 1 << 62
	}
	capped := r.IntN(3) == 0
	crowded := !capped && r.IntN(3) == 0
	nodes := r.IntN(2) == 0
	w.idle = append(w.idle, clients...)
	for i, c := range clients {
		c.nodes = nil
		if nodes {
			c.nodes = rand.New(rand.NewPCG(seed, uint64(2+i)))
		}
		cfg := w.cfg
		cfg.Overlaps = []string{"duplicate", "unique", "possible"}[i%3] // processes may have different policies
		if capped {                                                     // by settings that change while the workers run
			cfg.MaxCandidates, cfg.MaxDistance = 1+r.IntN(3), r.IntN(6)
		}
		x, err := New(c, cfg, nil, slog.New(slog.DiscardHandler), func(_ string, _ fmt.Stringer, err error) {
			// Not a crash: the server does not fail. Workers without patience may outrun one for ten runs of its claim.
			if err != nil && (w.patient || !errors.Is(err, errTicketChanged)) {
				w.failure.CompareAndSwap(nil, &err)
				w.end()
			}
		})
		require.NoError(t, err)
		x.session = connection.NewSession(c, "") // the server has the scripts
		x.now = func() time.Time { return time.UnixMilli(0).Add(w.clock) }
		x.sleep = func(_ context.Context, d time.Duration) error {
			w.clock += d
			return nil
		}
		if crowded {
			x.keys.Layout.MaxEntries = 1
		}
		w.indexes[c] = x
	}
	w.articles(2+r.IntN(4), !crowded)
	w.verdicts = make([][]article.Verdict, len(w.claims))
	return w, !capped
}

// articles makes n articles, most of which resemble each other. Varied articles differ in time, and some have
// little text, so of two with one fingerprint a third may resemble only one.
func (w *world) articles(n int, varied bool) {
	spread := w.r.IntN(3)
	family := 1 + w.r.IntN(len(prints))
	signatures := w.r.IntN(2) == 0
	// else an article's original may be one that its own partition delivers later
	partitions := w.patient || w.r.IntN(2) == 0
	for i := range n {
		c := redisrig.Article(i, prints[w.r.IntN(family)])
		if partitions {
			c.Partition = int32(i)
		}
		if varied && signatures {
			c.Signature = []byte{byte(w.r.IntN(3)), 0}
		}
		if w.r.IntN(3) == 0 && i > 0 { // the text of an earlier one
			o := w.claims[w.r.IntN(i)]
			c.Digest, c.Fingerprint, c.LittleText, c.Signature = o.Digest, o.Fingerprint, o.LittleText, o.Signature
		} else if varied && w.r.IntN(8) == 0 {
			c.LittleText = true
		}
		if varied && spread > 0 { // over two or three slices, sometimes beyond the window
			c.Time = c.Time.Add(time.Duration(w.r.IntN(3)*spread) * 20 * time.Minute)
		}
		w.claims = append(w.claims, c)
	}
}

// maxSteps is far more commands than any schedule needs. Workers that wait for each other without end reach it.
const maxSteps = 100_000

// run starts workers, and lets one of them take one step at a time until all articles have verdicts.
func (w *world) run(ctx context.Context) bool {
	again := 1 + w.r.IntN(2*len(w.claims)) // deliveries beyond the necessary ones
	for {
		var open []int
		for i := range w.claims {
			if len(w.verdicts[i]) == 0 && !w.delivered(i) && ctx.Err() == nil {
				open = append(open, i)
			}
		}
		switch {
		case len(w.idle) > 0 && len(open) > 0 && (len(w.live) == 0 || w.r.IntN(3) == 0):
			w.r.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
			w.deliver(ctx, open[:1+w.r.IntN(min(3, len(open)))], false)
		case len(w.idle) > 0 && len(w.lost) > 0 && (len(w.live) == 0 || w.r.IntN(3) == 0):
			w.r.Shuffle(len(w.lost), func(i, j int) { w.lost[i], w.lost[j] = w.lost[j], w.lost[i] })
			w.deliver(ctx, slices.Clone(w.lost[:1+w.r.IntN(min(3, len(w.lost)))]), true)
		case len(w.idle) > 0 && again > 0 && w.r.IntN(8) == 0:
			again--
			i := w.r.IntN(len(w.claims))
			if slices.Contains(w.lost, i) || slices.Contains(w.gone, i) {
				continue // its record is committed, so it is not delivered
			}
			if w.delivered(i) {
				w.seen["zombies"]++
			} else if len(w.verdicts[i]) > 0 {
				w.seen["replays"]++
			}
			w.deliver(ctx, []int{i}, false)
		case len(w.live) == 0:
			return true
		case w.steps > maxSteps || w.failure.Load() != nil:
			for _, k := range w.live { // before the next schedule takes their clients
				k.cancel()
				k.client.pass <- false
				<-k.done
			}
			return w.steps <= maxSteps
		default:
			w.step()
		}
	}
}

func (w *world) delivered(article int) bool {
	return slices.ContainsFunc(w.live, func(k *worker) bool { return slices.Contains(k.call, article) })
}

// deliver makes an idle worker claim the articles, or restore them.
func (w *world) deliver(ctx context.Context, call []int, restores bool) {
	client := w.idle[len(w.idle)-1]
	w.idle = w.idle[:len(w.idle)-1]
	ctx, cancel := context.WithCancel(ctx)
	k := &worker{client: client, call: call, done: make(chan struct{}), cancel: cancel, restores: restores}
	var claims []article.Article
	var published []article.Verdict
	for _, i := range call {
		claims = append(claims, w.claims[i])
		if restores {
			published = append(published, w.verdicts[i][0])
		}
	}
	x := w.indexes[client]
	go func() {
		defer close(k.done)
		if restores {
			k.outcomes, k.err = Restore(ctx, x, restoredAt, claims, published)
			return
		}
		k.verdicts, k.err = x.Claim(ctx, claims)
	}()
	w.live = append(w.live, k)
	w.settle(k)
}

// settle waits until the worker is about to send its next command, or has ended.
func (w *world) settle(k *worker) {
	select {
	case <-k.client.wants:
		return
	case <-k.done:
	}
	k.cancel()
	w.live = slices.DeleteFunc(w.live, func(live *worker) bool { return live == k })
	w.idle = append(w.idle, k.client)
	if k.restores && k.err == nil {
		w.restored(k)
	} else if k.err == nil {
		for i, article := range k.call {
			w.verdicts[article] = append(w.verdicts[article], k.verdicts[i])
			w.seen[k.verdicts[i].Kind.String()]++
		}
	}
}

// step lets one worker send its command, or makes it crash before that.
func (w *world) step() {
	k := w.last
	if !slices.Contains(w.live, k) || w.r.IntN(w.bursts) == 0 {
		k = w.live[w.r.IntN(len(w.live))]
	}
	w.last = k
	w.steps++
	if !w.patient && w.r.IntN(60) == 0 {
		w.seen["crashes"]++
		k.cancel()
		k.client.pass <- false
	} else {
		w.seen["commands"]++
		k.client.pass <- true
	}
	w.settle(k)
}

// problem describes a contradiction among the verdicts; "" if there is none.
func (w *world) problem(complete bool) string {
	final := map[article.Coordinates]article.Verdict{}
	for i, verdicts := range w.verdicts {
		for _, a := range verdicts {
			if a != verdicts[0] {
				return fmt.Sprintf("article %d got two verdicts: %+v and %+v", i, verdicts[0], a)
			}
			if a.Kind != article.Unique && a.Original.Coordinates == w.claims[i].Coordinates {
				return fmt.Sprintf("article %d is its own original", i)
			}
		}
		final[w.claims[i].Coordinates] = verdicts[0]
	}
	for _, x := range w.indexes {
		w.seen["given"] += counted(x.metrics.ticketsGiven)
		w.seen["capped"] += counted(x.metrics.capped)
		w.seen["crowded"] += counted(x.metrics.overflow)
		w.seen["waits"] += counted(x.metrics.waits)
		w.seen["withdrawn"] += counted(x.metrics.withdrawn)
		if w.patient && counted(x.metrics.withdrawn) > 0 {
			return "a ticket was withdrawn although every worker writes the verdicts that it can"
		}
	}
	for _, v := range final {
		if v.Kind.IsCopy() && v.Root != v.Original {
			w.seen["chains"]++
		}
	}
	if w.forgot {
		return w.badRoot(final)
	}
	return indextest.Inconsistent(redisrig.Standard, w.claims, final, complete)
}

// steppedClient is a client that sends one command at a time, when the scheduler lets it.
type steppedClient struct {
	redis.UniversalClient
	redisrig.NoHook
	wants chan struct{} // the worker stands before a command
	pass  chan bool     // the scheduler lets it pass, or makes it crash
	// draws the order in which the nodes of a cluster come to the commands of a pipeline; nil: a single server
	nodes *rand.Rand
}

var errCrash = errors.New("crashed by the scheduler")

func newSteppedClient(client redis.UniversalClient) *steppedClient {
	c := &steppedClient{UniversalClient: client, wants: make(chan struct{}), pass: make(chan bool)}
	c.AddHook(c)
	return c
}

// ProcessPipelineHook implements redis.Hook. It sends each command of the pipeline by itself.
func (c *steppedClient) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range c.order(cmds) {
			if cmd.Name() != "expire" { // nothing expires here
				c.wants <- struct{}{}
				if !<-c.pass {
					return errCrash
				}
			}
			if err := next(ctx, []redis.Cmder{cmd}); err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
		}
		return nil
	}
}

// order returns an order in which the commands of a pipeline may be run: as they are, or, on a cluster, the
// commands of each key as they are.
func (c *steppedClient) order(cmds []redis.Cmder) []redis.Cmder {
	if c.nodes == nil {
		return cmds
	}
	rank := map[string]int{}
	ranks := c.nodes.Perm(len(cmds))
	cmds = slices.Clone(cmds)
	for i, cmd := range cmds {
		if key := connection.KeyOf(cmd); rank[key] == 0 {
			rank[key] = 1 + ranks[i]
		}
	}
	slices.SortStableFunc(cmds,
		func(a, b redis.Cmder) int { return cmp.Compare(rank[connection.KeyOf(a)], rank[connection.KeyOf(b)]) })
	return cmds
}
