package config

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDefaultIsValid(t *testing.T) {
	require.NoError(t, Default().Validate())
}

// Users rely on these names.
func TestFixedNames(t *testing.T) {
	names := map[string]bool{}
	for _, k := range Schema().Keys() {
		names[k.Name] = true
		if regexp.MustCompile(`password|secret|token`).MatchString(k.Name) {
			require.True(t, k.Secret || strings.HasSuffix(k.Name, "_file"), "%s would be printed", k.Name)
		}
	}
	for _, name := range []string{
		"kafka.brokers", "kafka.group", "kafka.topics.input", "kafka.topics.unique", "kafka.topics.duplicate",
		"kafka.topics.dead", "kafka.create_topics", "redis.addrs", "redis.namespace", "window", "http.listen", "recipe",
	} {
		require.True(t, names[name], name)
	}
}

func TestPolicy(t *testing.T) {
	cfg := Default()
	cfg.Policy.Extends = "possible"
	require.NoError(t, cfg.Validate())
	require.Equal(t, cfg.Policy, cfg.IndexConfig("recipe").Policy)
	cfg.Policy.SameID = "dead"
	require.ErrorContains(t, cfg.Validate(), `policy.same_id is "dead"`)
}

func TestNewLogger(t *testing.T) {
	var b bytes.Buffer
	log := LogConfig{Level: "warn", Format: LogJSON}.NewLogger(&b)
	log.Info("not written")
	log.Warn("written", slog.Int("n", 1))
	var line map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &line))
	require.Equal(t, "written", line["msg"])

	b.Reset()
	LogConfig{Level: "debug", Format: LogText}.NewLogger(&b).Debug("written")
	require.Contains(t, b.String(), "level=DEBUG msg=written")
}
