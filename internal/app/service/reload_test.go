package service

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"echosieve/internal/app/config"
	"echosieve/pipeline/article"
)

// All changes are applied or none. A refusal names each setting that needs a restart, and prints no secret.
func TestReload(t *testing.T) {
	start := config.Default()
	start.Kafka.SASL.Password = "hunter2"
	var log bytes.Buffer
	logger, level := start.Log.NewAdjustableLogger(&log)
	r := newReloader(start, prometheus.NewRegistry(), logger)
	next, loadErr := start, error(nil)
	r.load, r.level = func() (config.Config, error) { return next, loadErr }, level
	var policy article.Policy
	r.setPolicy = func(p article.Policy) { policy = p }

	require.Equal(t, reloadUnchanged, r.reload())

	next.Log.Level = "debug"
	require.Equal(t, reloadApplied, r.reload())
	require.Equal(t, slog.LevelDebug, level.Level())
	require.Contains(t, log.String(), "changed=[log.level]")
	require.Equal(t, reloadUnchanged, r.reload(), "the new configuration is in force")

	next.Policy.Extends = "possible"
	require.Equal(t, reloadApplied, r.reload())
	require.Equal(t, "possible", policy.Extends)
	require.Contains(t, log.String(), "changed=[policy.extends]")

	next.Policy.Extends = "duplicate"
	next.Log.Level, next.Kafka.SASL.Password, next.Kafka.Topics.Possible, next.Redis.Addrs = "warn", "hunter3",
		"articles-possible", []string{"a:1"}
	require.Equal(t, reloadRefused, r.reload())
	require.Equal(t, slog.LevelDebug, level.Level(), "half of a change was applied")
	require.Equal(t, "possible", policy.Extends, "half of a change was applied")
	require.Contains(t, log.String(), `restart to apply`)
	require.Contains(t, log.String(), `restart_to_apply="[kafka.topics.possible kafka.sasl.password redis.addrs]"`)
	require.NotContains(t, log.String(), "hunter")

	loadErr = errors.New("configuration: window is 0s")
	require.Equal(t, reloadInvalid, r.reload())
	require.Contains(t, log.String(), "window is 0s")

	next, loadErr = start, nil
	next.Log.Level, next.Shadow.Values = "debug", true
	require.Equal(t, reloadApplied, r.reload(), "a service does not use the settings of its shadow")
	r.running = r.running.AsShadow()
	next = next.AsShadow()
	require.Equal(t, reloadUnchanged, r.reload())
	next.Shadow.Values = false
	require.Equal(t, reloadRefused, r.reload())

	r.running, next = start, start
	next.Log.Level = "info"
	level.Set(slog.LevelDebug)
	r.running.Log.Level = "debug"
	require.Equal(t, reloadApplied, r.reload(), "back to the first configuration")
	require.Equal(t, slog.LevelInfo, level.Level())
}
