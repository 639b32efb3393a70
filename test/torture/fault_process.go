package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"
)

var processFaults = map[string]fault{
	"kill":   {ofProcesses, injectKill},
	"term":   {ofProcesses, injectTerm},
	"storm":  {ofProcesses, injectStorm},
	"zombie": {ofProcesses, injectZombie},
}

var errNobody = errors.New("no process runs")

// pick chooses a running process.
func (r *round) pick(random *rand.Rand) (*process, error) {
	live := r.alive()
	if len(live) == 0 {
		return nil, errNobody
	}
	return live[random.IntN(len(live))], nil
}

// injectKill ends a process with kill -9 and starts another.
func injectKill(ctx context.Context, r *round, random *rand.Rand, _ time.Duration) (string, error) {
	p, err := r.pick(random)
	if err != nil {
		return "", err
	}
	if err := p.kill(); err != nil {
		return "", err
	}
	if err := pause(ctx, between(random, 0, time.Second)); err != nil {
		return "", err
	}
	if _, err := r.startProcess(); err != nil {
		return "", err
	}
	return p.name + " is gone by SIGKILL", nil
}

// injectTerm ends a process in good order and starts another.
func injectTerm(_ context.Context, r *round, random *rand.Rand, _ time.Duration) (string, error) {
	p, err := r.pick(random)
	if err != nil {
		return "", err
	}
	if err := p.terminate(r); err != nil {
		return "", err
	}
	if _, err := r.startProcess(); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is gone by SIGTERM: %s", p.name, p.cmd.ProcessState), nil
}

// injectStorm lets processes join and leave, faster than the group settles.
func injectStorm(ctx context.Context, r *round, random *rand.Rand, _ time.Duration) (string, error) {
	before := r.generation()
	for range 2 {
		leaving, err := r.pick(random)
		if err != nil {
			return "", err
		}
		if _, err := r.startProcess(); err != nil {
			return "", err
		}
		if err := pause(ctx, between(random, 500*time.Millisecond, 2*time.Second)); err != nil {
			return "", err
		}
		if err := leaving.terminate(r); err != nil {
			return "", err
		}
	}
	return r.moved(ctx, before, 1) // while a broker is away, several changes become one
}

// moved waits until the group is at least so many generations further.
func (r *round) moved(ctx context.Context, before, by int) (string, error) {
	for end := time.Now().Add(readyTimeout); time.Now().Before(end); {
		if now := r.generation(); now >= before+by {
			return fmt.Sprintf("generation %d, then %d", before, now), nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("the group stayed in generation %d", r.generation())
}

// joined waits until the process is in the group: nobody would miss one that is still starting.
func (p *process) joined(ctx context.Context) error {
	for end := time.Now().Add(readyTimeout); time.Now().Before(end); {
		p.log.mu.Lock()
		generation := p.log.generation
		p.log.mu.Unlock()
		if generation > 0 {
			return nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s has not joined the group", p.name)
}

// injectZombie freezes a process until the others have got its partitions, and then lets it go on with what it had in
// its hands.
func injectZombie(ctx context.Context, r *round, random *rand.Rand, _ time.Duration) (string, error) {
	p, err := r.pick(random)
	if err != nil {
		return "", err
	}
	if err := p.joined(ctx); err != nil {
		return "", err
	}
	before := r.generation()
	p.frozen.Store(true)
	defer func() {
		p.thaws.Add(1)
		p.frozen.Store(false)
	}()
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return "", err
	}
	defer func() { _ = p.signal(syscall.SIGCONT) }()
	if err := pause(ctx, sessionTimeout+between(random, time.Second, 3*time.Second)); err != nil {
		return "", err
	}
	proof, err := r.moved(ctx, before, 1)
	if err != nil {
		return "", err
	}
	return p.name + " was frozen meanwhile: " + proof, nil
}
