package redisindex

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"echosieve/internal/base/diag"
	"echosieve/pipeline/article"
	"echosieve/simhash"
)

const (
	// minVersion is the oldest server that is supported.
	minVersion = "6.2"
	// listpackBytes is the size of a field up to which Redis shall keep a hash of entries as a listpack: a few entries.
	listpackBytes = 1024
	// listpackEntries is the number of fields up to which Redis shall keep a hash of entries as a listpack. A hash holds 4 to 8 at the
	// expected volume, so there is room for more articles than expected.
	listpackEntries = 32 * entriesPerHash
	// tableBytes is the length of the value with which add.lua makes a hash of block lists a hash table. It must be longer than
	// hash-max-listpack-value. Redis searches a listpack from the front: without the value, an article cost the server 150 us while the
	// index was young.
	tableBytes = 2048
)

// Check asks every server behind client for its settings and its state. It returns the faults that prevent the index from working,
// that can make it lose articles, or that cost memory. To try the rights of the user, it claims an article below the namespace. It
// changes nothing in the index.
func Check(ctx context.Context, client redis.UniversalClient, cfg Config) []diag.Finding {
	if err := cfg.Validate(); err != nil {
		return []diag.Finding{diag.New(diag.Failure, "redis settings", err.Error(), "correct the settings")}
	}
	if err := reach(ctx, client, client.Ping(ctx).Err()); err != nil {
		return []diag.Finding{fromError("redis", err, client, cfg)}
	}
	findings := checkRights(ctx, client, cfg)
	return append(findings, eachServer(ctx, client, func(ctx context.Context, server *redis.Client) []diag.Finding {
		return checkServer(ctx, server, cfg)
	})...)
}

// checkRights claims one article in a separate namespace, and so tries every command that the service runs.
func checkRights(ctx context.Context, client redis.UniversalClient, cfg Config) []diag.Finding {
	trial := cfg
	trial.Namespace += ":check"
	x, err := New(client, trial, nil, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return []diag.Finding{fromError("redis", err, client, cfg)}
	}
	x.layout.lifetime = time.Minute
	// The article differs each time, because an article that has its verdict does not pass all steps.
	offset := rand.Int64()
	claim := article.Article{
		Coordinates: article.Coordinates{Topic: "check", Offset: offset}, ID: "check", Time: time.Now(),
		Fingerprint: simhash.Fingerprint(offset),
	}
	binary.BigEndian.PutUint64(claim.Digest[:], uint64(offset))
	_, err = x.run(ctx, []article.Article{claim}, newCall(x, nil))
	if err == nil {
		return nil
	}
	return []diag.Finding{fromError("redis", fmt.Errorf("a trial claim failed: %w", err), client, cfg)}
}

// fromError is the Failure about an error of a server.
func fromError(subject string, err error, client redis.UniversalClient, cfg Config) diag.Finding {
	var p *diag.Problem
	if errors.As(Explain(err, client, cfg.base()), &p) {
		return p.Finding(diag.Failure, subject)
	}
	return diag.New(diag.Failure, subject, err.Error(), "see the server's log")
}

// base is the namespace without the recipe id, which is the setting redis.namespace. Rights are granted for all recipes.
func (c Config) base() string {
	if i := strings.LastIndexByte(c.Namespace, ':'); i > 0 {
		return c.Namespace[:i]
	}
	return c.Namespace
}

