package config

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"echosieve/app/config/schema"
	"echosieve/redisindex/keyspace"
	"echosieve/test/redisrig"
	"echosieve/test/redisrig/indexrig"
)

// Users rely on the names of settings. Each has a help, a variable of its own and a type that Load knows. A setting
// whose name speaks of a secret is not printed.
func TestSecretsAreNotPrinted(t *testing.T) {
	var names []string
	variables := map[string]bool{}
	for _, k := range Schema().Keys() {
		names = append(names, k.Name)
		require.NotEmpty(t, k.Help, k.Name)
		require.False(t, variables[k.Env], "%s: a second setting has its variable", k.Name)
		variables[k.Env] = true
		require.True(t, k.Type() != "string" || reflect.TypeOf(k.Default).Kind() == reflect.String, "%s has a type that "+
			"Load does not know", k.Name)
		require.True(t, !k.Secret || k.Type() == "string", k.Name)
		if regexp.MustCompile(`password|secret|token`).MatchString(k.Name) {
			named := strings.HasSuffix(k.Name, "_file") || strings.HasSuffix(k.Name, "_url") // where the secret is
			require.True(t, k.Secret || named, "%s would be printed", k.Name)
		}
	}
	require.Subset(t, names, []string{
		"kafka.brokers", "kafka.group", "kafka.topics.input", "kafka.topics.unique", "kafka.topics.duplicate",
		"kafka.topics.dead", "kafka.create_topics", "redis.addrs", "redis.namespace", "window", "http.listen", "recipe",
	})
}

func TestNewLogger(t *testing.T) {
	for format, want := range map[string]string{
		LogJSON: `"level":"WARN","msg":"written","n":1}`, LogText: "level=WARN msg=written n=1"} {
		var b bytes.Buffer
		log, _ := LogConfig{Level: "warn", Format: format}.NewLogger(&b)
		log.Info("not written")
		log.Warn("written", slog.Int("n", 1))
		require.Contains(t, b.String(), want)
		require.NotContains(t, b.String(), "not written")
	}
}

func TestAsShadow(t *testing.T) {
	c := Default()
	require.False(t, c.IsShadow())
	s := c.AsShadow()
	require.True(t, s.IsShadow())
	require.Equal(t, []string{"echosieve-shadow", "echosieve-shadow", "articles-shadow", c.Kafka.Topics.Inputs[0]},
		[]string{s.Kafka.Group, s.Redis.Namespace, s.Kafka.Topics.Shadow, s.Kafka.Topics.Inputs[0]})
	require.Equal(t, "echosieve-shadow:news-1", s.IndexConfig("news-1").Namespace)
	c.Kafka.TransactionalIDPrefix = "ids"
	require.Equal(t, "ids-shadow", c.AsShadow().Kafka.TransactionalIDPrefix, "the same ids would fence the service")
}

// Whatever a shadow and a service are called, and whichever files they read, they share neither group nor
// keys nor an output topic.
func TestShadowSharesNoNames(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"kafka.group":            func(c *Config) { c.Kafka.Group = "echosieve-shadow" },
		"redis.namespace":        func(c *Config) { c.Redis.Namespace = "echosieve-shadow" },
		"kafka.topics.unique":    func(c *Config) { c.Kafka.Topics.Unique = "articles-shadow" },
		"kafka.topics.duplicate": func(c *Config) { c.Kafka.Topics.Duplicate = "articles-shadow" },
		"kafka.topics.possible":  func(c *Config) { c.Kafka.Topics.Possible = "articles-shadow" },
		"kafka.topics.dead":      func(c *Config) { c.Kafka.Topics.Dead = "articles-shadow" },
		"kafka.topics.input": func(c *Config) {
			c.Kafka.Topics.Inputs = append(c.Kafka.Topics.Inputs, "articles-shadow")
		},
	} {
		c := Default()
		change(&c)
		require.ErrorContains(t, c.Validate(), name)
	}
	c := Default()
	c.Kafka.Topics.Inputs = []string{"other-shadow"} // nobody writes into it
	require.NoError(t, c.Validate())
}

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
		if absurd[k.Type()] == nil {
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
	} {
		_, err := loadFlags(t, args...)
		require.Error(t, err, args)
	}
}

// others are values for settings for which otherValue finds none that is valid. An empty list: the setting
// decides how servers are reached, or no second value exists.
func others(t *testing.T) map[string][]string {
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	words, stop := file("区块链平台 10 n\n"), file("区块链平台\n")
	policies := []string{"unique", "possible", "duplicate"}
	found := map[string][]string{
		"kafka.brokers": {"other:9092"}, "kafka.compression": {"zstd", "lz4"},
		"kafka.delivery": {"exactly_once", "at_least_once"}, "redis.buckets": {"sets"},
		"redis.expected_articles": {"1000001", "100000000"}, "redis.db": {"1", "3"},
		"recipe":                    {"classic-fnv", "classic-python-200", "classic-yanyiwu"},
		"detection.html":            {"text"},
		"detection.carriers":        {"portal.example", "*"},
		"detection.never":           {"a.example b.example", "c.example *"},
		"detection.user_dictionary": {words}, "detection.stop_words": {stop},
		"input.format": {"text"}, "input.tombstones": {"skip"}, "input.preset": {"connect"},
		"input.framing": {"confluent"}, "log.level": {"debug"}, "log.format": {"json"}, "http.listen": {":9000"},
		"http.open": {"/readyz"}, "policy.revises": policies, "policy.overlaps": policies, "policy.contained": policies,
		"policy.extends": policies, "policy.same_id": policies, "output.verdict": {"value"},
	}
	for name := range strings.FieldsSeq(`redis.addrs redis.master_name redis.cluster redis.username
		redis.password redis.password_file redis.sentinel_username redis.sentinel_password redis.sentinel_password_file
		redis.tls.enabled kafka.sasl.mechanism kafka.sasl.username kafka.sasl.password
		kafka.sasl.password_file kafka.sasl.token_file kafka.sasl.token_url kafka.sasl.scopes
		kafka.sasl.extensions input.schema_file input.registry.urls input.registry.username
		input.registry.password input.registry.password_file`) {
		found[name] = nil
	}
	for _, name := range []string{"cert_file", "key_file", "ca_file", "server_name", "insecure_skip_verify"} {
		found["kafka.tls."+name], found["redis.tls."+name] = nil, nil
	}
	for _, name := range []string{"cert_file", "key_file", "ca_file"} {
		found["input.registry.tls."+name] = nil
	}
	return found
}

