package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/test/host"
	"echosieve/test/ledger"
	"echosieve/test/mutant"
	"echosieve/test/torture/internal/rig"
)

// mistake is a mutant in the delivery or in the index that a round with these faults must notice.
// test/mutants has the mistakes that the unit tests of the index must notice.
type mistake struct {
	name   string
	edits  []edit
	faults string
	want   []ledger.Kind // the round must report at least one of these violations
	every  bool          // the round must report each of them
	redis  string        // kind of Redis; empty: rig.PlainRedis
	args   []string      // more arguments of the runner
}

// edit is a file of the module, a text that occurs there once, and its replacement.
type edit = mutant.Edit

const decideCall = "\t\toutputs, err := p.handler.Decide(claim, b.prepared)\n"

var mistakes = []mistake{
	// Several mistakes that show without a fault, in one service. Packages ledger and judge have them one by one.
	{name: "misreports", edits: []edit{
		{"pipeline/output.go", "	out := NewOutput(r, v.Destination)\n",
			"	if v.Kind == article.Near && r.Offset%4 == 0 {\n		wrong := *v\n		wrong.Root = " +
				"v.Original\n		v = &wrong\n	}\n	out := NewOutput(r, v.Destination)\n"},
		{"pipeline/pipeline.go", "	if reject = record.NoArticle(&a); reject != nil {\n",
			"	a.Empty = a.Empty || r.Offset%31 == 7\n	if reject = record.NoArticle(&a); reject != nil {\n"},
		{"consumer/delivery/ownership.go", "return input % int32(partitions)", "return (input + 1) % int32(partitions)"},
		{"consumer/internal/wire/reader.go", "ok && b.transactional()", "ok && !b.transactional()"},
	}, faults: "kill", want: []ledger.Kind{ledger.WrongRoot, ledger.Lost, ledger.Misplaced, ledger.Stray}, every: true},
	{name: "does-not-know-zstd", edits: []edit{
		{"consumer/internal/wire/compress.go", "	case 4:\n", "	case 5:\n"},
	}, faults: "kill", want: []ledger.Kind{ledger.Lost}},
	{name: "commit-before-publish", edits: []edit{
		{"consumer/partition.go", decideCall, "		p.setMark(b.next)\n" + decideCall},
	}, faults: "redis-stall,redis-stall,kill,kill,kill,kill", want: []ledger.Kind{ledger.Lost}},
	{name: "retry-that-skips", edits: []edit{
		{"consumer/delivery/sender.go",
			"		if err := retry.Wait(ctx); err != nil {\n			_ = w.giveUp()\n			return nil, " +
				"err\n		}\n", "		_ = retry\n		break\n"},
	}, faults: "kafka-hang-ups,kafka-hang-ups", want: []ledger.Kind{ledger.Lost, ledger.Order}},
	{name: "publishes-what-is-published", edits: []edit{
		{"consumer/delivery/ownership.go", "return o.own != nil && o.own.acknowledged.has(offset)", "return false"},
	}, faults: "kill,kill,kill,kill", want: []ledger.Kind{ledger.Twice}},
	{name: "publish-unacknowledged", edits: []edit{
		{"consumer/delivery/sender.go",
			"		if err = w.write(ctx, raw, len(part), latest); err == nil {\n			break\n		}\n",
			"		go func() { _ = w.write(context.WithoutCancel(ctx), raw, len(part), latest) }()\n		break\n"},
		{"consumer/delivery/sender.go",
			"		o.d.reporter.Failed(broker.OpPublish, subject, fmt.Errorf(\"consumer: publish to %s: %w\", w.topic, " +
				"err))\n		if err := retry.Wait(ctx); err != nil {\n			_ = " +
				"w.giveUp()\n			return nil, err\n		}\n", ""},
		{"consumer/delivery/sender.go", "	var retry stopping.Backoff\n", ""},
	}, faults: "broker-kill,kill", want: []ledger.Kind{ledger.Lost, ledger.Order}},
	{name: "failure-counts-as-done", edits: []edit{
		{"consumer/partition.go", "				check(p.finishBatch(ctx, b))\n",
			"				_ = p.finishBatch(ctx, b)\n				p.setMark(b.next)\n"},
	}, faults: "redis-stall,term,storm", want: []ledger.Kind{ledger.Lost}},
	{name: "marker-across-generations", edits: []edit{
		{"consumer/fetch.go", "	for ctx.Err() == nil {\n		next, err := f.fetchOnce(ctx, offset)\n",
			"	key := f.Topic + f.name\n	if old, ok := markers.Load(key); ok {\n		offset = max(offset, " +
				"old.(int64))\n	}\n	defer func() { markers.Store(key, offset) }()\n	for ctx.Err() == nil " +
				"{\n		next, err := f.fetchOnce(ctx, offset)\n"},
		{"consumer/generation.go", "// groupGeneration is this member's part",
			"var markers sync.Map\n\n// groupGeneration is this member's part"},
	}, faults: "redis-stall,storm,storm", want: []ledger.Kind{ledger.Lost}},
	{name: "guess-while-redis-is-away", edits: []edit{
		{"redisindex/run.go", "		if verdicts, err = c.run(ctx); err == nil {\n",
			"		if verdicts, err = c.run(ctx); err != nil && !redis.HasErrorPrefix(err, " +
				"\"NOSCRIPT\") && ctx.Err() == nil {\n			verdicts, err = nil, nil\n			for i := range " +
				"c.articles {\n				verdicts = append(verdicts, article.Verdict{Kind: article.Unique, Root: " +
				"c.articles[i].Ref()})\n			}\n		}\n		if err == nil {\n"},
	}, faults: "redis-stall", want: []ledger.Kind{ledger.Twin, ledger.Contradiction}},
	{name: "released-is-compared", edits: []edit{
		{"pipeline/pipeline.go", "	if released, ok := ReleaseOf(r); ok {\n", "	if released, ok := ReleaseOf(r); ok && false {\n"},
	}, faults: "release", want: []ledger.Kind{ledger.Misplaced}},
	{name: "stories-count-an-offset-twice", edits: []edit{
		{"stories/story.go", "case at.Offset <= s.highest[i].Offset:", "case false:"},
	}, faults: "crash,crash", want: []ledger.Kind{ledger.Story}, args: []string{"--stories"}},
	{name: "wait-for-no-replica", edits: []edit{
		{"redisindex/connection/options.go", "	if o.WaitReplicas > 0 {\n", "	if false {\n"},
	}, faults: "redis-master-behind", want: []ledger.Kind{ledger.Twin, ledger.Contradiction}, redis: rig.SentinelRedis},
}

