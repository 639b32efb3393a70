package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/app/command"
	"echosieve/test/commandtest"
)

const evalDocs = "internal/eval/testdata/stream.jsonl"

func TestCommandsAreDocumented(t *testing.T) { commandtest.Documented(t, newRootCommand(), "demo") }

// TestWrongUsage requires that wrong usage of the lab's own commands is answered as commandtest.WrongUsage
// says. The test of this name in cmd/echosieve has the mistakes that all commands share.
func TestWrongUsage(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string { return commandtest.FileIn(t, dir, name, text) }
	noText := file("notext.jsonl", `{"id":"1","headline":"x"}`+"\n")
	empty := file("empty.jsonl", "")

	for args, want := range map[string]string{ // part of the error; it says what to type
		"bench --rounds 0":                 "--rounds and --limit must be at least 1",
		"load --rate 0":                    "--rate must be above 0 and at most 1000000 records a second",
		"load --duration 0s":               "--duration must be between 1s and 24h",
		"load --rate 1 --duration 2s":      "less than 10 records: raise one",
		"load --rate 100000 --duration 1h": "more than 20 million records: lower one",
		"load --rate 1000 --duration 10m":  "which in-process servers keep in memory",
		"load --warmup 2h":                 "--warmup must be between 0s and 1h",
		"load --copies 30":                 "--copies is 30, must be between 0 and 1",
		"load --input.format text": "a service with input.format text does not read; name a service and a topic with " +
			"input.format json",
		"load " + noText: "load takes no arguments",
		"eval pairs --docs " + evalDocs + " --pairs " + empty: "expected are pairs, tab-separated lines: id_a id_b label " +
			"kind",
		"bench " + noText:                         "--input.fields.text NAME",
		"load --real --kafka.brokers 127.0.0.1:1": "check that it runs, kafka.brokers",
	} {
		t.Run(strings.ReplaceAll(args, dir, ""), func(t *testing.T) {
			commandtest.WrongUsage(t, newRootCommand(), want, strings.Fields(args)...)
		})
	}
}

// A benchmark on a Redis that is not there ends: it does not wait for one, as the service does.
func TestBenchWithoutRedis(t *testing.T) {
	out, errOut := commandtest.Run(t, command.ExitFailed, newRootCommand(), "", "bench", "scale", "--redis.addrs",
		"127.0.0.1:1", evalDocs)
	require.Empty(t, out)
	require.Contains(t, errOut, "redis at 127.0.0.1:1 does not answer: no Redis answers at this address")
}
