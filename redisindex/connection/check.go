package connection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"echosieve/internal/diag"
	"echosieve/redisindex/keyspace"
)

const (
	// ListpackBytes is the size of a field up to which Redis shall keep a hash of entries as a listpack: a few
	// entries.
	ListpackBytes = 1024
	// listpackEntries is the number of fields up to which Redis shall keep a hash of entries as a listpack. A
	// hash holds 4 to 8 at the expected volume, so there is room for more articles than expected.
	listpackEntries = 32 * keyspace.EntriesPerHash
	// intsetEntries is the number of members up to which Redis shall keep a set of fingerprints as an intset.
	// A set may hold more than a look-up reads.
	intsetEntries = 4 * keyspace.MaxMembers
)

// Check asks every server behind client for its settings and its state. It returns the faults that prevent
// the index from working, that can make it lose articles, or that cost memory. Claims wait for so many replicas
// of each master (Options.WaitReplicas). trial claims an article below the namespace, to try the rights of the
// user (redisindex.Trial). Check changes nothing in the index.
func Check(ctx context.Context, client redis.UniversalClient, cfg keyspace.Config, waitReplicas int,
	trial func(context.Context) error) []diag.Finding {
	if err := cfg.Validate(); err != nil {
		return []diag.Finding{diag.New(diag.Failure, "redis settings", err.Error(), "correct the settings")}
	}
	if err := reach(ctx, client, client.Ping(ctx).Err()); err != nil {
		return []diag.Finding{findingOf(err, client, cfg)}
	}
	var findings []diag.Finding
	if err := trial(ctx); err != nil {
		findings = append(findings, findingOf(err, client, cfg))
	}
	return append(findings, eachServer(ctx, client, func(ctx context.Context, server *redis.Client) []diag.Finding {
		return checkServer(ctx, server, cfg, waitReplicas)
	})...)
}

// findingOf is the finding about an error of a server.
func findingOf(err error, client redis.UniversalClient, cfg keyspace.Config) diag.Finding {
	var p *diag.Problem
	errors.As(Explain(err, client, cfg.BaseNamespace()), &p) // Explain finds a Problem in every error
	return p.Finding(diag.Failure, "redis")
}

func checkServer(ctx context.Context, server *redis.Client, cfg keyspace.Config, waitReplicas int) []diag.Finding {
	addr := server.Options().Addr
	var findings []diag.Finding
	add := func(s diag.Severity, subject, problem, remedy string) {
		findings = append(findings, diag.New(s, addr+" "+subject, problem, remedy))
	}
	info, err := AskInfo(ctx, server)
	switch {
	case err != nil:
		add(diag.Info, "INFO",
			"is not answered, so the version, replicas, evictions, memory and failed saves are not watched: "+err.Error(),
			"grant +info, or watch them elsewhere; make sure that the version is at least "+minVersion+
				", and that no master has fewer replicas than redis.wait_replicas")
	case info.version == "":
		add(diag.Info, "version", "could not be found out: INFO names none", "make sure that it is at least "+
			minVersion)
	case olderThan(info.version, minVersion):
		add(diag.Failure, "version", info.version+" is too old", "use Redis "+minVersion+" or later, or Valkey")
	}
	if text := info.MemoryWarning(); text != "" {
		add(diag.Warning, "memory", text,
			"raise maxmemory, or add memory or nodes (docs/runbook.md, EchosieveRedisMemoryHigh)")
	}
	if text := info.SaveWarning(); text != "" {
		add(diag.Warning, "save", text, "see the server's log, and whether its disk is full")
	}
	if info.Evicted > 0 {
		add(diag.Warning, "evictions",
			fmt.Sprintf("it has dropped %d keys since its start: copies of articles among them pass as unique",
				info.Evicted),
			"set maxmemory-policy to noeviction and raise maxmemory; see docs/operations.md, When Redis lost articles")
	}
	switch {
	case !info.master:
	case info.replicas < waitReplicas:
		add(diag.Failure, "replicas",
			fmt.Sprintf("has %d, but claims wait for %d: no article would get a verdict", info.replicas, waitReplicas),
			"start replicas, or lower redis.wait_replicas")
	case info.replicas > 0 && waitReplicas == 0:
		add(diag.Info, "replicas",
			"claims do not wait for them: a failover can lose the latest writes, and copies of the lost articles pass as "+
				"unique", "set redis.wait_replicas to 1")
	}
	settings, err := server.ConfigGet(ctx, "*").Result()
	if err != nil {
		add(diag.Info, "settings", "could not be read: "+err.Error(),
			fmt.Sprintf("make sure of: maxmemory-policy noeviction, hash-max-listpack-value %d, "+
				"hash-max-listpack-entries %d, set-max-intset-entries %d (with redis.buckets: sets), appendonly yes",
				ListpackBytes, listpackEntries, intsetEntries))
		return findings
	}
	if settings["maxmemory"] == "0" {
		add(diag.Info, "maxmemory", "is 0: Redis grows until the system kills it",
			"CONFIG SET maxmemory to less than the machine has (docs/operations.md, Sizing)")
	}
	if policy := settings["maxmemory-policy"]; policy != "" && policy != "noeviction" {
		severity, when := diag.Warning, "under memory pressure"
		if settings["maxmemory"] == "0" {
			severity, when = diag.Info, "once maxmemory is set"
		}
		add(severity, "maxmemory-policy", policy+" drops articles "+when+", and their copies pass as unique",
			"CONFIG SET maxmemory-policy noeviction")
	}
	for _, f := range wantedSizes(cfg) {
		for _, name := range f.names {
			if n, err := strconv.Atoi(settings[name]); err == nil {
				remedy := fmt.Sprintf("CONFIG SET %s %d", name, f.least)
				switch {
				case n < f.least:
					add(diag.Warning, name, fmt.Sprintf("is %d: %s", n, f.below), remedy)
				case n > f.most:
					add(diag.Warning, name,
						fmt.Sprintf("is %d: look-ups in small hashes of block lists take several times as long", n),
						remedy)
				}
				break
			}
		}
	}
	if settings["appendonly"] == "no" {
		add(diag.Warning, "appendonly", "is no: after a crash, copies of the lost articles pass as unique",
			"CONFIG SET appendonly yes")
	}
	return findings
}

// wantedSize is a setting of a server that decides how compactly it keeps hashes or sets, and the range in
// which it shall be.
type wantedSize struct {
	names       []string // the setting's names in different versions; a server knows one of them
	least, most int
	below       string // the damage if it is below least
}

func wantedSizes(cfg keyspace.Config) []wantedSize {
	value := wantedSize{[]string{"hash-max-listpack-value", "hash-max-ziplist-value"}, ListpackBytes,
		keyspace.TableBytes - 1, "articles take about twice the memory"}
	entries := wantedSize{[]string{"hash-max-listpack-entries", "hash-max-ziplist-entries"}, listpackEntries,
		math.MaxInt, value.below}
	if cfg.Buckets != keyspace.BucketsSets {
		return []wantedSize{value, entries}
	}
	value.most = math.MaxInt
	intset := wantedSize{[]string{"set-max-intset-entries"}, intsetEntries, math.MaxInt,
		"larger sets of fingerprints take several times the memory"}
	return []wantedSize{value, entries, intset}
}

// olderThan compares dotted versions by their first two numbers.
func olderThan(version, least string) bool {
	numbers := func(of string) []int {
		n := make([]int, 2)
		_, _ = fmt.Sscanf(of, "%d.%d", &n[0], &n[1]) // what is missing counts as 0
		return n
	}
	return slices.Compare(numbers(version), numbers(least)) < 0
}
