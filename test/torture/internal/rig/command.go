package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"echosieve/internal/app/child"
	"echosieve/test/ledger"
	"echosieve/test/torture/internal/judge"
	"echosieve/test/torture/internal/wait"
)

// badCommand is a command of an operator that hung, panicked, or failed without saying why.
const badCommand ledger.Kind = "bad command"

// Ended is how a command of an operator ended.
type Ended struct {
	Out, Err string
	Code     int // exit code; -1 if the command was killed
}

// Command runs a command of the service's program, with the configuration of the processes, and kills it with
// SIGKILL after a time. With 0 it lets the command end by itself, which is a violation if that takes longer
// than ReadyTimeout.
func (r *Round) Command(ctx context.Context, killAfter time.Duration, args ...string) (Ended, error) {
	var out, errOut bytes.Buffer
	cmd := exec.Command(r.Binary, r.arguments(args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	p, err := child.Start(cmd)
	if err != nil {
		return Ended{}, err
	}
	limit := killAfter
	if limit == 0 {
		limit = ReadyTimeout
	}
	select {
	case <-p.Done:
	case <-time.After(limit):
	case <-ctx.Done():
	}
	killed := !p.Ended()
	p.Kill()
	name := strings.Join(args, " ")
	e := Ended{out.String(), strings.TrimSpace(errOut.String()), cmd.ProcessState.ExitCode()}
	switch {
	case ctx.Err() != nil:
		return e, context.Cause(ctx)
	case killed && killAfter == 0:
		r.Violate(badCommand, "%s did not end within %s: %s", name, limit, e.Err)
	case !killed && e.Code != 0 && e.Err == "", strings.Contains(e.Err, "panic: "):
		r.Violate(badCommand, "%s ended with exit code %d: %s", name, e.Code, e.Err)
	}
	return e, nil
}

// Insist runs a command until it ends with exit code 0: other faults may make it fail.
func (r *Round) Insist(ctx context.Context, args ...string) (Ended, error) {
	for end := time.Now().Add(2 * ReadyTimeout); ; {
		e, err := r.Command(ctx, 0, args...)
		if err != nil || e.Code == 0 {
			return e, err
		}
		r.Say("  %s: exit code %d: %s", strings.Join(args, " "), e.Code, e.Err)
		if time.Now().After(end) {
			return e, fmt.Errorf("%s still fails with exit code %d: %s", strings.Join(args, " "), e.Code, e.Err)
		}
		if err := wait.For(ctx, time.Second); err != nil {
			return e, err
		}
	}
}

// EmptyIndex ends all processes, deletes all data in Redis and starts as many processes again. All records
// that were decided are committed then: their verdicts must survive. It returns those records' offsets by
// partition, for Refilled.
func (r *Round) EmptyIndex(ctx context.Context, empty func() error) (committed map[int32]int64, err error) {
	for _, healthy := range []interface {
		Lock()
		Unlock()
	}{&r.BreakingKafka, &r.BreakingRedis} {
		healthy.Lock()
		defer healthy.Unlock()
	}
	for range 20 {
		if err := r.TerminateAll(); err != nil {
			return nil, err
		}
		var settled bool
		if committed, settled, err = r.settled(ctx); err == nil && settled {
			err = empty()
		}
		for range r.Processes {
			_, startErr := r.Start()
			err = errors.Join(err, startErr)
		}
		if err != nil {
			return nil, err
		}
		if !r.WaitReady(ctx) {
			return nil, errors.New("the processes did not become ready")
		}
		if settled {
			return committed, nil
		}
	}
	return nil, errors.New("the processes never committed all that they had published")
}

// settled says whether each output belongs to a committed record. A process leaves others uncommitted if it
// ends in the middle of a batch, because of kafka.drain_timeout.
func (r *Round) settled(ctx context.Context) (committed map[int32]int64, all bool, err error) {
	offsets, err := r.Admin.FetchOffsets(ctx, r.Topic)
	if err == nil {
		err = offsets.Error()
	}
	if err != nil {
		return nil, false, err
	}
	committed = map[int32]int64{}
	offsets.Each(func(o kadm.OffsetResponse) { committed[o.Partition] = o.At })
	outputs, err := r.Watcher.Drain(ctx, r.Admin)
	return committed, !slices.ContainsFunc(outputs, func(o *kgo.Record) bool {
		return !judge.Below(judge.Input(o), committed)
	}), err
}

// Refilled notes that the index, which was emptied when these offsets were committed, is filled again: later
// copies must be caught.
func (r *Round) Refilled(ctx context.Context, committed map[int32]int64) error {
	ends, err := r.ends(ctx, r.Topic)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.excuses.Losses = append(r.excuses.Losses, judge.Loss{Committed: committed, Refilled: ends})
	return nil
}

// ends are the ends of a topic by partition.
func (r *Round) ends(ctx context.Context, topic string) (map[int32]int64, error) {
	listed, err := r.Admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	ends := map[int32]int64{}
	listed.Each(func(o kadm.ListedOffset) { ends[o.Partition] = o.Offset })
	return ends, err
}

// Forgotten notes that an article is forgotten, or may be: later copies of it may come through.
func (r *Round) Forgotten(input string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.excuses.Forgotten = append(r.excuses.Forgotten, input)
}

// Excuses are the losses and the forgotten articles of the round.
func (r *Round) Excuses() judge.Excuses {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.excuses
}

// Decided draws the coordinates of a record that was published as unique, for a command.
func (r *Round) Decided(ctx context.Context, random *rand.Rand) (string, error) {
	for {
		if input := r.Watcher.Unique(random); input != "" {
			return input, nil
		}
		if err := wait.For(ctx, 100*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// Replay lets processes of a new consumer group decide all records of the input topic again, with the same
// index and the same output topics. Package ledger then compares the verdicts. Nothing must be published or
// decided meanwhile.
func (r *Round) Replay(ctx context.Context) error {
	r.mu.Lock()
	r.replay = true
	r.mu.Unlock()
	for range r.Processes {
		if _, err := r.Start(); err != nil {
			return err
		}
	}
	ends, err := r.ends(ctx, r.Topic)
	if err != nil {
		return err
	}
	for end := time.Now().Add(2 * ReadyTimeout); ; {
		done := map[int32]int64{}
		offsets, err := r.Admin.FetchOffsets(ctx, r.Topic+"-replay")
		if err == nil {
			offsets.Each(func(o kadm.OffsetResponse) { done[o.Partition] = o.At })
			if maps.EqualFunc(ends, done, func(end, at int64) bool { return at >= end || end == 0 }) {
				return r.TerminateAll()
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("the replay came to %v of %v: %w", done, ends, err)
		}
		if err := wait.For(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}