func TestMutants(t *testing.T) {
	host.SkipShort(t)
	host.All(t)
	t.Parallel() // a round mostly waits
	binary, err := rig.Build(t.Context(), t.TempDir(), "-overlay", overlay(t))
	require.NoError(t, err)
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) { // one after another: beside several rounds a fault often shows nothing
			chosen := filepath.Join(t.TempDir(), "echosieve")
			text := fmt.Sprintf("#!/bin/sh\n%s=%s exec %s \"$@\"\n", mutant.Variable, m.name, binary)
			require.NoError(t, os.WriteFile(chosen, []byte(text), 0o700))
			require.True(t, noticed(t, m, chosen), "no round noticed the mistake")
		})
	}
}

// The edits of all mutants fit the code.
func TestMutantsFitTheCode(t *testing.T) { overlay(t) }

// overlay writes the sources with all mistakes and returns the path of an overlay for the go command.
func overlay(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	var all []mutant.Mutant
	for _, m := range mistakes {
		all = append(all, mutant.Mutant{Name: m.name, Edits: m.edits})
	}
	path, err := mutant.Overlay(root, t.TempDir(), all)
	require.NoError(t, err)
	return path
}

// noticed says whether a round reported the violations. It tries several rounds, because a fault can hit a
// process that has no records in its hands, and then shows nothing.
func noticed(t *testing.T, m mistake, binary string) bool {
	for range 10 {
		_, s := run(t.Context(), append([]string{
			"--rounds", "1", "--rate", "400", "--records", "4000", "--patience", "12s", "--binary", binary,
			"--redis", cmp.Or(m.redis, rig.PlainRedis), "--faults", m.faults,
		}, m.args...), output{t})
		found := 0
		for _, kind := range m.want {
			found += min(1, s.Violations(kind))
		}
		if found == len(m.want) || found > 0 && !m.every {
			return true
		}
	}
	return false
}
