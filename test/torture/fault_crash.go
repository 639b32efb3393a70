package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"echosieve/internal/crashpoint"
)

var crashFaults = map[string]fault{
	"crash":       {ofProcesses, injectCrash},
	"crash-every": {ofProcesses, injectCrashEverywhere},
}

// abreast is how many processes that will crash run beside each other. Each must get a partition.
const abreast = 3

// injectCrash lets a few processes end at points drawn by chance.
func injectCrash(ctx context.Context, r *round, random *rand.Rand, _ time.Duration) (string, error) {
	var settings []string
	points := crashpoint.Points()
	for _, i := range random.Perm(len(points))[:abreast] {
		settings = append(settings, crashSetting(random, points[i], random.IntN(4) == 0))
	}
	return r.crash(ctx, settings)
}

// injectCrashEverywhere lets a process end at every point, with SIGKILL and with SIGTERM.
func injectCrashEverywhere(ctx context.Context, r *round, random *rand.Rand, _ time.Duration) (string, error) {
	var settings []string
	for _, p := range crashpoint.Points() {
		settings = append(settings, crashSetting(random, p, false), crashSetting(random, p, true))
	}
	random.Shuffle(len(settings), func(i, j int) { settings[i], settings[j] = settings[j], settings[i] })
	var proofs []string
	for len(settings) > 0 {
		n := min(abreast, len(settings))
		proof, err := r.crash(ctx, settings[:n])
		if err != nil {
			return "", err
		}
		proofs, settings = append(proofs, proof), settings[n:]
	}
	return strings.Join(proofs, "; "), nil
}

func crashSetting(random *rand.Rand, p crashpoint.Point, term bool) string {
	s := fmt.Sprintf("%s:%d", p, 1+random.IntN(8))
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

// crash starts a process for each setting beside those that run, and waits until it has ended itself.
func (r *round) crash(ctx context.Context, settings []string) (string, error) {
	var crashes errgroup.Group
	for _, s := range settings {
		p, err := r.startDoomed(crashpoint.Variable + "=" + s)
		if err != nil {
			return "", err
		}
		name := crashName(s)
		r.summary.injected(name)
		crashes.Go(func() error {
			if err := p.awaitCrash(ctx, r, s); err != nil {
				return err
			}
			r.summary.fired(name)
			return nil
		})
	}
	if err := crashes.Wait(); err != nil {
		return "", err
	}
	return strings.Join(settings, ", "), nil
}

// awaitCrash waits until the process has ended itself, and checks that it did so at its point.
func (p *process) awaitCrash(ctx context.Context, r *round, setting string) error {
	limit := time.NewTimer(2 * readyTimeout) // it starts, joins, and waits for servers that are away
	defer limit.Stop()
	select {
	case <-p.exited:
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
		_ = p.signal(syscall.SIGKILL)
		<-p.exited
		return fmt.Errorf("%s did not pass %s", p.name, setting)
	}
	p.log.mu.Lock()
	crashed := p.log.crashed
	p.log.mu.Unlock()
	var exit *exec.ExitError
	killed := errors.As(p.err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	switch term := strings.HasSuffix(setting, ":term"); {
	case !crashed:
		return fmt.Errorf("%s ended before it passed %s: %w", p.name, setting, p.err)
	case term && p.err != nil:
		r.violate(badExit, "%s ended after SIGTERM at %s with: %v", p.name, setting, p.err)
	case !term && !killed:
		return fmt.Errorf("%s ended at %s with: %w", p.name, setting, p.err)
	}
	return nil
}
