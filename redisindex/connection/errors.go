package connection

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"echosieve/internal/diag"
	"echosieve/redisindex/keyspace"
)

// ErrReplicas says that writes reached fewer replicas than Options.WaitReplicas. The claim is run again. It
// finds its entries, which are stored already, and waits for their replicas.
var ErrReplicas = errors.New("too few replicas have the writes")

// minVersion is the oldest server that is supported.
const minVersion = "6.2"

// Kinds are the Kinds of error.
var Kinds = []string{"timeout", "connection", "readonly", "out_of_memory", "loading", "auth", "replicas", "cluster",
	"damaged", "other"}

// fault is an error of a round trip: its kind, and what it means. Of several that an error is, the first counts.
type fault struct {
	kind          string
	is            func(error) bool
	cause, remedy string // empty: the fault is one of the network
}

var faults = []fault{
	{"damaged", func(err error) bool { return errors.As(err, new(*keyspace.KeyError)) }, "", ""}, // see Explain
	{"damaged", isAny(keyspace.ErrCorrupt), "an entry in Redis is damaged and could not be set aside",
		"delete the field named here: HDEL with the key, and the field in hexadecimal"},
	{"auth", isRightMissing, "a right is missing in Redis", ""}, // see Explain
	// Redis replies this, and further ones below, with the general code ERR, so the text is compared.
	{"other", says("DB index is out of range"), "this Redis has no database of the number in redis.db",
		"lower redis.db; servers have 16 databases, 0 to 15, unless their setting databases says otherwise"},
	{"auth", func(err error) bool { return noMaster(err) && redis.IsAuthError(err) }, "the sentinels refused the login",
		"set redis.sentinel_username and redis.sentinel_password_file to what they expect"},
	{"other", func(err error) bool { return noMaster(err) && says("unknown command")(err) },
		"the servers of redis.addrs are no sentinels",
		"set redis.addrs to the sentinels (port 26379 as a rule), or remove redis.master_name"},
	{"other", func(err error) bool { return noMaster(err) && says(redis.Nil.Error())(err) },
		"the sentinels watch no master of this name", "set redis.master_name to one that SENTINEL MASTERS lists"},
	{"other", says("cluster support disabled"), "this Redis is not part of a Redis Cluster",
		"set redis.cluster: false, or redis.addrs to nodes of the cluster"},
	{"cluster", isRedirect, "this Redis is a node of a Redis Cluster",
		"set redis.cluster: true; if it is set, slots are being moved: wait"},
	{"other", says("ERR unknown command"), "this is no Redis server that the index can use",
		"set redis.addrs to a Redis " + minVersion +
			" or later that has all its commands; for a sentinel set redis.master_name as well"},
	{"auth", says("NOAUTH"), "Redis requires a login", "set redis.username and a password"},
	{"auth", func(err error) bool { return redis.IsAuthError(err) || says("ERR AUTH")(err) }, "Redis refused the login",
		"check redis.username and the password"},
	{"readonly", redis.IsReadOnlyError, "this Redis is a replica",
		"connect to the master, or through Sentinel with redis.master_name"},
	{"out_of_memory", redis.IsOOMError, "Redis is out of memory",
		"raise maxmemory, or add memory or nodes (docs/runbook.md, EchosieveRedisOutOfMemory)"},
	{"loading", redis.IsLoadingError, "Redis is loading its data", "wait until it is done"},
	{"connection", redis.IsMaxClientsError, "Redis takes no more connections", "raise maxclients"},
	{"replicas", func(err error) bool { return redis.IsNoReplicasError(err) || errors.Is(err, ErrReplicas) },
		"too few replicas have the latest writes",
		"start the missing replicas, or lower redis.wait_replicas or the server's min-replicas-to-write"},
	{"cluster", func(err error) bool {
		return redis.IsClusterDownError(err) || redis.IsTryAgainError(err) || redis.IsMasterDownError(err) ||
			errors.Is(err, redis.ErrCrossSlot)
	}, "the Redis Cluster does not serve all slots", "look for masters that are down: CLUSTER INFO, CLUSTER SHARDS"},
	{"timeout", isAny(redis.ErrPoolTimeout), "Redis did not answer in time", server.SlowHint},
	{"timeout", diag.IsTimeout, "", ""},
	{"connection", func(err error) bool { return diag.IsClosed(err) || errors.As(err, new(net.Error)) }, "", ""},
	{"connection", isAny(redis.ErrClosed, redis.ErrPoolExhausted), "", ""},
}

func isAny(of ...error) func(error) bool {
	return func(err error) bool { return slices.ContainsFunc(of, func(e error) bool { return errors.Is(err, e) }) }
}

func says(text string) func(error) bool {
	return func(err error) bool { return strings.Contains(err.Error(), text) }
}

// noMaster says whether the error is that no sentinel named a master. go-redis 9 gives it no type.
func noMaster(err error) bool { return says("all sentinels")(err) }

func isRedirect(err error) bool {
	_, moved := redis.IsMovedError(err)
	_, ask := redis.IsAskError(err)
	return moved || ask
}

func faultOf(err error) fault {
	for _, f := range faults {
		if f.is(err) {
			return f
		}
	}
	return fault{kind: "other"}
}

// Kind returns the kind of an error of a round trip: one of Kinds.
func Kind(err error) string { return faultOf(err).kind }

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
	f := faultOf(err)
	var key *keyspace.KeyError
	switch {
	case errors.As(err, &key):
		f.cause = fmt.Sprintf("Redis key %q holds a value that is not Echosieve's", key.Key)
		f.remedy = fmt.Sprintf("find out which program writes it; then give either program another database or "+
			"redis.namespace, and move the key away: RENAME %q to a name outside of %s:*", key.Key, namespace)
	case isRightMissing(err):
		f.remedy = grant(client, ACLRule(namespace)+storyRights(err))
	case f.cause == "":
		if p := server.Explain(err); p != nil {
			return p
		}
		f.cause, f.remedy = "Redis failed", "see the server's log"
	}
	return &diag.Problem{Cause: f.cause, Remedy: f.remedy, Err: err}
}

// storyRights are the rights that the role of stories needs beside ACLRule, if the error is about one of them.
func storyRights(err error) string {
	if says("'get' command")(err) || says("'getrange' command")(err) {
		return " +get +getrange"
	}
	return ""
}

// grant is the command that gives the user of a client the rights of a rule.
func grant(client redis.UniversalClient, rule string) string {
	return "ACL SETUSER " + cmp.Or(endpointOf(client).user, "default") + " " + rule
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
