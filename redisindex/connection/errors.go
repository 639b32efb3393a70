package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"echosieve/internal/diag"
	"echosieve/redisindex/keyspace"
)

// Kinds are the Kinds of error.
var Kinds = []string{"timeout", "connection", "readonly", "out_of_memory", "loading", "auth", "replicas", "cluster",
	"damaged", "other"}

// Kind returns the kind of an error of a round trip: one of Kinds.
func Kind(err error) string {
	var netErr net.Error
	var key *keyspace.KeyError
	switch {
	case errors.Is(err, keyspace.ErrCorrupt), errors.As(err, &key):
		return "damaged"
	case redis.IsReadOnlyError(err):
		return "readonly"
	case redis.IsOOMError(err):
		return "out_of_memory"
	case redis.IsLoadingError(err):
		return "loading"
	case redis.IsAuthError(err), isRightMissing(err):
		return "auth"
	case redis.IsNoReplicasError(err), errors.Is(err, ErrReplicas):
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

// isRightMissing says whether the user lacks the right to run a command. If the command is inside a script,
// Redis 7.0 and Valkey reply without the error code NOPERM.
func isRightMissing(err error) bool {
	return redis.IsPermissionError(err) || err != nil &&
		(strings.Contains(err.Error(), "The user executing the script can't") ||
			strings.Contains(err.Error(), "ACL failure in script"))
}

// IsRefused says whether a server refuses the command: the user lacks the right, or the server does not have
// the command.
func IsRefused(err error) bool { return isRightMissing(err) || redis.HasErrorPrefix(err, "ERR") }

// Explain returns the *diag.Problem behind an error of a client: its cause and a remedy. The namespace is the
// setting redis.namespace. A nil error stays nil.
func Explain(err error, client redis.UniversalClient, namespace string) error {
	var known *diag.Problem
	if err == nil || errors.As(err, &known) {
		return err
	}
	p := explainReply(err, namespace)
	if isRightMissing(err) {
		p = &diag.Problem{Cause: "a right is missing in Redis", Remedy: grant(client, ACLRule(namespace))}
	}
	if p == nil {
		return explainConnection(err)
	}
	p.Err = err
	return p
}

// grant is the command that gives the user of a client the rights of a rule.
func grant(client redis.UniversalClient, rule string) string {
	return "ACL SETUSER " + cmp.Or(endpointOf(client).user, "default") + " " + rule
}

// explainReply explains an error that a server replied. It returns nil for other errors. The problem has no Err yet.
func explainReply(err error, namespace string) *diag.Problem {
	var key *keyspace.KeyError
	switch {
	case errors.As(err, &key):
		return &diag.Problem{
			Cause: fmt.Sprintf("Redis key %q holds a value that is not Echosieve's", key.Key),
			Remedy: fmt.Sprintf("find out which program writes it; then give either program another database or "+
				"redis.namespace, and move the key away: RENAME %q to a name outside of %s:*", key.Key, namespace),
		}
	case errors.Is(err, keyspace.ErrCorrupt):
		return &diag.Problem{Cause: "an entry in Redis is damaged and could not be set aside",
			Remedy: "delete the field named here: HDEL with the key, and the field in hexadecimal"}
	case strings.Contains(err.Error(), "DB index is out of range"): // Redis replies it with the general code ERR
		return &diag.Problem{Cause: "this Redis has no database of the number in redis.db",
			Remedy: "lower redis.db; servers have 16 databases, 0 to 15, unless their setting databases says otherwise"}
	case noMasterNamed(err, "") && Kind(err) == "auth":
		return &diag.Problem{Cause: "the sentinels refused the login",
			Remedy: "set redis.sentinel_username and redis.sentinel_password_file to what they expect"}
	case noMasterNamed(err, "unknown command"):
		return &diag.Problem{Cause: "the servers of redis.addrs are no sentinels",
			Remedy: "set redis.addrs to the sentinels (port 26379 as a rule), or remove redis.master_name"}
	case noMasterNamed(err, redis.Nil.Error()):
		return &diag.Problem{Cause: "the sentinels watch no master of this name",
			Remedy: "set redis.master_name to one that SENTINEL MASTERS lists"}
	case strings.Contains(err.Error(), "cluster support disabled"): // Redis replies it with the general code ERR
		return &diag.Problem{Cause: "this Redis is not part of a Redis Cluster",
			Remedy: "set redis.cluster: false, or redis.addrs to nodes of the cluster"}
	case isRedirect(err):
		return &diag.Problem{Cause: "this Redis is a node of a Redis Cluster",
			Remedy: "set redis.cluster: true; if it is set, slots are being moved: wait"}
	case strings.Contains(err.Error(), "ERR unknown command"):
		return &diag.Problem{Cause: "this is no Redis server that the index can use",
			Remedy: "set redis.addrs to a Redis " + minVersion +
				" or later that has all its commands; for a sentinel set redis.master_name as well"}
	case redis.HasErrorPrefix(err, "NOAUTH"):
		return &diag.Problem{Cause: "Redis requires a login", Remedy: "set redis.username and a password"}
	case redis.IsAuthError(err):
		return &diag.Problem{Cause: "Redis refused the login", Remedy: "check redis.username and the password"}
	case redis.IsReadOnlyError(err):
		return &diag.Problem{Cause: "this Redis is a replica",
			Remedy: "connect to the master, or through Sentinel with redis.master_name"}
	case redis.IsOOMError(err):
		return &diag.Problem{Cause: "Redis is out of memory",
			Remedy: "raise maxmemory, or add memory or nodes (docs/runbook.md, EchosieveRedisOutOfMemory)"}
	case redis.IsLoadingError(err):
		return &diag.Problem{Cause: "Redis is loading its data", Remedy: "wait until it is done"}
	case redis.IsMaxClientsError(err):
		return &diag.Problem{Cause: "Redis takes no more connections",
			Remedy: "raise maxclients"}
	case Kind(err) == "replicas":
		return &diag.Problem{Cause: "too few replicas have the latest writes",
			Remedy: "start the missing replicas, or lower redis.wait_replicas or the server's min-replicas-to-write"}
	case Kind(err) == "cluster":
		return &diag.Problem{Cause: "the Redis Cluster does not serve all slots",
			Remedy: "look for masters that are down: CLUSTER INFO, CLUSTER SHARDS"}
	default:
		return nil
	}
}

// noMasterNamed says whether the error is that no sentinel named a master, for a reason that contains this
// text. go-redis 9 gives this error no type, so its text is compared.
func noMasterNamed(err error, reason string) bool {
	return strings.Contains(err.Error(), "all sentinels") && strings.Contains(err.Error(), reason)
}

// server names Redis in explanations of faults of network and TLS.
var server = diag.Server{
	Name: "Redis", Kind: "Redis", TLS: "redis.tls", Addresses: "redis.addrs",
	OtherName:  " or set redis.tls.server_name",
	PlainHint:  "set redis.tls.enabled: false or use the TLS port",
	AlsoCheck:  " and the port",
	TLSSetting: "the server's tls-protocols",
	ClosedHint: "if this lasts, redis.tls.enabled is not what the port expects, or a client certificate is missing",
	SlowHint:   "check the network and whether the server is overloaded",
}

// explainConnection explains an error that occurred before a server replied.
func explainConnection(err error) *diag.Problem {
	if p := server.Explain(err); p != nil {
		return p
	}
	switch {
	case errors.Is(err, redis.ErrPoolTimeout):
		return &diag.Problem{Cause: "Redis did not answer in time", Remedy: server.SlowHint, Err: err}
	case strings.Contains(err.Error(), "ERR AUTH"): // Redis replies it with the general code ERR if it has no password
		return &diag.Problem{Cause: "Redis refused the login", Remedy: "check redis.username and the password",
			Err: err}
	default:
		return &diag.Problem{Cause: "Redis failed", Remedy: "see the server's log", Err: err}
	}
}
