package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"echosieve/test/torture/internal/faults"
	"echosieve/test/torture/internal/process"
)

// step is one fault of a schedule.
type step struct {
	name  string
	after time.Duration // the pause since the end of the last fault of the lane
}

// plan is the schedule of a round.
type plan struct {
	rate    int // records a second
	records int // at least
	lanes   [faults.Lanes][]step
	seed    uint64
}

// plan draws the schedule of a round.
func (o *options) plan(seed uint64) plan {
	random := rand.New(rand.NewPCG(seed, 1))
	p := plan{rate: o.rate, records: o.records, seed: seed}
	names := slices.Clone(o.faults)
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	if o.Old != "" {
		names = o.replacing(names)
	}
	for _, name := range names {
		l := faults.All[name].Lane
		p.lanes[l] = append(p.lanes[l],
			step{name: name, after: time.Duration(200+random.IntN(1300)) * time.Millisecond})
	}
	return p
}

// replacing puts the fault replace before each other fault of processes, and often enough behind them that all
// processes are replaced, and back.
func (o *options) replacing(names []string) (all []string) {
	const replace = "replace"
	n := 0
	for _, name := range names {
		if name == replace {
			continue
		}
		if faults.All[name].Lane == faults.Processes {
			all, n = append(all, replace), n+1
		}
		all = append(all, name)
	}
	for ; n < 2*o.Processes; n++ {
		all = append(all, replace)
	}
	return all
}

// ends is the number of faults that end a process in the middle of its work. After several of them, a
// successor has found records published.
func (p plan) ends() (n int) {
	for _, s := range p.lanes[faults.Processes] {
		if slices.Contains([]string{"kill", "crash", "crash-every"}, s.name) {
			n++
		}
	}
	return n
}

// injectAll injects the faults of each lane one after another, the lanes beside each other.
func (r *round) injectAll(ctx context.Context, p plan) error {
	running, ctx := errgroup.WithContext(ctx)
	for l := range p.lanes {
		random := rand.New(rand.NewPCG(p.seed, 2+uint64(l)))
		running.Go(func() error {
			for _, s := range p.lanes[l] {
				if err := process.Pause(ctx, s.after); err != nil {
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

// inject injects one fault. A fault that does not fire is noted; only the end of ctx is an error.
func (r *round) inject(ctx context.Context, s step, random *rand.Rand) error {
	f := faults.All[s.name]
	if f.Lane == faults.Kafka {
		r.BreakingKafka.Lock()
		defer r.BreakingKafka.Unlock()
	}
	r.Summary.Injected(s.name)
	r.Say("  %s", s.name)
	start := time.Now()
	proof, err := f.Inject(ctx, r.Round, random)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", s.name, context.Cause(ctx))
	}
	if err != nil {
		r.Say("  %s DID NOT FIRE: %v", s.name, err)
		return nil
	}
	r.Summary.Fired(s.name)
	r.Say("  %s, %.1fs: %s", s.name, time.Since(start).Seconds(), proof)
	return nil
}
