package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// lane is what a fault touches. The faults of one lane follow each other; those of different lanes overlap.
type lane uint8

const (
	ofProcesses lane = iota
	ofRedis
	ofKafka
	lanes
)

// fault is something that goes wrong, for a while or for good. It lasts at least d; 0 leaves that to chance. It is over
// when inject returns: with how it showed that it happened, or with why it did not.
type fault struct {
	lane   lane
	inject func(ctx context.Context, r *round, random *rand.Rand, d time.Duration) (proof string, err error)
}

// faults are all faults by their names on the command line.
var faults map[string]fault

func init() {
	faults = map[string]fault{}
	maps.Copy(faults, processFaults)
	maps.Copy(faults, crashFaults)
	maps.Copy(faults, redisFaults)
	maps.Copy(faults, kafkaFaults)
	maps.Copy(faults, networkFaults)
	maps.Copy(faults, brokerFaults)
	maps.Copy(faults, failoverFaults)
}

func faultNames() []string { return slices.Sorted(maps.Keys(faults)) }

// notUsual are faults that a round has only when they are named.
var notUsual = []string{"redis-empty", "crash-every"}

// Some faults need one server, others several that replicate.
var (
	ofOneBroker    = []string{"broker-kill", "broker-restart"}
	ofThreeBrokers = []string{"leader-kill", "leader-stop", "broker-lost", "broker-cut", "two-brokers-lost"}
	ofPlainRedis   = []string{"redis-stall", "redis-restart", "redis-empty"}
	ofReplicas     = []string{"redis-failover", "redis-master-kill", "redis-master-behind", "redis-master-frozen", "redis-master-cut"}
	ofSentinel     = []string{"redis-readonly"}
	ofSlots        = []string{"redis-slots"}
)

// usual are the faults of a round by default, each once.
func usual(o options) []string {
	return slices.DeleteFunc(faultNames(), func(name string) bool { return slices.Contains(notUsual, name) || !o.suits(name) })
}

// suits says whether a fault can happen to the servers of a run. A Redis that is not ours is left alone.
func (o options) suits(name string) bool {
	for _, c := range []struct {
		given bool
		need  []string
	}{
		{o.brokers == 1, ofOneBroker},
		{o.brokers > 1, ofThreeBrokers},
		{o.redis == plainRedis, ofPlainRedis},
		{o.redis != plainRedis, ofReplicas},
		{o.redis == sentinelRedis, ofSentinel},
		{o.redis == clusterRedis, ofSlots},
	} {
		if !c.given && slices.Contains(c.need, name) {
			return false
		}
	}
	return o.ownRedis() || faults[name].lane != ofRedis
}

// ownRedis says whether Redis is ours to break.
func (o options) ownRedis() bool { return len(o.redisAddrs) == 0 }

// step is a fault in a schedule.
type step struct {
	name  string
	after time.Duration // since the lane's last fault was over
	lasts time.Duration
}

// plan is what a round does.
type plan struct {
	rate    int
	records int
	fixed   bool // exactly so many records
	lanes   [lanes][]step
	seed    uint64
}

// plan draws the schedule of a round.
func (w *world) plan(seed uint64) plan {
	if w.o.scenario != "" {
		p := scenarios[w.o.scenario]
		p.seed = seed
		return p
	}
	random := rand.New(rand.NewPCG(seed, 1))
	p := plan{rate: w.o.rate, records: w.o.records, seed: seed}
	names := slices.Clone(w.o.faults)
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		l := faults[name].lane
		p.lanes[l] = append(p.lanes[l], step{name: name, after: time.Duration(200+random.IntN(1300)) * time.Millisecond})
	}
	return p
}

// injectAll runs the lanes beside each other.
func (r *round) injectAll(ctx context.Context, p plan) error {
	running, ctx := errgroup.WithContext(ctx)
	for l := range p.lanes {
		random := rand.New(rand.NewPCG(p.seed, 2+uint64(l)))
		running.Go(func() error {
			for _, s := range p.lanes[l] {
				if err := pause(ctx, s.after); err != nil {
					return err
				}
				if err := r.inject(ctx, s, random); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return running.Wait()
}

func (r *round) inject(ctx context.Context, s step, random *rand.Rand) error {
	if faults[s.name].lane == ofKafka {
		r.kafka.Lock()
		defer r.kafka.Unlock()
	}
	r.summary.injected(s.name)
	r.w.say("  %s", s.name)
	start := time.Now()
	proof, err := faults[s.name].inject(ctx, r, random, s.lasts)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", s.name, context.Cause(ctx))
	}
	if err != nil {
		r.w.say("  %s DID NOT FIRE: %v", s.name, err)
		return nil
	}
	r.summary.fired(s.name)
	r.w.say("  %s, %.1fs: %s", s.name, time.Since(start).Seconds(), proof)
	return nil
}

// between draws a duration.
func between(random *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(random.Int64N(int64(to-from)))
}

// atLeast is d, or a duration drawn if d is 0.
func atLeast(d time.Duration, random *rand.Rand, from, to time.Duration) time.Duration {
	drawn := between(random, from, to)
	if d > 0 {
		return d
	}
	return drawn
}

// scenarios are fixed schedules, for comparison with other systems: 40,000 articles, 29,600 of them unique.
var scenarios = map[string]plan{
	"kills500":  kills(500),
	"kills2000": kills(2000),
	"redis": {rate: 500, records: 40_000, fixed: true, lanes: [lanes][]step{ofRedis: {
		{"redis-restart", 8 * time.Second, 3 * time.Second},
		{"redis-stall", 8 * time.Second, 4 * time.Second},
		{"redis-restart", 8 * time.Second, 10 * time.Second},
		{"redis-stall", 8 * time.Second, 12 * time.Second},
	}}},
}

// kills spreads ten kills over the time that publishing takes.
func kills(rate int) plan {
	const records, n = 40_000, 10
	p := plan{rate: rate, records: records, fixed: true}
	gap := time.Duration(records/rate) * time.Second / (n + 1)
	for range n {
		p.lanes[ofProcesses] = append(p.lanes[ofProcesses], step{name: "kill", after: gap})
	}
	return p
}

func scenarioNames() []string { return slices.Sorted(maps.Keys(scenarios)) }