// otherValue returns a valid text that differs from the default of a setting.
func otherValue(t *testing.T, k schema.Key) string {
	t.Helper()
	var texts []string
	switch v := k.Default.(type) {
	case bool:
		texts = []string{strconv.FormatBool(!v)}
	case int:
		texts = []string{strconv.Itoa(v + 1), strconv.Itoa(v - 1), strconv.Itoa(v + 2), strconv.Itoa(2 * v)}
	case float64:
		texts = []string{strconv.FormatFloat(v+0.01, 'g', 4, 64), strconv.FormatFloat(v-0.01, 'g', 4, 64)}
	case time.Duration:
		texts = []string{(v + v/10).String(), (v - v/10).String(), "1s"}
	default:
		texts = []string{fmt.Sprint(v) + "x", "x"}
	}
	for _, text := range texts {
		if _, err := load(k, text); err == nil {
			return text
		}
	}
	t.Errorf("%s: name a valid value in others", k.Name)
	return k.Default.(string)
}

func load(k schema.Key, text string) (Config, error) {
	cfg := Default()
	_, err := Schema().Load(&cfg, schema.Sources{Environ: []string{k.Env + "=" + text}})
	return cfg, errors.Join(err, cfg.Validate())
}

// TestEverySettingThatMovesTheKeys walks all settings. A process whose setting differs uses other keys
// exactly if the id of its index differs: so whoever compares ids sees each setting that empties or splits
// the index, also one that is added later.
func TestEverySettingThatMovesTheKeys(t *testing.T) {
	recipes := map[string]string{}
	base, baseKeys := indexOf(t, Default(), recipes)
	require.NotEmpty(t, baseKeys)
	moving := map[string]bool{}
	values := others(t)
	for _, k := range Schema().Keys() {
		texts, listed := values[k.Name]
		if !listed {
			texts = []string{otherValue(t, k)}
		}
		for _, text := range texts {
			cfg, err := load(k, text)
			require.NoError(t, err, "%s=%s: name a valid value in others", k.Name, text)
			id, keys := indexOf(t, cfg, recipes)
			if id.Same(base) {
				require.Equal(t, baseKeys, keys, "%s=%s moves keys, and the id says nothing", k.Name, text)
				require.Empty(t, id.Compare(base))
				continue
			}
			moving[k.Name] = true
			for key := range keys {
				require.NotContains(t, baseKeys, key, "%s=%s changes the id, and keys stay", k.Name, text)
			}
			require.NotEmpty(t, id.Compare(base), k.Name)
		}
	}
	for name := range strings.FieldsSeq(`window recipe redis.namespace redis.db
		redis.expected_articles redis.buckets detection.near
		detection.user_dictionary`) {
		require.True(t, moving[name], name)
	}
	require.False(t, moving["policy.same_id"] || moving["kafka.group"])
	// Of the settings under detection, the help and the page name those that keep the index.
	keep := []string{}
	for _, k := range Schema().Keys() {
		if name, ok := strings.CutPrefix(k.Name, "detection."); ok && !moving[k.Name] {
			keep = append(keep, name)
		}
	}
	require.Equal(t, []string{"probes", "anchors", "never"}, keep)
	require.Contains(t, string(helpFile), "except of probes, anchors and never")
	page, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	require.Contains(t, string(page),
		"everything under `detection` except `probes`, `anchors` and `never`")
}

// indexOf returns the id of the index of a configuration, and the keys, each behind its database, that it
// uses for one article.
func indexOf(t *testing.T, cfg Config, recipes map[string]string) (id keyspace.ID, keys map[string]bool) {
	t.Helper()
	server := miniredis.RunT(t)
	cfg.Redis.Addrs = []string{server.Addr()}
	cfg.Redis.WaitReplicas = 0
	key := fmt.Sprint(cfg.RecipeConfig())
	recipeID, known := recipes[key] // dictionaries load slowly
	if !known {
		made, err := cfg.LoadRecipe()
		require.NoError(t, err)
		recipeID = made.ID()
		recipes[key] = recipeID
	}
	x := indexrig.New(t, redisrig.Connect(t, cfg.Redis.Options), cfg.IndexConfig(recipeID))
	indexrig.ClaimOne(t, x, redisrig.Article(7, 0x0123456789abcdef))
	keys = map[string]bool{}
	for db := range 16 {
		for _, key := range server.DB(db).Keys() {
			keys[strconv.Itoa(db)+" "+key] = true
		}
	}
	return x.Keys().ID, keys
}
