package main

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"echosieve/internal/app/command"
	"echosieve/internal/app/config"
)

var update = flag.Bool("update", false, "rewrite generated files instead of comparing them")

const referenceFile = "../../deploy/echosieve.reference.yaml"

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
}
