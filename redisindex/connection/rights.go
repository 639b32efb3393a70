package connection

import "echosieve/redisindex/keyspace"

// Right is one command that the Redis user of the service must be allowed to run.
type Right struct {
	Command string // as ACL SETUSER takes it behind the "+"
	For     string // what the service uses it for
	// When names the setting with which the right is needed, and the setting's value where that matters; empty: always.
	When string
	// Optional says that the service works without the right. Then Check or the monitor cannot see something.
	Optional bool
}

// Rights lists every command that the index sends, and every command inside its scripts. The ACL rule that
// Check recommends and the table in docs/security.md are made from this list. A test runs the index with
// exactly these rights, and without each one of them. HELLO and AUTH need no right.
func Rights() []Right {
	return []Right{
		{Command: "ping", For: "health probe"},
		{Command: "client|setname", For: "name of the connection in CLIENT LIST"},
		{Command: "script|load", For: "making the scripts known"},
		{Command: "evalsha", For: "running the scripts"},
		{Command: "hget", For: "reading entries, which slices exist, and whether Redis lost data"},
		{Command: "hset", For: "writing entries and block lists, noting which slices exist, and the numbers that " +
			"show a loss"},
		{Command: "hsetnx", For: "writing entries with new fingerprints"},
		{Command: "hmget", For: "reading block lists", When: WhenPacked},
		{Command: "sadd", For: "writing block lists", When: WhenSets},
		{Command: "srandmember", For: "reading block lists", When: WhenSets},
		{Command: "expire", For: "letting every key expire"},
		{Command: "ttl", For: "prolonging the life of a key only when it is due"},
		{Command: "incrby", For: "drawing tickets, and reading their counter"},
		{Command: "set", For: "a write after every step, which replicas must acknowledge", When: "redis.wait_replicas"},
		{Command: "wait", For: "waiting for replicas", When: "redis.wait_replicas"},
		{Command: "select", For: "another database than 0", When: "redis.db"},
		{Command: "cluster|slots", For: "finding the nodes", When: "redis.cluster"},
		{Command: "command", For: "finding the keys in commands", When: "redis.cluster", Optional: true},
		{Command: "info", For: "watching evictions, memory and failed saves; echosieve check: version", Optional: true},
		{Command: "config|get", For: "echosieve check: settings that cost memory or articles", Optional: true},
	}
}

// The values of redis.buckets with which some rights are needed.
const (
	WhenPacked = "redis.buckets: " + keyspace.BucketsPacked
	WhenSets   = "redis.buckets: " + keyspace.BucketsSets
)

// ACLRule returns the rule of an ACL user for a namespace: the arguments of ACL SETUSER after the user's
// name, without the password. It grants all Rights, including optional rights and rights that depend on
// settings.
func ACLRule(namespace string) string {
	rule := "~" + namespace + ":*"
	for _, r := range Rights() {
		rule += " +" + r.Command
	}
	return rule
}

// ToolRule is ACLRule for the commands that read the whole index. The service does not need these rights: SCAN shows
// the names of other programs' keys, too.
func ToolRule(namespace string) string {
	return ACLRule(namespace) + " +scan +dbsize +hgetall +memory|usage"
}
