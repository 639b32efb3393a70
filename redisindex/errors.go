package redisindex

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"echosieve/internal/base/diag"
)

// errLost says that an entry disappeared during its batch: it expired, was evicted, or was lost in a failover. If the batch is run again,
// it stores the entry again.
var errLost = errors.New("an entry was lost before its verdict")

// errorKinds are the values of the metric label kind.
var errorKinds = []string{"timeout", "connection", "readonly", "out_of_memory", "loading", "auth", "replicas", "cluster", "lost", "damaged", "other"}

// classify returns the kind of an error of a round trip: one of errorKinds.
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

// isRightMissing says whether the user lacks the right to run a command. If the command is inside a script, Redis 7.0 replies without
// the error code NOPERM.
func isRightMissing(err error) bool {
	return redis.IsPermissionError(err) ||
		err != nil && strings.Contains(err.Error(), "The user executing the script can't")
}

// isRefused says whether a server refuses the command: the user lacks the right, or the server does not have the command.
func isRefused(err error) bool { return isRightMissing(err) || redis.HasErrorPrefix(err, "ERR") }

// Explain returns the *diag.Problem behind an error of a client: its cause and a remedy. The namespace is the setting redis.namespace.
// A nil error stays nil.
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
	var key *keyError
	switch {
	case errors.As(err, &key):
		return &diag.Problem{
			Cause:  fmt.Sprintf("Redis key %q holds a value that is not Echosieve's", key.key),
			Remedy: fmt.Sprintf("find out which program writes it; then give either program another database or redis.namespace, and move the key away: RENAME %q to a name outside of %s:*", key.key, namespace),
		}
	case errors.Is(err, errLost):
		return &diag.Problem{Cause: "Redis loses entries as soon as they are stored", Remedy: "CONFIG SET maxmemory-policy noeviction, raise maxmemory, and make sure that no other program deletes keys of " + namespace}
	case errors.Is(err, errTicketChanged):
		return &diag.Problem{Cause: "tickets of the originals are withdrawn again and again", Remedy: "see why the other processes decide nothing: their /readyz and logs"}
	case errors.Is(err, errCorrupt):
		return &diag.Problem{Cause: "an entry in Redis is damaged and could not be set aside", Remedy: "delete the field named here: HDEL with the key, and the field in hexadecimal"}
	case strings.Contains(err.Error(), "DB index is out of range"): // Redis replies it with the general code ERR
		return &diag.Problem{Cause: "this Redis has no database of the number in redis.db", Remedy: "lower redis.db; servers have 16 databases, 0 to 15, unless their setting databases says otherwise"}
	case saysSentinels(err, "") && classify(err) == "auth":
		return &diag.Problem{Cause: "the sentinels refused the login", Remedy: "set redis.sentinel_username and redis.sentinel_password_file to what they expect"}
	case saysSentinels(err, "unknown command"):
		return &diag.Problem{Cause: "the servers of redis.addrs are no sentinels", Remedy: "set redis.addrs to the sentinels (port 26379 as a rule), or remove redis.master_name"}
	case saysSentinels(err, redis.Nil.Error()):
		return &diag.Problem{Cause: "the sentinels watch no master of this name", Remedy: "set redis.master_name to one that SENTINEL MASTERS lists"}
	case strings.Contains(err.Error(), "cluster support disabled"): // Redis replies it with the general code ERR
		return &diag.Problem{Cause: "this Redis is not part of a Redis Cluster", Remedy: "set redis.cluster: false, or redis.addrs to nodes of the cluster"}
	case isRedirect(err):
		return &diag.Problem{Cause: "this Redis is a node of a Redis Cluster", Remedy: "set redis.cluster: true; if it is set, slots are being moved: wait"}
	case strings.Contains(err.Error(), "ERR unknown command"):
		return &diag.Problem{Cause: "this is no Redis server that the index can use", Remedy: "set redis.addrs to a Redis " + minVersion + " or later that has all its commands; for a sentinel set redis.master_name as well"}
	case redis.HasErrorPrefix(err, "NOAUTH"):
		return &diag.Problem{Cause: "Redis requires a login", Remedy: "set redis.username and a password"}
	case redis.IsAuthError(err):
		return &diag.Problem{Cause: "Redis refused the login", Remedy: "check redis.username and the password"}
	case redis.IsReadOnlyError(err):
		return &diag.Problem{Cause: "this Redis is a replica", Remedy: "connect to the master, or through Sentinel with redis.master_name"}
	case redis.IsOOMError(err):
		return &diag.Problem{Cause: "Redis is out of memory", Remedy: "raise maxmemory, or add memory or nodes (docs/runbook.md, EchosieveRedisOutOfMemory)"}
	case redis.IsLoadingError(err):
		return &diag.Problem{Cause: "Redis is loading its data", Remedy: "wait until it is done"}
	case redis.IsMaxClientsError(err):
		return &diag.Problem{Cause: "Redis takes no more connections", Remedy: "raise maxclients or lower redis.pool_size"}
	case classify(err) == "replicas":
		return &diag.Problem{Cause: "too few replicas have the latest writes", Remedy: "start the missing replicas, or lower redis.wait_replicas or the server's min-replicas-to-write"}
	case classify(err) == "cluster":
		return &diag.Problem{Cause: "the Redis Cluster does not serve all slots", Remedy: "look for masters that are down: CLUSTER INFO, CLUSTER SHARDS"}
	default:
		return nil
	}
}

