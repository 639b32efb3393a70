package redisindex

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"echosieve/internal/tlsfiles"
)

// Problem is an error from Redis with its likely cause and what to do about it.
type Problem struct {
	Cause  string // half a sentence: what is wrong
	Remedy string // half a sentence: what to do
	Err    error  // as go-redis reported it
}

// Error returns cause, remedy and the original error in one line.
func (p *Problem) Error() string {
	return fmt.Sprintf("%s: %s (%s)", p.Cause, p.Remedy, oneLine(p.Err))
}

// oneLine puts the errors of several servers, which go-redis joins line by line, into one line, each once.
func oneLine(err error) string {
	lines := strings.Split(err.Error(), "\n")
	slices.Sort(lines[1:]) // the first has the introduction
	return strings.Join(slices.Compact(lines), "; ")
}

// Unwrap returns the original error.
func (p *Problem) Unwrap() error { return p.Err }

// Explain turns an error of go-redis into a Problem. The namespace is the setting redis.namespace.
func Explain(err error, namespace string) error {
	var known *Problem
	if err == nil || errors.As(err, &known) {
		return err
	}
	p := explainReply(err, namespace)
	if p.Cause == "" {
		p = explainConnection(err)
	}
	p.Err = err
	return &p
}

// explainReply translates what a server answers.
func explainReply(err error, namespace string) Problem {
	var key *keyError
	switch {
	case errors.As(err, &key):
		return Problem{
			Cause:  fmt.Sprintf("Redis key %q holds a value that is not Echosieve's", key.key),
			Remedy: fmt.Sprintf("find out which program writes it; then give either program another database or redis.namespace, and move the key away: RENAME %q to a name outside of %s:*", key.key, namespace),
		}
	case errors.Is(err, errLost):
		return Problem{Cause: "Redis loses entries as soon as they are stored", Remedy: "CONFIG SET maxmemory-policy noeviction, raise maxmemory, and make sure that no other program deletes keys of " + namespace}
	case errors.Is(err, errCorrupt):
		return Problem{Cause: "an entry in Redis is damaged and could not be set aside", Remedy: "delete the field named here: HDEL with the key, and the field in hexadecimal"}
	case isRightMissing(err):
		return Problem{Cause: "a right is missing in Redis", Remedy: "ACL SETUSER <user> " + ACLRule(namespace)}
	case saysSentinels(err, "") && classify(err) == "auth":
		return Problem{Cause: "the sentinels refused the login", Remedy: "set redis.sentinel_username and redis.sentinel_password_file to what they expect"}
	case saysSentinels(err, "unknown command"):
		return Problem{Cause: "the servers of redis.addrs are no sentinels", Remedy: "set redis.addrs to the sentinels (port 26379 as a rule), or remove redis.master_name"}
	case saysSentinels(err, redis.Nil.Error()):
		return Problem{Cause: "the sentinels watch no master of this name", Remedy: "set redis.master_name to one that SENTINEL MASTERS lists"}
	case strings.Contains(err.Error(), "cluster support disabled"): // without a prefix of its own
		return Problem{Cause: "this Redis is not part of a Redis Cluster", Remedy: "set redis.cluster: false, or redis.addrs to nodes of the cluster"}
	case isRedirect(err):
		return Problem{Cause: "this Redis is a node of a Redis Cluster", Remedy: "set redis.cluster: true; if it is set, slots are being moved: wait"}
	case strings.Contains(err.Error(), "ERR unknown command"):
		return Problem{Cause: "this is no Redis server that the index can use", Remedy: "set redis.addrs to a Redis " + minVersion + " or later that has all its commands; for a sentinel set redis.master_name as well"}
	case redis.HasErrorPrefix(err, "NOAUTH"):
		return Problem{Cause: "Redis wants a login", Remedy: "set redis.username and a password"}
	case redis.IsAuthError(err):
		return Problem{Cause: "Redis refused the login", Remedy: "check redis.username and the password"}
	case redis.IsReadOnlyError(err):
		return Problem{Cause: "this Redis is a replica", Remedy: "connect to the master, or through Sentinel with redis.master_name"}
	case redis.IsOOMError(err):
		return Problem{Cause: "Redis is out of memory", Remedy: "raise maxmemory, or shorten the window"}
	case redis.IsLoadingError(err):
		return Problem{Cause: "Redis is loading its data", Remedy: "wait until it is done"}
	case redis.IsMaxClientsError(err):
		return Problem{Cause: "Redis takes no more connections", Remedy: "raise maxclients or lower redis.pool_size"}
	case classify(err) == "replicas":
		return Problem{Cause: "too few replicas have what was written", Remedy: "start the missing ones, or lower redis.wait_replicas or the server's min-replicas-to-write"}
	case classify(err) == "cluster":
		return Problem{Cause: "the Redis Cluster does not serve all slots", Remedy: "look for masters that are down: CLUSTER INFO, CLUSTER SHARDS"}
	default:
		return Problem{}
	}
}

// saysSentinels recognises the error of go-redis that no sentinel named a master, for the reason given: it has no type.
func saysSentinels(err error, reason string) bool {
	return strings.Contains(err.Error(), "all sentinels") && strings.Contains(err.Error(), reason)
}

// explainConnection translates what happens before a server answers anything.
func explainConnection(err error) Problem {
	var dns *net.DNSError
	switch tlsfiles.FaultOf(err) {
	case tlsfiles.OtherName:
		return Problem{Cause: "Redis' certificate is for another name", Remedy: "use that name in redis.addrs or set redis.tls.server_name"}
	case tlsfiles.Untrusted:
		return Problem{Cause: "Redis' certificate is not trusted", Remedy: "set redis.tls.ca_file to the authority that signed it"}
	case tlsfiles.Expired:
		return Problem{Cause: "Redis' certificate has expired or is not valid yet", Remedy: "renew it, or correct the clock of this machine"}
	case tlsfiles.TooOld:
		return Problem{Cause: "Redis speaks no TLS 1.2 or later", Remedy: "allow TLSv1.2 in the server's tls-protocols"}
	case tlsfiles.NotTLS:
		return Problem{Cause: "this port of Redis does not speak TLS", Remedy: "set redis.tls.enabled: false or use the TLS port"}
	case tlsfiles.Refused:
		return Problem{Cause: "Redis refused the TLS handshake", Remedy: "set redis.tls.cert_file and redis.tls.key_file to a certificate that it trusts"}
	}
	switch {
	case errors.As(err, &dns):
		return Problem{Cause: "the name of Redis' host is unknown", Remedy: "check redis.addrs"}
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return Problem{Cause: "no Redis answers at this address", Remedy: "check that it runs, redis.addrs and the port"}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return Problem{Cause: "Redis closed the connection", Remedy: "if this lasts, redis.tls.enabled is not what the port expects, or a client certificate is missing"}
	case classify(err) == "timeout":
		return Problem{Cause: "Redis did not answer in time", Remedy: "check the network and whether the server is overloaded"}
	case strings.Contains(err.Error(), "ERR AUTH"): // Redis gives this mistake no prefix of its own
		return Problem{Cause: "Redis refused the login", Remedy: "check redis.username and the password"}
	default:
		return Problem{Cause: "Redis failed", Remedy: "see the server's log"}
	}
}