func checkServer(ctx context.Context, server *redis.Client, cfg Config) []diag.Finding {
	addr := server.Options().Addr
	var findings []diag.Finding
	add := func(s diag.Severity, subject, problem, remedy string) {
		findings = append(findings, diag.New(s, addr+" "+subject, problem, remedy))
	}
	info, err := askInfo(ctx, server)
	switch {
	case err != nil:
		add(diag.Note, "INFO", "is not answered, so the version, evictions, memory and failed saves are not watched: "+err.Error(),
			"grant +info, or watch them elsewhere; make sure that the version is at least "+minVersion)
	case info.version == "":
		add(diag.Note, "version", "could not be found out: INFO names none", "make sure that it is at least "+minVersion)
	case olderThan(info.version, minVersion):
		add(diag.Failure, "version", info.version+" is too old", "use Redis "+minVersion+" or later, or Valkey")
	}
	if text := info.memoryWarning(); text != "" {
		add(diag.Warning, "memory", text, "raise maxmemory, or add memory or nodes (docs/runbook.md, EchosieveRedisMemoryHigh)")
	}
	if text := info.saveWarning(); text != "" {
		add(diag.Warning, "save", text, "see the server's log, and whether its disk is full")
	}
	if info.evicted > 0 {
		add(diag.Warning, "evictions", fmt.Sprintf("it has dropped %d keys since its start: copies of articles among them pass as unique", info.evicted),
			"set maxmemory-policy to noeviction and raise maxmemory; see docs/operations.md, When Redis lost articles")
	}
	settings, err := server.ConfigGet(ctx, "*").Result()
	if err != nil {
		add(diag.Note, "settings", "could not be read: "+err.Error(),
			fmt.Sprintf("make sure of: maxmemory-policy noeviction, hash-max-listpack-value %d, hash-max-listpack-entries %d, set-max-intset-entries %d (with redis.buckets: sets), appendonly yes", listpackBytes, listpackEntries, maxSetRead))
		return findings
	}
	if policy := settings["maxmemory-policy"]; policy != "" && policy != "noeviction" {
		severity, when := diag.Warning, "under memory pressure"
		if settings["maxmemory"] == "0" {
			severity, when = diag.Note, "once maxmemory is set"
		}
		add(severity, "maxmemory-policy", policy+" drops articles "+when+", and their copies pass as unique", "CONFIG SET maxmemory-policy noeviction")
	}
	for _, f := range wantedSizes(cfg) {
		for _, name := range f.names {
			if n, err := strconv.Atoi(settings[name]); err == nil {
				remedy := fmt.Sprintf("CONFIG SET %s %d", name, f.least)
				switch {
				case n < f.least:
					add(diag.Warning, name, fmt.Sprintf("is %d: %s", n, f.below), remedy)
				case n > f.most:
					add(diag.Warning, name, fmt.Sprintf("is %d: look-ups in small hashes of block lists take several times as long", n), remedy)
				}
				break
			}
		}
	}
	if settings["appendonly"] == "no" {
		add(diag.Warning, "appendonly", "is no: after a crash, copies of the lost articles pass as unique", "CONFIG SET appendonly yes")
	}
	return findings
}

// wantedSize is a setting of a server that decides how compactly it keeps hashes or sets, and the range in which it shall be.
type wantedSize struct {
	names       []string // the setting's names in different versions; a server knows one of them
	least, most int
	below       string // the damage if it is below least
}

func wantedSizes(cfg Config) []wantedSize {
	value := wantedSize{[]string{"hash-max-listpack-value", "hash-max-ziplist-value"}, listpackBytes, tableBytes - 1, "articles take about twice the memory"}
	entries := wantedSize{[]string{"hash-max-listpack-entries", "hash-max-ziplist-entries"}, listpackEntries, math.MaxInt, value.below}
	if cfg.Buckets != bucketsSets {
		return []wantedSize{value, entries}
	}
	value.most = math.MaxInt
	intset := wantedSize{[]string{"set-max-intset-entries"}, maxSetRead, math.MaxInt, "larger sets of fingerprints take several times the memory"}
	return []wantedSize{value, entries, intset}
}

// olderThan compares dotted versions by their first two numbers.
func olderThan(version, least string) bool {
	number := func(v string, i int) int {
		parts := strings.Split(v, ".")
		if i >= len(parts) {
			return 0
		}
		n, _ := strconv.Atoi(parts[i])
		return n
	}
	for i := range 2 {
		if a, b := number(version, i), number(least, i); a != b {
			return a < b
		}
	}
	return false
}

