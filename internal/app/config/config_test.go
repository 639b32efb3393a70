package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

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

func TestAsShadow(t *testing.T) {
	c := Default()
	require.False(t, c.IsShadow())
	s := c.AsShadow()
	require.True(t, s.IsShadow())
	require.Equal(t, "echosieve-shadow", s.Kafka.Group)
	require.Equal(t, "echosieve-shadow", s.Redis.Namespace)
	require.Equal(t, "articles-shadow", s.Kafka.Topics.Shadow)
	require.Equal(t, c.Kafka.Topics.Input, s.Kafka.Topics.Input)
	require.Equal(t, "echosieve-shadow:news-1", s.IndexConfig("news-1").Namespace)

	c.Kafka.TransactionalIDPrefix = "ids"
	require.Equal(t, "ids-shadow", c.AsShadow().Kafka.TransactionalIDPrefix, "the same ids would fence the service")

	c.Shadow = ShadowConfig{Group: "trial.shadow", Namespace: "{trial}shadow", Topic: "trial_shadow"}
	require.NoError(t, c.Validate())
	s = c.AsShadow()
	require.Equal(t, []string{"trial.shadow", "{trial}shadow", "trial_shadow"},
		[]string{s.Kafka.Group, s.Redis.Namespace, s.Kafka.Topics.Shadow})
}

// Whatever a shadow and a service are called, and whichever files they read, they share neither group nor
// keys nor an output topic.
func TestShadowSharesNoNames(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"shadow.group":           func(c *Config) { c.Shadow.Group = c.Kafka.Group },
		"shadow.namespace":       func(c *Config) { c.Shadow.Namespace = c.Redis.Namespace },
		"shadow.topic":           func(c *Config) { c.Shadow.Topic = c.Kafka.Topics.Duplicate },
		"kafka.group":            func(c *Config) { c.Kafka.Group = "echosieve-shadow" },
		"redis.namespace":        func(c *Config) { c.Redis.Namespace = "echosieve-shadow" },
		"kafka.topics.unique":    func(c *Config) { c.Kafka.Topics.Unique = "articles-shadow" },
		"kafka.topics.duplicate": func(c *Config) { c.Kafka.Topics.Duplicate = "articles-shadow" },
		"kafka.topics.possible":  func(c *Config) { c.Kafka.Topics.Possible = "articles-shadow" },
		"kafka.topics.dead":      func(c *Config) { c.Kafka.Topics.Dead = "articles-shadow" },
		"shadow.topic must differ from kafka.topics.input": func(c *Config) {
			c.Kafka.Topics.Input, c.Shadow.Topic = "other-shadow", "other-shadow"
		},
	} {
		c := Default()
		change(&c)
		require.ErrorContains(t, c.Validate(), name)
	}
	c := Default()
	c.Kafka.Topics.Input = "other-shadow" // nobody writes into it
	require.NoError(t, c.Validate())
}

// loadFlags loads the configuration from flags alone.
func loadFlags(t *testing.T, args ...string) (Config, error) {
	t.Helper()
	t.Setenv(envFile, "")
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		return Config{}, err
	}
	return Load(flags)
}

// Every number states its range, and no absurd value passes: negative, zero where zero has no meaning, the
// smallest and the largest of the type.
func TestNoAbsurdNumberPasses(t *testing.T) {
	absurd := map[string][]string{
		"int":      {fmt.Sprint(math.MaxInt64), fmt.Sprint(math.MinInt64), "-2"},
		"size":     {fmt.Sprint(int64(math.MaxInt64 / 2)), "0", "1", "1000"},
		"duration": {"2562047h", "-1ns", "1ns", "1us"},
		"float":    {"-0.001", "1.001", "1e300"},
	}
	for _, k := range Schema().Keys() {
		if !k.IsNumber() {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			require.NotEmpty(t, k.Range, "a number without a range can be absurd")
			values := absurd[k.Type()]
			if !strings.HasPrefix(k.Range, "0") && !strings.HasPrefix(k.Range, "-1..") {
				values = append(values, "0")
			}
			for _, value := range values {
				_, err := loadFlags(t, "--"+k.Name+"="+value)
				require.ErrorContains(t, err, k.Name, value)
				require.Equal(t, 1, strings.Count(err.Error(), k.Name+" "), "one mistake has one message: %s", err)
			}
		})
	}
}

// Each of these values would make the service useless, so loading the configuration fails.
func TestSettingsWithoutSenseAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--kafka.max_message_bytes=1024"}, // every article would be a dead letter
		{"--kafka.max_message_bytes=2632"},
		{"--redis.cluster", "--redis.namespace={news}"},
		{"--redis.cluster", "--redis.namespace=a{b}c"},
		{"--redis.wait_replicas=1", "--redis.wait_timeout=1ns"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			_, err := loadFlags(t, args...)
			require.Error(t, err)
		})
	}
}