// saysSentinels says whether the error is that no sentinel named a master, and holds the reason. go-redis 9 gives this error no type, so
// its text is compared.
func saysSentinels(err error, reason string) bool {
	return strings.Contains(err.Error(), "all sentinels") && strings.Contains(err.Error(), reason)
}

// server names Redis in explanations of faults of network and TLS.
var server = diag.Server{
	Name: "Redis", Possessive: "Redis'", Kind: "Redis", Settings: "redis", Addresses: "redis.addrs", AlsoCheck: " and the port",
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
		return &diag.Problem{Cause: "Redis refused the login", Remedy: "check redis.username and the password", Err: err}
	default:
		return &diag.Problem{Cause: "Redis failed", Remedy: "see the server's log", Err: err}
	}
}

// errCorrupt says that bytes are not an entry or a verdict, as when another program has written into the namespace.
var errCorrupt = errors.New("bytes in Redis are no entry")

// keyError says that the value of a key below the namespace prevents the work of the index. Usually another program wrote it. Only an
// operator can know whether that program needs it, so the index leaves it alone.
type keyError struct {
	key string
	err error
}

func (e *keyError) Error() string { return fmt.Sprintf("key %q: %v", e.key, e.err) }
func (e *keyError) Unwrap() error { return e.err }

// damagedError says that at least one of the fields holds bytes that are not entries.
type damagedError struct {
	key    string
	fields []string // at least one
}

func (e *damagedError) Error() string {
	return fmt.Sprintf("key %q, field %s: %v", e.key, hex.EncodeToString([]byte(e.fields[0])), errCorrupt)
}
func (e *damagedError) Unwrap() error { return errCorrupt }

// damaged returns the error about the stored entry of an article. The entry lies in the field of its fingerprint or, if it is an
// overflow entry, in a separate field, whose name also depends on whether the entry is hidden.
func (x *Index) damaged(e *entry) error {
	f := e.field()
	return &damagedError{key: x.keys.entries(f), fields: []string{f.name(), f.name() + string(e.Digest[:]), f.name() + string(e.hiddenDigest())}}
}

// hiddenArg is where store.lua and restore.lua take the digest of a hidden entry; the other scripts have fewer arguments.
const hiddenArg = 9

// withKey adds the key to an error whose cause is the value that the command found there.
func withKey(cmd redis.Cmder, err error) error {
	args, script := cmd.Args(), cmd.Name() == "evalsha"
	if len(args) < 2 || script && len(args) < 4 {
		return err
	}
	name := keyOf(cmd)
	switch text := err.Error(); {
	case script && strings.Contains(text, "ECHOSIEVE_DAMAGED"):
		fingerprint := args[4].(string)
		fields := []string{fingerprint, fingerprint + string(args[5].([]byte))}
		if len(args) > hiddenArg {
			fields = append(fields, fingerprint+string(args[hiddenArg].([]byte)))
		}
		return &damagedError{key: name, fields: fields}
	case strings.Contains(text, "WRONGTYPE"), strings.Contains(text, "value is not an integer"), strings.Contains(text, "increment or decrement would overflow"):
		return &keyError{key: name, err: err}
	}
	return err
}

// keyOf is the key of a command. Every command of the index has one key.
func keyOf(cmd redis.Cmder) string {
	at := 1
	if cmd.Name() == "evalsha" {
		at = 3
	}
	return fmt.Sprint(cmd.Args()[at])
}

// setAside removes the damage from the fields, so that their partition goes on. It copies the damaged value to a separate key,
// which expires like an entry, and leaves only the entries before the damage. Articles whose entries were behind the damage are
// forgotten: copies of them can pass as unique. If another process has removed the damage already, nothing happens.
func (x *Index) setAside(ctx context.Context, d *damagedError) error {
	for _, field := range d.fields {
		value, err := x.client.HGet(ctx, d.key, field).Result()
		if errors.Is(err, redis.Nil) {
			continue
		}
		if err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		intact := intactBytes(value)
		if intact == len(value) {
			continue
		}
		copied := x.keys.damaged(d.key, field)
		pipe := x.client.Pipeline()
		pipe.HSet(ctx, copied, "value", value)
		pipe.Expire(ctx, copied, x.layout.lifetime)
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		pipe = x.client.Pipeline()
		mended := mendScript.EvalSha(ctx, pipe, []string{d.key}, field, value, value[:intact])
		if _, err := pipe.Exec(ctx); err != nil {
			return fmt.Errorf("set aside: %w", err)
		}
		if n, _ := mended.Val().(int64); n == 1 {
			x.metrics.damaged.Inc()
			x.watermarks.noteDamage()
			x.log.ErrorContext(ctx, "a damaged entry was set aside: copies of the article that it held can pass as unique; did another program write into this namespace?",
				"key", d.key, "field", hex.EncodeToString([]byte(field)), "bytes", len(value)-intact, "copied_to", copied)
		}
	}
	return nil
}

// intactBytes is the length of the whole entries at the beginning of a field's value.
func intactBytes(value string) int {
	for rest := value; rest != ""; {
		e, after, err := cutEntry(fieldRef{}, 0, rest)
		if err == nil && len(e.verdictBytes) > 0 {
			_, err = decodeVerdict(e.verdictBytes, e.Ref())
		}
		if err != nil {
			return len(value) - len(rest)
		}
		rest = after
	}
	return len(value)
}
