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
	"echosieve/test/torture/internal/traffic"
)

// Times of a round.
const (
	// SessionTimeout is that of the processes' consumer group.
	SessionTimeout = 6 * time.Second
	// ReadyTimeout bounds each wait for servers and processes that must become ready: far more than an idle
	// machine needs.
	ReadyTimeout = 3 * time.Minute

	Window      = 168 * time.Hour
	memoryLimit = 400 << 20       // as GOMEMLIMIT of deploy/k8s/base
	stopTimeout = 2 * time.Minute // from SIGTERM to the end of a process
)

// Violations of a process's promises, beside those of package ledger.
const (
	EndedByItself ledger.Kind = "ended"     // a process that nobody asked to end
	BadExit       ledger.Kind = "bad exit"  // after SIGTERM, another exit code than 0, or no end
	unready       ledger.Kind = "readiness" // /readyz does not tell the truth
)

// Round is the state of one round that faults read and change: the service processes, their traffic and the
// violations found so far. Its methods are safe for concurrent use.
type Round struct {
	*Rig
	Topic   string // first input; also the consumer group, the namespace in Redis and the prefix of the output topics
	Dir     string // of the processes' logs
	Feed    *traffic.Feed
	Watcher *traffic.Watcher
	Summary *Summary
	// BreakingKafka is held while a fault of Kafka lasts, and while a transaction is open: see traffic.Transactions.
	BreakingKafka sync.Mutex
	// Released has the coordinates of the input records whose drop was taken back: each gives one more input record.
	Released sync.Map

	mu         sync.Mutex
	processes  []*process.Process
	skipped    map[string]int // records that a process, by its name, found published
	started    int
	generation int // the newest group generation
	version    int // of the processes that are started: see binary
	violations ledger.Violations
}

// Inputs are the input topics. Articles go to them in turn.
func (r *Round) Inputs() []string { return []string{r.Topic, r.Topic + "-wire"} }

// Topics are the output topics.
func (r *Round) Topics() ledger.Topics {
	return ledger.Topics{Unique: r.Topic + "-unique", Duplicate: r.Topic + "-duplicate", Dead: r.Topic + "-dead"}
}

// Violate notes a broken promise.
func (r *Round) Violate(kind ledger.Kind, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.violations.Add(kind, format, args...)
}

// Result returns the violations that were noted so far.
func (r *Round) Result() Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Result{Violations: slices.Clone(r.violations)}
}

// Start starts a service process.
func (r *Round) Start() (*process.Process, error) { return r.start(false) }

// StartDoomed starts a service process with one more environment variable, which will end it. No other fault
// picks this process.
func (r *Round) StartDoomed(env string) (*process.Process, error) {
	return r.start(true, env)
}

// StartService starts the service whose outputs processes of the role of stories read.
func (r *Round) StartService() error {
	_, err := r.startCommand([]string{"run"}, true)
	return err
}

// ChangesTopic is where processes of the role of stories publish what is new in versions.
func (r *Round) ChangesTopic() string { return r.Topic + "-changes" }

// StoriesTopic is where processes of the role of stories publish.
func (r *Round) StoriesTopic() string { return r.Topic + "-stories" }

// LabelsTopic is where labels of stories are published.
func (r *Round) LabelsTopic() string { return r.Topic + "-labels" }

func (r *Round) start(doomed bool, env ...string) (*process.Process, error) {
	command := []string{"run"}
	if r.Stories {
		command = []string{"stories", "--topic", r.StoriesTopic(), "--changes", "--labels", r.LabelsTopic(),
			"--kafka.create_topics"}
	}
	return r.startCommand(command, doomed, env...)
}

func (r *Round) startCommand(command []string, doomed bool, env ...string) (*process.Process, error) {
	r.mu.Lock()
	r.started++
	name := fmt.Sprintf("service-%d", r.started)
	r.mu.Unlock()
	listed := make(chan struct{}) // a process may end before it is on the list
	env = append(env, fmt.Sprintf("GOMEMLIMIT=%d", memoryLimit))
	p, err := process.Start(process.Command{
		Name: name, Dir: r.Dir, Binary: r.binary(), HTTP: host.Addr(host.Ports(r.Host, 1)[0]),
		Args: r.arguments(command...), Env: env, Doomed: doomed,
	}, func(p *process.Process) {
		<-listed
		r.ended(p)
	})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.processes = append(r.processes, p)
	r.mu.Unlock()
	close(listed)
	return p, nil
}

// binary is the program of the next process: the old one first, until all processes are replaced.
func (r *Round) binary() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Old != "" && r.version%2 == 0 {
		return r.Old
	}
	return r.Binary
}

