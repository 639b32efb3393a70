package redisindex

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// errLost says that an entry vanished while its batch was under way: expired, evicted, or lost in a failover.
// Running the batch again stores it anew.
var errLost = errors.New("an entry was lost before its verdict")

// errorKinds are the values of the label kind, in the order in which classify tests for them.
var errorKinds = []string{"timeout", "connection", "readonly", "out_of_memory", "loading", "auth", "replicas", "cluster", "lost", "damaged", "other"}

// classify sorts an error of a round trip into one of errorKinds.
func classify(err error) string {
	var netErr net.Error
	var key *keyError
	switch {
	case errors.Is(err, errLost):
		return "lost"
	case errors.Is(err, errCorrupt), errors.As(err, &key):
		return "damaged"
	case redis.IsReadOnlyError(err):
		return "readonly"
	case redis.IsOOMError(err):
		return "out_of_memory"
	case redis.IsLoadingError(err):
		return "loading"
	case redis.IsAuthError(err), isRightMissing(err):
		return "auth"
	case redis.IsNoReplicasError(err), errors.Is(err, errReplicas):
		return "replicas"
	case redis.IsClusterDownError(err), redis.IsTryAgainError(err), redis.IsMasterDownError(err),
		errors.Is(err, redis.ErrCrossSlot), isRedirect(err):
		return "cluster"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, redis.ErrPoolTimeout),
		errors.As(err, &netErr) && netErr.Timeout():
		return "timeout"
	case errors.As(err, &netErr), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET), redis.IsMaxClientsError(err),
		errors.Is(err, redis.ErrClosed), errors.Is(err, redis.ErrPoolExhausted):
		return "connection"
	default:
		return "other"
	}
}

func isRedirect(err error) bool {
	_, moved := redis.IsMovedError(err)
	_, ask := redis.IsAskError(err)
	return moved || ask
}

// isRightMissing also knows the answers for a command inside a script, which Redis 7.0 gives without a code.
func isRightMissing(err error) bool {
	return redis.IsPermissionError(err) ||
		err != nil && strings.Contains(err.Error(), "The user executing the script can't")
}
