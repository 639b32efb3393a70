package connection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"echosieve/internal/diag"
	"echosieve/internal/stopping"
	"echosieve/redisindex/keyspace"

	"github.com/redis/go-redis/v9"
)

// Session runs the scripts of a package on the servers of a client. Safe for concurrent use.
type Session struct {
	client    redis.UniversalClient
	namespace string // the setting redis.namespace, for explanations
	scripts   []*redis.Script
	loaded    atomic.Bool // as far as this process knows; a server may have been restarted since
}

// NewSession returns a session of a client. Each package has its own, with the scripts that it runs.
func NewSession(client redis.UniversalClient, namespace string, scripts ...*redis.Script) *Session {
	return &Session{client: client, namespace: namespace, scripts: scripts}
}

// EnsureScripts loads the scripts into the server, unless this process has loaded them; on a cluster into
// every master. Afterwards they are called by their hash. A server that does not have them (after a restart,
// a failover, or as a new master) replies NOSCRIPT: see LoadAgain.
func (s *Session) EnsureScripts(ctx context.Context) error {
	if s.loaded.Load() {
		return nil
	}
	var err error
	if cluster, ok := s.client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return s.load(ctx, master)
		})
	} else {
		err = s.load(ctx, s.client)
	}
	if err == nil {
		s.loaded.Store(true)
	}
	return err
}

func (s *Session) load(ctx context.Context, server redis.Scripter) error {
	for _, script := range s.scripts {
		if err := script.Load(ctx, server).Err(); err != nil {
			return fmt.Errorf("load scripts: %w", err)
		}
	}
	return nil
}

// LoadAgain says whether the error is that a server lacks scripts. The next call of EnsureScripts then loads them.
func (s *Session) LoadAgain(err error) bool {
	lacks := redis.HasErrorPrefix(err, "NOSCRIPT")
	if lacks {
		s.loaded.Store(false)
	}
	return lacks
}

// patience is how long the functions for tools try a request again before they give up. A failover is over by then.
const patience = time.Minute

// Patiently calls request until it succeeds, or has failed for the time patience. A request that needs
// scripts calls EnsureScripts each time. The error explains the cause.
func (s *Session) Patiently(ctx context.Context, what string, request func() error) error {
	err := stopping.Until(ctx, patience, func(context.Context) error {
		err := request()
		if err != nil && !s.LoadAgain(err) && slices.Contains([]string{"auth", "damaged"}, Kind(err)) {
			return stopping.Final(err)
		}
		return err
	})
	if err == nil {
		return nil
	}
	explained := Explain(err, s.client, s.namespace)
	if p := (*diag.Problem)(nil); isRightMissing(err) && errors.As(explained, &p) {
		p.Remedy = grant(s.client, ToolRule(s.namespace))
	}
	return fmt.Errorf("redisindex: %s: %w", what, explained)
}

// Send sends the commands that queue puts into a pipeline of a server or cluster, as Patiently does. A missing key is
// no error.
func (s *Session) Send(ctx context.Context, what string, to redis.Cmdable, queue func(pipe redis.Pipeliner)) error {
	return s.Patiently(ctx, what, func() error {
		pipe := to.Pipeline()
		queue(pipe)
		return Execute(ctx, pipe)
	})
}

// Execute sends a pipeline and returns the first error of any of its commands. A missing key is no error.
func Execute(ctx context.Context, pipe redis.Pipeliner) error {
	if pipe.Len() == 0 {
		return nil
	}
	cmds, err := pipe.Exec(ctx)
	return FirstError(cmds, err)
}

// FirstError returns the first error of a pipeline's commands, with the key if the value there is the cause.
// A missing key is no error.
func FirstError(cmds []redis.Cmder, err error) error {
	for _, cmd := range cmds {
		if e := cmd.Err(); e != nil && !errors.Is(e, redis.Nil) {
			return withKey(cmd, e)
		}
	}
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}

// hiddenArg is where store.lua and restore.lua take the digest of a hidden entry; the other scripts have
// fewer arguments.
const hiddenArg = 9

// withKey adds the key to an error whose cause is the value that the command found there.
func withKey(cmd redis.Cmder, err error) error {
	args, script := cmd.Args(), cmd.Name() == "evalsha"
	if len(args) < 2 || script && len(args) < 4 {
		return err
	}
	name := KeyOf(cmd)
	switch text := err.Error(); {
	case script && strings.Contains(text, "ECHOSIEVE_DAMAGED"):
		fingerprint := args[4].(string)
		fields := []string{fingerprint, fingerprint + string(args[5].([]byte))}
		if len(args) > hiddenArg {
			fields = append(fields, fingerprint+string(args[hiddenArg].([]byte)))
		}
		return &keyspace.DamagedError{Key: name, Fields: fields}
	case strings.Contains(text, "WRONGTYPE"), strings.Contains(text, "value is not an integer"),
		strings.Contains(text, "increment or decrement would overflow"):
		return &keyspace.KeyError{Key: name, Err: err}
	}
	return err
}

// KeyOf is the key of a command. Every command of the index has one key.
func KeyOf(cmd redis.Cmder) string {
	at := 1
	if cmd.Name() == "evalsha" {
		at = 3
	}
	return fmt.Sprint(cmd.Args()[at])
}