// ReplaceNext ends a process that has not the present version, and starts one that has. When all have it, the
// version changes first: to the new one and back, again and again. Before the first process is replaced, the index of
// the new version is filled, as operators do; from then on each version stores what the other one has decided.
func (r *Round) ReplaceNext(ctx context.Context) (proof string, err error) {
	if r.Old == "" {
		return "", errors.New("there is one version: set --upgrade")
	}
	other := func() (found *process.Process) {
		for _, p := range r.Running() {
			if p.Binary != r.binary() {
				found = p
			}
		}
		return found
	}
	p := other()
	if p == nil {
		if r.version == 0 {
			if err := process.Until(ctx, ReadyTimeout, 200*time.Millisecond, func() error { return r.fill(ctx) }); err != nil {
				return "", err
			}
		}
		r.mu.Lock()
		r.version++
		r.mu.Unlock()
		if p = other(); p == nil {
			return "", errors.New("no process runs")
		}
	}
	if err := r.Terminate(p); err != nil {
		return "", err
	}
	started, err := r.Start()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s replaces %s, which has another version", started.Name, p.Name), nil
}

// fill fills the index of the new version. It fails before the group has committed anything.
func (r *Round) fill(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, r.Binary, r.arguments("index", "refill", "--from", "input")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("index refill: %w: %s", err, out)
	}
	return nil
}

// arguments are those of a command, with the configuration of the service processes.
func (r *Round) arguments(command ...string) []string {
	topics := r.Topics()
	return slices.Concat(command, []string{
		"--kafka.brokers", r.serviceKafka(), "--kafka.group", r.Topic, "--kafka.topics.input",
		strings.Join(r.Inputs(), ","),
		"--kafka.topics.unique", topics.Unique, "--kafka.topics.duplicate", topics.Duplicate, "--kafka.topics.dead",
		topics.Dead,
		"--redis.namespace", r.Topic, "--window", Window.String(),
		// Short times, so that others serve the partitions of a killed process within the round.
		"--kafka.session_timeout", SessionTimeout.String(), "--kafka.commit_interval",
		"200ms",
	}, r.redisFlags(), r.ServiceFlags)
}

// ReleaseArguments are those of the command that releases the article of a record.
func (r *Round) ReleaseArguments(coordinates string) []string {
	return r.arguments("release", coordinates)
}

// ended removes a process from the list. It starts another process in the place of one that ended by itself.
func (r *Round) ended(p *process.Process) {
	r.mu.Lock()
	r.processes = slices.DeleteFunc(r.processes, func(other *process.Process) bool { return other == p })
	r.generation = max(r.generation, p.Generation())
	r.mu.Unlock()
	if p.Asked() || r.Host.Context().Err() != nil {
		return
	}
	r.Violate(EndedByItself, "%s ended by itself: %v", p.Name, p.Err())
	if _, err := r.Start(); err != nil {
		r.Violate(EndedByItself, "no process could be started in the place of %s: %v", p.Name, err)
	}
}

// Running returns the processes that run, without those that are frozen, asked to end, or doomed.
func (r *Round) Running() []*process.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.processes), func(p *process.Process) bool { return !p.Running() })
}

// Pick draws a running process.
func (r *Round) Pick(random *rand.Rand) (*process.Process, error) {
	running := r.Running()
	if len(running) == 0 {
		return nil, errors.New("no process runs")
	}
	return running[random.IntN(len(running))], nil
}

// Terminate ends a process with SIGTERM. If the process does not end well, Terminate notes that and returns nil.
func (r *Round) Terminate(p *process.Process) error {
	err := p.Terminate(stopTimeout)
	if errors.Is(err, process.ErrBadExit) {
		r.Violate(BadExit, "%s", strings.TrimPrefix(err.Error(), process.ErrBadExit.Error()+": "))
		return nil
	}
	return err
}

// TerminateAll ends all running processes with SIGTERM.
func (r *Round) TerminateAll() error {
	var stopping errgroup.Group
	for _, p := range r.Running() {
		stopping.Go(func() error { return r.Terminate(p) })
	}
	return stopping.Wait()
}

// Close kills the processes that an error has left running.
func (r *Round) Close() {
	r.mu.Lock()
	left := slices.Clone(r.processes)
	r.mu.Unlock()
	for _, p := range left {
		p.Discard()
	}
}

// Generation is the newest generation of the consumer group that any process has joined.
func (r *Round) Generation() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.processes {
		r.generation = max(r.generation, p.Generation())
	}
	return r.generation
}

// WaitReady waits until all processes are ready. It returns false if they are not within ReadyTimeout.
func (r *Round) WaitReady(ctx context.Context) bool {
	return len(r.awaitState(ctx, r.witnesses(), ReadyTimeout,
		func(ready bool, _ map[string]bool) bool { return ready })) == 0
}

// WatchSkipped notes how many records the processes find published by an earlier owner, until ctx ends.
func (r *Round) WatchSkipped(ctx context.Context) {
	for process.Pause(ctx, time.Second) == nil {
		for _, p := range r.Running() {
			if n, err := p.Counter(ctx, "echosieve_consumer_already_acknowledged_records_total"); err == nil {
				r.mu.Lock()
				if r.skipped == nil {
					r.skipped = map[string]int{}
				}
				r.skipped[p.Name] = max(r.skipped[p.Name], n)
				r.mu.Unlock()
			}
		}
	}
}

// Skipped is the number of records that processes have found published.
func (r *Round) Skipped() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.skipped {
		n += one
	}
	return n
}
