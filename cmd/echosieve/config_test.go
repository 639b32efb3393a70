package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"go.yaml.in/yaml/v3"

	"echosieve/internal/app/command"
	"echosieve/internal/app/command/commandtest"
	"echosieve/internal/app/config"
	"echosieve/pipeline/page"
	"echosieve/pipeline/segment/cppjieba"
	"echosieve/pipeline/text"
)

var update = flag.Bool("update", false, "rewrite generated files instead of comparing them")

const (
	referenceFile = "../../deploy/echosieve.reference.yaml"
	docsFile      = "../../docs/configuration.md"
)

// golden compares a file with the wanted content, or writes the content with -update.
func golden(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, want, 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "run: go test ./cmd/echosieve -run %s -update", t.Name())
}

func TestReferenceFile(t *testing.T) {
	golden(t, referenceFile, config.Reference())

	// The reference is a configuration, and means the defaults.
	code, fromFile, errOut := echosieve(t, "", "config", "print", "--config", referenceFile)
	require.Equal(t, command.ExitOK, code, errOut)
	code, defaults, errOut := echosieve(t, "", "config", "print")
	require.Equal(t, command.ExitOK, code, errOut)
	require.Equal(t, defaults, fromFile)
	code, out, _ := echosieve(t, "", "config", "reference")
	require.Equal(t, command.ExitOK, code)
	require.Equal(t, string(config.Reference()), out)
}

// Each setting under detection makes a new recipe id, and with it an empty index, exactly if the help and
// docs/configuration.md say so.
func TestSettingsThatStartAnEmptyIndex(t *testing.T) {
	words := commandtest.File(t, "words", "echosieve\n")
	id := func(args ...string) string {
		code, out, errOut := echosieve(t, "", append([]string{"compare", "--json", "one text", "another text"},
			args...)...)
		require.Equal(t, command.ExitOK, code, errOut)
		var c struct{ Recipe string }
		require.NoError(t, json.Unmarshal([]byte(out), &c))
		return c.Recipe
	}
	same := []string{}
	usual := id()
	for _, k := range config.Schema().Keys() {
		name, ok := strings.CutPrefix(k.Name, "detection.")
		if !ok {
			continue
		}
		value := map[string]string{"int": "7", "float": "0.43", "string": words}[k.Type()]
		if name == "segmenter" {
			value = text.SegmenterGojieba
			if _, err := text.LoadBareCut(); errors.Is(err, cppjieba.ErrMissing) {
				value = text.SegmenterNative
			}
		}
		switch name {
		case "html":
			value = page.HTMLText
		case "boilerplate_file":
			value = commandtest.File(t, "table.tsv",
				"format\t1\nwritten\t2026-05-04T12:00:00Z\n2026-05-04T13:00:00Z\t*\t9\tone\n")
		}
		if id("--"+k.Name, value) == usual {
			same = append(same, name)
		}
	}
	require.Equal(t, []string{"probes", "anchors", "segmenter", "boilerplate_file"}, same)
	require.Contains(t, config.Schema().Section("detection").Help,
		"except of probes, anchors, segmenter and boilerplate_file")
	text, err := os.ReadFile(docsFile)
	require.NoError(t, err)
	require.Contains(t, string(text),
		"everything under `detection` except `probes`, `anchors`, `segmenter` and `boilerplate_file`")
}

// Every other configuration that is shipped loads as well.
func TestShippedConfigurations(t *testing.T) {
	files, err := filepath.Glob("../../deploy/echosieve*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		code, _, errOut := echosieve(t, "", "config", "print", "--config", file)
		require.Equal(t, command.ExitOK, code, "%s: %s", file, errOut)
	}
}

// One broken value per case; the message names its key.
func TestConfigMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"--http.listen=9464":                 "http.listen must be an address",
		"--http.hosts=http://a.b:9464":       `http.hosts has "http://a.b:9464", must be a name without scheme and port`,
		"--log.level=loud":                   "log.level must be debug",
		"--recipe=olds":                      `recipe is "olds", must be one of news, `,
		"--config=/does/not/exist.yaml":      "no such file",
		"--kafka.sasl.username=x":            "kafka.sasl has settings",
		"--kafka.brokers=a:1,u:hunter2@b:1":  "kafka.brokers must be host:port, without scheme, user or password",
		"--redis.addrs=redis://:hunter2@r:1": "redis.addrs must be host:port, without scheme, user or password",
		"--redis.password=hunter2": "--redis.password is no flag, because every user of a machine can " +
			"read command lines; put the secret into a file and type --redis.password_file FILE",
		"--kafka.sasl.password_file=/nowhere/": "kafka.sasl.password_file",
	} {
		code, out, errOut := echosieve(t, "", "config", "print", args)
		require.Equal(t, command.ExitFailed, code, args)
		require.Contains(t, errOut, want)
		require.NotContains(t, errOut, "hunter2")
		require.Empty(t, out)
	}
	_, _, errOut := echosieve(t, "", "config", "print", "--log.level=loud", "--redis.addrs=", "--redis.pool_size=0")
	require.Contains(t, errOut, "log.level")
	require.Contains(t, errOut, "redis.addrs is empty")
	require.Contains(t, errOut, "redis.pool_size is 0, must be between 1 and 10000")
}

func TestConfigSources(t *testing.T) {
	file := commandtest.File(t, "e.yaml", "redis:\n  addrs: [r:1]\n")
	t.Setenv("ECHOSIEVE_CONFIG", file)
	t.Setenv("ECHOSIEVE_KAFKA_BROKERS", "a:1, b:2")
	t.Setenv("ECHOSIEVE_REDIS_PASSWORD", "hunter2")
	t.Setenv("ECHOSIEVE_TEST_ANYTHING", "1")
	code, out, errOut := echosieve(t, "", "config", "print", "--sources", "--window", "24h")
	require.Equal(t, command.ExitOK, code, errOut)
	for _, line := range []string{
		"  brokers: [a:1, b:2] # ECHOSIEVE_KAFKA_BROKERS\n",
		"  addrs: [r:1] # " + file + ":2\n",
		"  password: (set) # ECHOSIEVE_REDIS_PASSWORD\n",
		"\nwindow: 24h # --window\n",
		"\nrecipe: news # default\n",
	} {
		require.Contains(t, out, line)
	}
	require.NotContains(t, out, "hunter2")

	code, out, errOut = echosieve(t, "", "config", "print", "--json", "--sources")
	require.Equal(t, command.ExitOK, code, errOut)
	require.Equal(t, "(set)", gjson.Get(out, "config.redis.password").Str)
	require.Equal(t, "default", gjson.Get(out, "sources.window").Str)

	// The output of config print can be loaded again, except for the secrets.
	_, out, _ = echosieve(t, "", "config", "print")
	require.NoError(t, yaml.Unmarshal([]byte(out), new(map[string]any)))

	t.Setenv("ECHOSIEVE_KAFKA_BROKER", "x")
	code, _, errOut = echosieve(t, "", "config", "print")
	require.Equal(t, command.ExitFailed, code)
	require.Contains(t, errOut, "unknown variable ECHOSIEVE_KAFKA_BROKER; did you mean ECHOSIEVE_KAFKA_BROKERS?")
}
