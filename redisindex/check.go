package redisindex

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"echosieve/internal/diag"
	"echosieve/pipeline/article"
	"echosieve/simhash"
)

const (
	// minVersion is the oldest server that is supported.
	minVersion = "6.2"
	// listpackBytes is what a field of entries may hold for its hash to stay a listpack: a handful of entries.
	listpackBytes = 1024
	// listpackEntries is the number of fields that a hash of entries may have to stay one. It leaves room for more articles than expected.
	listpackEntries = 32 * perHash
	// tableBytes is the length of the value by which place.lua makes a hash of block lists a hash table.
	tableBytes = 2048
)

// Check looks at every server behind client and says what keeps the index from working, or makes it lose articles
// or memory. It writes below the namespace only to try its rights, and removes nothing of the index.
func Check(ctx context.Context, client redis.UniversalClient, cfg Config) []diag.Finding {
	if err := cfg.Validate(); err != nil {
		return []diag.Finding{diag.New(diag.Failure, "redis settings", err.Error(), "correct the settings")}
	}
	if err := client.Ping(ctx).Err(); err != nil {
		return []diag.Finding{fromError("redis", err, cfg)}
	}
	findings := checkRights(ctx, client, cfg)
	return append(findings, eachServer(ctx, client, func(ctx context.Context, server *redis.Client) []diag.Finding {
		return checkServer(ctx, server, cfg)
	})...)
}

// checkRights runs the real thing once, in a namespace of its own, so that whatever the service will run is tried.
func checkRights(ctx context.Context, client redis.UniversalClient, cfg Config) []diag.Finding {
	trial := cfg
	trial.Namespace += ":check"
	x, err := New(client, trial, nil, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return []diag.Finding{fromError("redis", err, cfg)}
	}
	x.layout.lifetime = time.Minute
	// Another article each time: one that has its verdict already would not go through all steps.
	offset := rand.Int64()
	claim := article.Article{
		Coordinates: article.Coordinates{Topic: "check", Offset: offset}, ID: "check", Time: time.Now(),
		Fingerprint: simhash.Fingerprint(offset),
	}
	binary.BigEndian.PutUint64(claim.Digest[:], uint64(offset))
	_, err = x.run(ctx, []article.Article{claim}, waits{})
	if err == nil {
		return nil
	}
	return []diag.Finding{fromError("redis", fmt.Errorf("a trial claim failed: %w", err), cfg)}
}

// fromError makes a Failure of what a server answered or failed to answer.
func fromError(subject string, err error, cfg Config) diag.Finding {
	var p *diag.Problem
	if errors.As(Explain(err, cfg.base()), &p) {
		return p.Finding(diag.Failure, subject)
	}
	return diag.New(diag.Failure, subject, err.Error(), "see the server's log")
}

// base is the namespace without the recipe id: rights are given for all recipes.
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
		add(diag.Warning, "memory", text, "raise maxmemory, or shorten the window")
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
		add(diag.Warning, "appendonly", "is no: after a crash, copies of what was lost pass as unique", "CONFIG SET appendonly yes")
	}
	return findings
}

// wantedSize is a setting of a server that decides how compactly it keeps something.
type wantedSize struct {
	names       []string // of which the server knows one
	least, most int
	below       string // what is the case below least
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
