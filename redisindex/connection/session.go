package connection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/redis/go-redis/v9"

	"echosieve/internal/base/diag"
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

// EnsureScripts loads the scripts into the server, unless this process has loaded them; on a cluster into every master. Afterwards they are
// called by their hash. A server that does not have them (after a restart, a failover, or as a new master) replies NOSCRIPT: see Lacks.
func (s *Session) EnsureScripts(ctx context.Context) error {
	if s.loaded.Load() {
		return nil
	}
	if err := LoadScripts(ctx, s.client, s.scripts...); err != nil {
		return err
	}
	s.loaded.Store(true)
	return nil
}

// Lacks says whether the error is that a server lacks scripts. The next call of EnsureScripts loads them again then.
func (s *Session) Lacks(err error) bool {
	lacks := redis.HasErrorPrefix(err, "NOSCRIPT")
	if lacks {
		s.loaded.Store(false)
	}
	return lacks
}

// LoadScripts loads scripts into the server; on a cluster into every master.
func LoadScripts(ctx context.Context, client redis.UniversalClient, scripts ...*redis.Script) error {
	load := func(ctx context.Context, c redis.Scripter) error {
		for _, s := range scripts {
			if err := s.Load(ctx, c).Err(); err != nil {
				return fmt.Errorf("load scripts: %w", err)
			}
		}
		return nil
	}
	if cluster, ok := client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
			return load(ctx, master)
		})
	}
	return load(ctx, client)
}

// patience is how long the functions for tools try a request again before they give up. A failover is over by then.
const patience = time.Minute

// Patiently calls request until it succeeds, or has failed for the time patience. A request that needs scripts calls EnsureScripts each
// time. The error explains the cause.
func (s *Session) Patiently(ctx context.Context, what string, request func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := request()
		switch {
		case err == nil:
		case s.Lacks(err):
		case slices.Contains([]string{"auth", "damaged"}, Kind(err)):
			err = backoff.Permanent(err) // trying again would not help
		}
		return struct{}{}, err
	}, backoff.WithMaxElapsedTime(patience))
	if err == nil {
		return nil
	}
	explained := Explain(err, s.client, s.namespace)
	if p := (*diag.Problem)(nil); isRightMissing(err) && errors.As(explained, &p) {
		p.Remedy = grant(s.client, ToolRule(s.namespace))
	}
	return fmt.Errorf("redisindex: %s: %w", what, explained)
}
