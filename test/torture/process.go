package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"echosieve/test/child"
	"echosieve/test/ledger"
)

// process is one running service.
type process struct {
	name   string
	cmd    *exec.Cmd
	exited chan struct{}
	err    error       // of Wait, once exited
	asked  atomic.Bool // its end is wanted
	frozen atomic.Bool
	thaws  atomic.Int32 // how often it was frozen and went on
	log    *logFile
}

// startProcess starts a service.
func (r *round) startProcess() (*process, error) { return r.launch(false) }

// startDoomed starts a service with one more environment variable that will end it. No other fault picks it.
func (r *round) startDoomed(env string) (*process, error) { return r.launch(true, env) }

func (r *round) launch(doomed bool, env ...string) (*process, error) {
	r.mu.Lock()
	r.started++
	name := fmt.Sprintf("service-%d", r.started)
	r.mu.Unlock()
	file, err := os.Create(filepath.Join(r.dir, name+".log"))
	if err != nil {
		return nil, err
	}
	p := &process{name: name, exited: make(chan struct{}), log: &logFile{file: file, warnings: map[string]int{}}}
	p.asked.Store(doomed)
	args := []string{
		"run",
		"--kafka.brokers", r.w.serviceKafka(), "--kafka.group", r.topic, "--kafka.topics.input", r.topic,
		"--kafka.topics.unique", r.topic + "-unique", "--kafka.topics.duplicate", r.topic + "-duplicate",
		"--kafka.topics.dead", r.topic + "-dead", "--redis.namespace", r.topic,
		"--window", window.String(), "--http.listen", "127.0.0.1:0",
		// Short times, so that the partitions of the dead are served again within the round.
		"--kafka.session_timeout", sessionTimeout.String(), "--kafka.drain_timeout", "2s", "--kafka.commit_interval", "200ms",
	}
	p.cmd = exec.Command(r.w.binary, slices.Concat(args, r.w.redisFlags(), r.w.o.serviceFlags)...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = child.DiesWithParent()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.cmd.Stderr = write, write
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	_ = write.Close()
	go func() {
		p.log.follow(read)
		_ = read.Close()
		_ = file.Close()
		p.err = p.cmd.Wait()
		r.ended(p)
		close(p.exited)
	}()
	r.mu.Lock()
	r.processes = append(r.processes, p)
	r.mu.Unlock()
	return p, nil
}

// ended takes a process off the list, and starts another in the place of one that ended by itself.
func (r *round) ended(p *process) {
	r.mu.Lock()
	for i, other := range r.processes {
		if other == p {
			r.processes = append(r.processes[:i:i], r.processes[i+1:]...)
			break
		}
	}
	p.log.mu.Lock()
	r.newest = max(r.newest, p.log.generation)
	p.log.mu.Unlock()
	r.mu.Unlock()
	if p.asked.Load() || r.w.host.ctx.Err() != nil {
		return
	}
	r.violate(endedByItself, "%s ended by itself: %v", p.name, p.err)
	if _, err := r.startProcess(); err != nil {
		r.violate(endedByItself, "no process in the place of %s: %v", p.name, err)
	}
}

// alive returns the processes that run and are not frozen.
func (r *round) alive() []*process {
	r.mu.Lock()
	defer r.mu.Unlock()
	var live []*process
	for _, p := range r.processes {
		if !p.asked.Load() && !p.frozen.Load() {
			live = append(live, p)
		}
	}
	return live
}

// generation is the newest generation of the group that any process has joined.
func (r *round) generation() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.processes {
		p.log.mu.Lock()
		r.newest = max(r.newest, p.log.generation)
		p.log.mu.Unlock()
	}
	return r.newest
}

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// witness is a process that can be asked what it noticed. One that ended or was frozen since is excused.
type witness struct {
	*process
	thaws int32
}

// witnesses are the processes that run and are not frozen now.
func (r *round) witnesses() []witness {
	var all []witness
	for _, p := range r.alive() {
		all = append(all, witness{p, p.thaws.Load()})
	}
	return all
}

func (w witness) excused() bool {
	return w.asked.Load() || w.frozen.Load() || w.process.thaws.Load() != w.thaws
}

// kill ends the process without warning and waits until it is gone.
func (p *process) kill() error {
	p.asked.Store(true)
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.exited
	var exit *exec.ExitError
	if !errors.As(p.err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		return fmt.Errorf("%s was killed but ended with: %w", p.name, p.err)
	}
	return nil
}

// terminate ends the process as an orchestrator does; it must end with exit code 0 in time.
func (p *process) terminate(r *round) error {
	p.asked.Store(true)
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		_ = p.signal(syscall.SIGKILL)
		<-p.exited
		r.violate(badExit, "%s did not end within %s of its SIGTERM", p.name, stopTimeout)
		return nil
	}
	if p.err != nil {
		r.violate(badExit, "%s ended after SIGTERM with: %v", p.name, p.err)
	}
	return nil
}

// state asks /readyz.
func (p *process) state(ctx context.Context) (ready bool, up map[string]bool, err error) {
	p.log.mu.Lock()
	addr := p.log.http
	p.log.mu.Unlock()
	if addr == "" {
		return false, nil, errors.New("does not listen yet")
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/readyz", nil)
	if err != nil {
		return false, nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, nil, err
	}
	defer res.Body.Close()
	var body struct {
		Ready      bool
		Components map[string]struct{ Up bool }
	}
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
		return false, nil, err
	}
	if body.Ready != (res.StatusCode == http.StatusOK) {
		return false, nil, fmt.Errorf("ready is %t with status %d", body.Ready, res.StatusCode)
	}
	up = map[string]bool{}
	for name, c := range body.Components {
		up[name] = c.Up
	}
	return body.Ready, up, nil
}

const (
	endedByItself ledger.Kind = "ended"
	badExit       ledger.Kind = "bad exit"
	unready       ledger.Kind = "readiness"
	noisy         ledger.Kind = "log noise"
)
