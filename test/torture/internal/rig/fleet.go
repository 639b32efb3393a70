package rig

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"echosieve/test/host"
	"echosieve/test/ledger"
	"echosieve/test/torture/internal/process"
)

// Violations of a process's promises, beside those of package ledger.
const (
	EndedByItself ledger.Kind = "ended"     // a process that nobody asked to end
	BadExit       ledger.Kind = "bad exit"  // after SIGTERM, another exit code than 0, or no end
	unready       ledger.Kind = "readiness" // /readyz does not tell the truth
)

// Fleet is the service processes of a round. Its methods are safe for concurrent use.
type Fleet struct {
	*Rig
	Names
	Notes
	Dir string // of the processes' logs

	mu         sync.Mutex
	processes  []*process.Process
	started    int
	generation int // the newest group generation
	version    int // of the processes that are started: see binary
}

// Start starts a service process. One with a variable of its environment that will end it is picked by no other fault.
func (f *Fleet) Start(doom ...string) (*process.Process, error) {
	command := []string{"run"}
	if f.Stories {
		command = []string{"stories", "--topic", f.StoriesTopic(), "--changes", "--labels", f.LabelsTopic(),
			"--kafka.create_topics"}
	}
	return f.start(command, len(doom) > 0, doom...)
}

// StartService starts the service whose outputs processes of the role of stories read.
func (f *Fleet) StartService() error {
	_, err := f.start([]string{"run"}, true)
	return err
}

func (f *Fleet) start(command []string, doomed bool, env ...string) (*process.Process, error) {
	f.mu.Lock()
	f.started++
	name := fmt.Sprintf("service-%d", f.started)
	f.mu.Unlock()
	listed := make(chan struct{}) // a process may end before it is on the list
	p, err := process.Start(process.Command{
		Name: name, Dir: f.Dir, Binary: f.binary(), HTTP: process.Listener(host.Addr(host.Ports(f.Host, 1)[0])),
		Args: f.Arguments(command...), Env: append(env, fmt.Sprintf("GOMEMLIMIT=%d", memoryLimit)), Doomed: doomed,
	}, func(p *process.Process) {
		<-listed
		f.ended(p)
	})
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.processes = append(f.processes, p)
	f.mu.Unlock()
	close(listed)
	return p, nil
}

// binary is the program of the next process: the old one first, until all processes are replaced.
func (f *Fleet) binary() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Old != "" && f.version%2 == 0 {
		return f.Old
	}
	return f.Binary
}

// ReplaceNext ends a process that has not the present version, and starts one that has. When all have it, the
// version changes first: to the new one and back, again and again. Before the first process is replaced, the index of
// the new version is filled, as operators do; from then on each version stores what the other one has decided.
func (f *Fleet) ReplaceNext(ctx context.Context) (proof string, err error) {
	if f.Old == "" {
		return "", errors.New("there is one version: set --upgrade")
	}
	other := func() (found *process.Process) {
		for _, p := range f.Running() {
			if p.Binary != f.binary() {
				found = p
			}
		}
		return found
	}
	p := other()
	if p == nil {
		if f.version == 0 {
			// It fails before the group has committed anything.
			err := process.Until(ctx, ReadyTimeout, 200*time.Millisecond, func() error {
				refill := f.Arguments("index", "refill", "--from", "input")
				out, err := exec.CommandContext(ctx, f.Binary, refill...).CombinedOutput()
				if err != nil {
					err = fmt.Errorf("index refill: %w: %s", err, out)
				}
				return err
			})
			if err != nil {
				return "", err
			}
		}
		f.mu.Lock()
		f.version++
		f.mu.Unlock()
		if p = other(); p == nil {
			return "", errors.New("no process runs")
		}
	}
	if err := f.Terminate(p); err != nil {
		return "", err
	}
	started, err := f.Start()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s replaces %s, which has another version", started.Name, p.Name), nil
}

// Arguments are those of a command of the service, with the configuration of the service processes.
func (f *Fleet) Arguments(command ...string) []string {
	topics := f.Topics()
	return slices.Concat(command, []string{
		"--kafka.brokers", f.serviceKafka(), "--kafka.group", f.Topic, "--kafka.topics.input",
		strings.Join(f.Inputs(), ","),
		"--kafka.topics.unique", topics.Unique, "--kafka.topics.duplicate", topics.Duplicate, "--kafka.topics.dead",
		topics.Dead,
		"--redis.namespace", f.Topic, "--window", Window.String(),
		// Short times, so that others serve the partitions of a killed process within the round.
		"--kafka.session_timeout", SessionTimeout.String(), "--kafka.commit_interval",
		"200ms",
	}, f.redisFlags(), f.ServiceFlags)
}

// ended removes a process from the list. It starts another process in the place of one that ended by itself.
func (f *Fleet) ended(p *process.Process) {
	f.mu.Lock()
	f.processes = slices.DeleteFunc(f.processes, func(other *process.Process) bool { return other == p })
	f.generation = max(f.generation, p.Generation())
	f.mu.Unlock()
	if p.Asked() || f.Host.Context().Err() != nil {
		return
	}
	f.Violate(EndedByItself, "%s ended by itself: %v", p.Name, p.Err())
	if _, err := f.Start(); err != nil {
		f.Violate(EndedByItself, "no process could be started in the place of %s: %v", p.Name, err)
	}
}

// Running returns the processes that run, without those that are frozen, asked to end, or doomed.
func (f *Fleet) Running() []*process.Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.processes), func(p *process.Process) bool { return !p.Running() })
}

// Pick draws a running process.
func (f *Fleet) Pick(random *rand.Rand) (*process.Process, error) {
	running := f.Running()
	if len(running) == 0 {
		return nil, errors.New("no process runs")
	}
	return running[random.IntN(len(running))], nil
}

// Terminate ends a process with SIGTERM. If the process does not end well, Terminate notes that and returns nil.
func (f *Fleet) Terminate(p *process.Process) error {
	err := p.Terminate(stopTimeout)
	if errors.Is(err, process.ErrBadExit) {
		f.Violate(BadExit, "%s", strings.TrimPrefix(err.Error(), process.ErrBadExit.Error()+": "))
		return nil
	}
	return err
}

// TerminateAll ends all running processes with SIGTERM.
func (f *Fleet) TerminateAll() error {
	var stopping errgroup.Group
	for _, p := range f.Running() {
		stopping.Go(func() error { return f.Terminate(p) })
	}
	return stopping.Wait()
}

// Close kills the processes that an error has left running.
func (f *Fleet) Close() {
	f.mu.Lock()
	left := slices.Clone(f.processes)
	f.mu.Unlock()
	for _, p := range left {
		p.Discard()
	}
}

// Generation is the newest generation of the consumer group that any process has joined.
func (f *Fleet) Generation() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.processes {
		f.generation = max(f.generation, p.Generation())
	}
	return f.generation
}