// CheckReplicas returns a finding for each master that has fewer replicas than Options.WaitReplicas, and for each master with
// replicas if WaitReplicas is 0: a failover to such a replica can lose articles.
func CheckReplicas(ctx context.Context, client redis.UniversalClient, o Options) []diag.Finding {
	return eachServer(ctx, client, func(ctx context.Context, server *redis.Client) []diag.Finding {
		subject := server.Options().Addr + " replicas"
		info, err := server.Info(ctx, "replication").Result()
		if err != nil {
			if o.WaitReplicas == 0 {
				return nil
			}
			return []diag.Finding{diag.New(diag.Note, subject, "could not be found out: "+err.Error(),
				fmt.Sprintf("make sure that there are at least redis.wait_replicas (%d)", o.WaitReplicas))}
		}
		role, replicas := replicationOf(info)
		switch {
		case role != "master":
			return nil
		case replicas < o.WaitReplicas:
			return []diag.Finding{diag.New(diag.Failure, subject, fmt.Sprintf("has %d, but claims wait for %d: no article would get a verdict", replicas, o.WaitReplicas),
				"start replicas, or lower redis.wait_replicas")}
		case replicas > 0 && o.WaitReplicas == 0:
			return []diag.Finding{diag.New(diag.Note, subject, "claims do not wait for them: a failover can lose the latest writes, and copies of the lost articles pass as unique",
				"set redis.wait_replicas to 1")}
		}
		return nil
	})
}

// replicationOf reads role and number of replicas from a reply to INFO replication.
func replicationOf(info string) (role string, replicas int) {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "role":
			role = value
		case "connected_slaves":
			replicas, _ = strconv.Atoi(value)
		}
	}
	return role, replicas
}

// The modes that a server names in its reply to HELLO.
const (
	modeServer   = "standalone"
	modeCluster  = "cluster"
	modeSentinel = "sentinel"
)

// misfits holds problem and remedy for servers that are not of the mode that the settings say: by that mode, and by the mode of the
// server. In a remedy, %s stands for the masters that a sentinel watches.
var misfits = map[string]map[string][2]string{
	modeServer: {
		modeCluster:  {"is a node of a Redis Cluster, but redis.cluster is not set", "set redis.cluster: true"},
		modeSentinel: {"is a sentinel, not a server", "set redis.master_name to the master that it watches: %s"},
	},
	modeCluster: {
		modeServer:   {"is not part of a Redis Cluster, but redis.cluster is set", "set redis.cluster: false, or redis.addrs to nodes of the cluster"},
		modeSentinel: {"is a sentinel, but redis.cluster is set", "set redis.cluster: false and redis.master_name to the master that it watches: %s"},
	},
	modeSentinel: {
		modeServer:  {"is a server, not a sentinel, but redis.master_name is set", "set redis.addrs to the sentinels (port 26379 as a rule), or remove redis.master_name"},
		modeCluster: {"is a node of a Redis Cluster, not a sentinel, but redis.master_name is set", "remove redis.master_name and set redis.cluster: true"},
	},
}

// CheckMode asks each address whether it is a server, a node of a cluster or a sentinel, and returns the settings that do not fit.
// Call it only after Check has found a Failure, because a proxy may call itself a server although it serves a cluster. An address
// that does not answer is left out.
func CheckMode(ctx context.Context, o Options) []diag.Finding {
	tlsConfig, err := o.TLS.Load()
	if err != nil {
		return nil
	}
	want := modeServer
	switch {
	case o.Cluster:
		want = modeCluster
	case o.MasterName != "":
		want = modeSentinel
	}
	var findings []diag.Finding
	for _, addr := range o.Addrs {
		mode, masters := askMode(ctx, addr, o, tlsConfig)
		if mode == modeSentinel && want == modeSentinel && !slices.Contains(masters, o.MasterName) {
			findings = append(findings, diag.New(diag.Failure, addr, fmt.Sprintf("this sentinel watches no master named %q", o.MasterName),
				"set redis.master_name to one that it watches: "+list(masters)))
		}
		if misfit, wrong := misfits[want][mode]; wrong {
			findings = append(findings, diag.New(diag.Failure, addr, misfit[0], strings.ReplaceAll(misfit[1], "%s", list(masters))))
		}
	}
	return findings
}

