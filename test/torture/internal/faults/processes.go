package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"echosieve/internal/crashpoint"
	"echosieve/test/torture/internal/process"
	"echosieve/test/torture/internal/rig"
)

// end returns a fault that ends a process and starts another one, after a pause of up to the given length.
func end(signal string, stop func(*rig.Round, *process.Process) error, pause time.Duration) injector {
	return func(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
		p, err := r.Pick(random)
		if err == nil {
			err = stop(r, p)
		}
		if err == nil && pause > 0 {
			err = process.Pause(ctx, between(random, 0, pause))
		}
		if err == nil {
			_, err = r.Start()
		}
		if err != nil {
			return "", err
		}
		return p.Name + " ended by " + signal, nil
	}
}

func replace(ctx context.Context, r *rig.Round, _ *rand.Rand) (string, error) {
	return r.ReplaceNext(ctx)
}

func storm(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	before := r.Generation()
	for range 2 {
		leaving, err := r.Pick(random)
		if err != nil {
			return "", err
		}
		if _, err := r.Start(); err != nil {
			return "", err
		}
		if err := process.Pause(ctx, between(random, 500*time.Millisecond, 2*time.Second)); err != nil {
			return "", err
		}
		if err := r.Terminate(leaving); err != nil {
			return "", err
		}
	}
	return regrouped(ctx, r, before) // while a broker is away, several changes become one new generation
}

// regrouped waits until the group has a newer generation.
func regrouped(ctx context.Context, r *rig.Round, before int) (proof string, err error) {
	err = process.Until(ctx, rig.ReadyTimeout, 50*time.Millisecond, func() error {
		now := r.Generation()
		if now <= before {
			return fmt.Errorf("the group stayed in generation %d", now)
		}
		proof = fmt.Sprintf("group generation %d, then %d", before, now)
		return nil
	})
	return proof, err
}

// zombie freezes a process until the others have its partitions. When the process resumes, it still has
// records of its old partitions in its hands, and must not commit them.
func zombie(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	p, err := r.Pick(random)
	if err != nil {
		return "", err
	}
	if err := joined(ctx, p); err != nil {
		return "", err
	}
	before := r.Generation()
	thaw, err := p.Freeze()
	if err != nil {
		return "", err
	}
	defer thaw()
	if err := process.Pause(ctx, rig.SessionTimeout+between(random, time.Second, 3*time.Second)); err != nil {
		return "", err
	}
	proof, err := regrouped(ctx, r, before)
	if err != nil {
		return "", err
	}
	return p.Name + " was frozen meanwhile: " + proof, nil
}

// joined waits until the process is in the group. The group does not notice the end of a process that has not
// joined it.
func joined(ctx context.Context, p *process.Process) error {
	return process.Until(ctx, rig.ReadyTimeout, 50*time.Millisecond, func() error {
		if p.Generation() == 0 {
			return fmt.Errorf("%s has not joined the group", p.Name)
		}
		return nil
	})
}

// atOnce is the number of processes that run at the same time until each of them crashes. Each must get a partition.
const atOnce = 3

// crash lets three processes end themselves at drawn points.
func crash(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	var settings []string
	points := points(r)
	for _, i := range random.Perm(len(points))[:atOnce] {
		settings = append(settings, crashSetting(random, points[i], random.IntN(4) == 0))
	}
	return crashAll(ctx, r, settings)
}

func crashEverywhere(ctx context.Context, r *rig.Round, random *rand.Rand) (string, error) {
	var settings []string
	for _, p := range points(r) {
		settings = append(settings, crashSetting(random, p, false), crashSetting(random, p, true))
	}
	random.Shuffle(len(settings), func(i, j int) { settings[i], settings[j] = settings[j], settings[i] })
	var proofs []string
	for len(settings) > 0 {
		n := min(atOnce, len(settings))
		proof, err := crashAll(ctx, r, settings[:n])
		if err != nil {
			return "", err
		}
		proofs, settings = append(proofs, proof), settings[n:]
	}
	return strings.Join(proofs, "; "), nil
}

// points are those that the processes pass. Those of stories have no index, and one output topic.
func points(r *rig.Round) []crashpoint.Point {
	if !r.Stories {
		return crashpoint.Points()
	}
	return append(crashpoint.TakeOver(), crashpoint.AfterFetch, crashpoint.AfterPrepare, crashpoint.BeforePublish,
		crashpoint.AfterPublish, crashpoint.AfterCommittable, crashpoint.BeforeCommit, crashpoint.AfterCommit)
}

// crashSetting is a value of crashpoint.Variable: the process ends itself when it passes the point for the
// n-th time, n being drawn.
func crashSetting(random *rand.Rand, p crashpoint.Point, term bool) string {
	n := 1 + random.IntN(8)
	if slices.Contains(crashpoint.TakeOver(), p) {
		n = 1 // a process may have one partition only
	}
	s := fmt.Sprintf("%s:%d", p, n)
	if term {
		s += ":term"
	}
	return s
}

// crashName is the summary's name of a setting.
func crashName(setting string) string {
	point, how, _ := strings.Cut(setting, ":")
	if strings.HasSuffix(how, ":term") {
		return "  SIGTERM " + point
	}
	return "  SIGKILL " + point
}

// crashAll starts a process for each setting beside those that run, and waits until each has ended itself.
func crashAll(ctx context.Context, r *rig.Round, settings []string) (string, error) {
	var crashes errgroup.Group
	for _, s := range settings {
		p, err := r.Start(crashpoint.Variable + "=" + s)
		if err != nil {
			return "", err
		}
		name := crashName(s)
		r.Summary.Injected(name)
		crashes.Go(func() error {
			if err := awaitCrash(ctx, r, p, s); err != nil {
				return err
			}
			r.Summary.Fired(name)
			return nil
		})
	}
	if err := crashes.Wait(); err != nil {
		return "", err
	}
	return strings.Join(settings, ", "), nil
}

// awaitCrash waits until the process has ended itself, and checks that it did so at its point.
func awaitCrash(ctx context.Context, r *rig.Round, p *process.Process, setting string) error {
	// the process starts, joins the group, and waits for servers that are away
	limit := time.NewTimer(2 * rig.ReadyTimeout)
	defer limit.Stop()
	select {
	case <-p.Exited:
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		p.Discard()
		return fmt.Errorf("%s did not pass %s", p.Name, setting)
	}
	switch term := strings.HasSuffix(setting, ":term"); {
	case !p.Crashed():
		return fmt.Errorf("%s ended before it passed %s: %w", p.Name, setting, p.Err())
	case term && p.Err() != nil:
		r.Violate(rig.BadExit, "%s ended after SIGTERM at %s with: %v", p.Name, setting, p.Err())
	case !term && !p.WasKilled():
		return fmt.Errorf("%s ended at %s with: %w", p.Name, setting, p.Err())
	}
	return nil
}
