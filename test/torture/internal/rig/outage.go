package rig

import (
	"context"
	"errors"
	"fmt"
	"time"

	"echosieve/test/torture/internal/process"
)

const (
	// redLimit bounds the time until /readyz of every process says that a server is away. The service probes
	// every 2 s, and a probe may take 5 s. A fault that only writes can notice shows when the next article
	// comes, so the limit counts from the last moment at which another server was away, too.
	redLimit = 2 * time.Minute
	// greenLimit bounds the time until /readyz of every process says that the server is back.
	greenLimit = 2 * time.Minute
)

// Outage takes a server away with begin, which returns a proof that it is away. Outage then waits for at
// least d, and until every process says at /readyz that the server is down. It brings the server
// back with end and waits until every process says that the server is up. Processes that end or freeze during
// the outage are excused.
func (r *Round) Outage(ctx context.Context, component string, d time.Duration, begin func() (string, error),
	end func() error) (string, error) {
	return r.disturb(ctx, component, func(live []witness) (string, error) {
		start := time.Now()
		proof, err := begin()
		if err == nil {
			var otherAway time.Time
			isDown := func(_ bool, up map[string]bool) bool {
				for other, isUp := range up {
					if other != component && !isUp {
						otherAway = time.Now()
					}
				}
				return !up[component]
			}
			late := r.awaitState(ctx, live, redLimit, isDown)
			for len(late) > 0 && time.Since(otherAway) < redLimit && ctx.Err() == nil {
				late = r.awaitState(ctx, late, time.Second, isDown)
			}
			for _, p := range late {
				if !p.excused() {
					r.Violate(unready, "%s has been away for %.1fs, but /readyz of %s does not report that",
						component, time.Since(start).Seconds(), p.Name)
				}
			}
			proof += fmt.Sprintf(", red after %.1fs", time.Since(start).Seconds())
			err = process.Pause(ctx, d-time.Since(start))
		}
		err = errors.Join(err, end())
		return fmt.Sprintf("%s, away for %.1fs", proof, time.Since(start).Seconds()), err
	})
}

// Disturb waits until a server is up for every process, calls do, which returns a proof that the fault
// happened, and waits until the server is up for every process again.
func (r *Round) Disturb(ctx context.Context, component string, do func() (string, error)) (string, error) {
	return r.disturb(ctx, component, func([]witness) (string, error) { return do() })
}

func (r *Round) disturb(ctx context.Context, component string, do func([]witness) (string, error)) (string, error) {
	isUp := func(_ bool, up map[string]bool) bool { return up[component] }
	live := r.witnesses()
	if late := r.awaitState(ctx, live, ReadyTimeout, isUp); len(late) > 0 {
		r.Violate(unready, "%s: %d processes are not ready before the outage", component, len(late))
	}
	proof, err := do(live)
	if err != nil {
		return "", err
	}
	back := time.Now()
	for _, p := range r.awaitState(ctx, live, greenLimit, isUp) {
		if !p.excused() {
			r.Violate(unready, "%s is back, but /readyz of %s does not report that", component, p.Name)
		}
	}
	return fmt.Sprintf("%s, green %.1fs later", proof, time.Since(back).Seconds()), nil
}

// witness is a process that an outage expects to notice it. It is excused if it ended or was frozen since.
type witness struct {
	*process.Process
	thaws int32
}

// witnesses are the processes that run and are not frozen now.
func (r *Round) witnesses() []witness {
	var all []witness
	for _, p := range r.Running() {
		all = append(all, witness{p, p.Thaws()})
	}
	return all
}

func (w witness) excused() bool { return !w.Running() || w.Thaws() != w.thaws }

// awaitState waits until each process that is not excused has the state. It returns the processes that did
// not have it within the limit.
func (r *Round) awaitState(ctx context.Context, procs []witness, limit time.Duration,
	has func(ready bool, up map[string]bool) bool) []witness {
	end := time.Now().Add(limit)
	for {
		var missing []witness
		for _, p := range procs {
			if p.excused() {
				continue
			}
			if ready, up, err := p.HTTP.State(ctx); err != nil || !has(ready, up) {
				missing = append(missing, p)
			}
		}
		procs = missing
		if len(procs) == 0 || time.Now().After(end) || process.Pause(ctx, 100*time.Millisecond) != nil {
			return procs
		}
	}
}