// askMode returns the mode that a server names, or "", and the masters that it watches if it is a sentinel. It tries each login of the
// settings and no login, because the right one depends on the mode. HELLO needs no right.
func askMode(ctx context.Context, addr string, o Options, tlsConfig *tls.Config) (mode string, masters []string) {
	for _, login := range [][2]string{{o.Username, o.Password}, {o.SentinelUsername, o.SentinelPassword}, {}} {
		server := redis.NewClient(&redis.Options{
			Addr: addr, Username: login[0], Password: login[1], TLSConfig: tlsConfig, Protocol: 2, MaxRetries: -1, DialerRetries: 1,
			DialTimeout: o.Timeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, ContextTimeoutEnabled: true, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		})
		fields, err := server.Do(ctx, "HELLO").Slice()
		mode = valueOf(fields, "mode")
		if mode == modeSentinel {
			watched, _ := server.Do(ctx, "SENTINEL", "MASTERS").Slice() // empty if the sentinel refuses
			for _, w := range watched {
				if fields, ok := w.([]any); ok {
					masters = append(masters, valueOf(fields, "name"))
				}
			}
		}
		_ = server.Close()
		if err == nil {
			break
		}
	}
	return mode, masters
}

// valueOf returns the value of a name in a reply that lists names and values in turn; "" if the name is missing.
func valueOf(fields []any, name string) string {
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == name {
			value, _ := fields[i+1].(string)
			return value
		}
	}
	return ""
}

func list(masters []string) string { return cmp.Or(strings.Join(masters, ", "), "it names none") }

// Right is one command that the Redis user of the service must be allowed to run.
type Right struct {
	Command string // as ACL SETUSER takes it behind the "+"
	For     string // what the service uses it for
	// When names the setting with which the right is needed, and the setting's value where that matters; empty: always.
	When string
	// Optional says that the service works without the right. Then Check or the monitor cannot see something.
	Optional bool
}

// Rights lists every command that the index sends, and every command inside its scripts. The ACL rule that Check recommends and the
// table in docs/security.md are made from this list. A test runs the index with exactly these rights, and without each one
// of them. HELLO and AUTH need no right.
func Rights() []Right {
	return []Right{
		{Command: "ping", For: "health probe"},
		{Command: "client|setname", For: "name of the connection in CLIENT LIST"},
		{Command: "script|load", For: "making the scripts known"},
		{Command: "evalsha", For: "running the scripts"},
		{Command: "hget", For: "reading entries, which spans exist, and whether Redis lost data"},
		{Command: "hset", For: "writing entries and block lists, noting which spans exist, and the numbers that show a loss"},
		{Command: "hsetnx", For: "writing entries with new fingerprints"},
		{Command: "hmget", For: "reading block lists", When: whenPacked},
		{Command: "sadd", For: "writing block lists", When: whenSets},
		{Command: "srandmember", For: "reading block lists", When: whenSets},
		{Command: "expire", For: "letting every key expire"},
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

const (
	whenPacked = "redis.buckets: " + bucketsPacked
	whenSets   = "redis.buckets: " + bucketsSets
)

// ACLRule returns the rule of an ACL user for a namespace: the arguments of ACL SETUSER after the user's name, without the
// password. It grants all Rights, including optional rights and rights that depend on settings.
func ACLRule(namespace string) string {
	var b strings.Builder
	b.WriteString("~" + namespace + ":*")
	for _, r := range Rights() {
		b.WriteString(" +" + r.Command)
	}
	return b.String()
}

// toolRights are the rights that the commands "echosieve index" need beside the service's. The service does not need them: SCAN shows the
// names of other programs' keys, too.
var toolRights = []string{"scan", "dbsize", "hgetall", "memory|usage"}

// ToolRule is ACLRule for the commands that read the whole index.
func ToolRule(namespace string) string {
	rule := ACLRule(namespace)
	for _, r := range toolRights {
		rule += " +" + r
	}
	return rule
}
