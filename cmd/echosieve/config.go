package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"echosieve/cmd/echosieve/internal/config"
	"echosieve/consumer"
	"echosieve/internal/hostport"
	"echosieve/pipeline"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex"
)

// Config is all that can be set. The tags give names, help and through them flags, environment and reference
// file; see the package config.
type Config struct {
	Kafka     consumer.Config       `koanf:"kafka" help:"Where articles come from and verdicts go."`
	Redis     RedisConfig           `koanf:"redis" help:"The index of the articles seen."`
	Window    time.Duration         `koanf:"window" help:"How far apart the timestamps of two articles may be for one to be a copy of the other."`
	Recipe    string                `koanf:"recipe" help:"How fingerprints are made: news, or one of the classics of the field, for comparison: classic-fnv, classic-python-200, classic-python-30, classic-yanyiwu. First part of the recipe id; the second is a hash of all that changes fingerprints."`
	Detection recipe.Config         `koanf:"detection" help:"What counts as a copy. Each change here, except of probes, anchors and segmenter, makes a new recipe id and with it a new, empty index."`
	Input     pipeline.DecodeConfig `koanf:"input" help:"How an article stands in a record's value."`
	HTTP      HTTPConfig            `koanf:"http" help:"Metrics and health."`
	Log       LogConfig             `koanf:"log" help:"The log, written to standard error."`
}

// RedisConfig says where the index is and how it is laid out.
type RedisConfig struct {
	Namespace          string `koanf:"namespace" help:"First part of all keys; processes that share an index share it."`
	redisindex.Options `koanf:",squash"`
	Index              redisindex.Config `koanf:",squash"`
}

// HTTPConfig is about the listener for metrics and health.
type HTTPConfig struct {
	Listen string `koanf:"listen" help:"Address of /metrics, /healthz and /readyz; loopback unless you open it."`
	Pprof  bool   `koanf:"pprof" help:"Serve /debug/pprof/ as well: profiles show what the process works on."`
}

// LogConfig is about the log.
type LogConfig struct {
	Level  string `koanf:"level" help:"Least level that is written: debug, info, warn or error."`
	Format string `koanf:"format" help:"Form of a line: text (key=value) or json."`
}

// DefaultConfig is for servers on this machine.
func DefaultConfig() Config {
	return Config{
		Kafka: consumer.DefaultConfig(),
		Redis: RedisConfig{
			Namespace: "echosieve",
			Options:   redisindex.DefaultOptions(),
			Index:     redisindex.DefaultConfig(),
		},
		Window:    168 * time.Hour,
		Recipe:    "news",
		Detection: recipe.DefaultConfig(),
		Input:     pipeline.DefaultDecodeConfig(),
		HTTP:      HTTPConfig{Listen: "127.0.0.1:9464"},
		Log:       LogConfig{Level: "info", Format: logText},
	}
}

// recipe completes the recipe's configuration by its name.
func (c Config) recipe() recipe.Config {
	r := c.Detection
	r.Name = c.Recipe
	return r
}

// index completes the index's configuration by what it shares with the rest. The configuration must be valid.
func (c Config) index(recipeID string) redisindex.Config {
	index := c.indexSettings(recipeID, c.recipe())
	// A worker that dies is noticed after one session timeout; after two, another one has had time to take its place.
	index.UndecidedTimeout = 2 * c.Kafka.SessionTimeout
	return index
}

// indexSettings is index without the setting that follows from Kafka's.
func (c Config) indexSettings(recipeID string, recipe recipe.Config) redisindex.Config {
	index := c.Redis.Index
	index.Namespace = c.Redis.Namespace + ":" + recipeID
	index.Window = c.Window
	index.Search = recipe.Search()
	return index
}

// Validate says all that is wrong with the configuration without asking any server, each mistake with its key.
func (c Config) Validate() error {
	_, _, listen := net.SplitHostPort(c.HTTP.Listen)
	var level slog.Level
	badLevel := level.UnmarshalText([]byte(c.Log.Level))
	errs := []error{
		c.Kafka.Validate(),
		c.validateBrokers(),
		inSection("redis", c.Redis.Validate()),
		c.validateDetection(),
		inSection("input", c.Input.Validate()),
	}
	for _, f := range []struct {
		key string
		ok  bool
		why string
	}{
		{"window", c.validWindow(), fmt.Sprintf("is %s, must be between 1 minute and 100 years, for example 168h", c.Window)},
		{"redis.namespace", c.Redis.Namespace != "", "must not be empty"},
		{"http.listen", listen == nil, `must be an address such as "127.0.0.1:9464" or ":9464"`},
		{"log.level", badLevel == nil, "must be debug, info, warn or error"},
		{"log.format", c.Log.Format == logText || c.Log.Format == logJSON, "must be text or json"},
	} {
		if !f.ok {
			errs = append(errs, fmt.Errorf("%s %s", f.key, f.why))
		}
	}
	return errors.Join(errs...)
}

func (c Config) validateBrokers() error {
	var errs []error
	for _, broker := range c.Kafka.Brokers {
		if err := hostport.Check(broker, "9092"); err != nil && broker != "" { // Kafka.Validate finds empty ones
			errs = append(errs, fmt.Errorf("kafka.brokers %w", err))
		}
	}
	return errors.Join(errs...)
}

// validateDetection holds the recipe and the index, which shares settings with it, against their limits. A mistake in what
// they share is reported once.
func (c Config) validateDetection() error {
	if names := recipe.Names(); !slices.Contains(names, c.Recipe) {
		return fmt.Errorf("recipe is %q, must be one of %s", c.Recipe, strings.Join(names, ", "))
	}
	recipe := c.recipe()
	bad := recipe.Validate()
	if bad != nil {
		recipe = DefaultConfig().recipe()
	}
	index := c.indexSettings("recipe", recipe)
	if !c.validWindow() {
		index.Window = DefaultConfig().Window
	}
	return errors.Join(inSection("detection", bad), inSection("redis", index.Validate()))
}

func (c Config) validWindow() bool {
	return c.Window >= redisindex.MinWindow && c.Window <= redisindex.MaxWindow
}

// inSection puts the section before each of the joined errors, which begin with a key.
func inSection(section string, err error) error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s.%w", section, err)
	}
	var errs []error
	for _, e := range joined.Unwrap() {
		errs = append(errs, inSection(section, e))
	}
	return errors.Join(errs...)
}

const (
	envPrefix  = "ECHOSIEVE_"
	envConfig  = envPrefix + "CONFIG" // names the file when --config is not given
	envTesting = envPrefix + "TEST_"  // belongs to tests
	logText    = "text"
	logJSON    = "json"
)

// schema is the list of all keys.
var schema = sync.OnceValue(func() *config.Schema { return config.New(envPrefix, DefaultConfig()) })

// addConfigFlags adds --config and a flag for each setting.
func addConfigFlags(cmd *cobra.Command) {
	cmd.Flags().String("config", "", "YAML file with settings (default: the one named by "+envConfig+")")
	schema().AddFlags(cmd.Flags())
}

// loadConfig returns the configuration of a command with addConfigFlags, checked.
func loadConfig(cmd *cobra.Command) (Config, error) {
	cfg, _, err := loadConfigOrigins(cmd)
	return cfg, err
}

// loadConfigOrigins is loadConfig that also says where each value comes from.
func loadConfigOrigins(cmd *cobra.Command) (Config, config.Origins, error) {
	file, err := cmd.Flags().GetString("config")
	if err != nil {
		return Config{}, nil, err
	}
	if file = cmp.Or(file, os.Getenv(envConfig)); file != "" {
		if err := checkFile(file, holdsSettings); err != nil {
			return Config{}, nil, fmt.Errorf("configuration: %w", err)
		}
	}
	cfg := DefaultConfig()
	origins, err := schema().Load(&cfg, config.Sources{
		File:    file,
		Environ: os.Environ(),
		Ignored: []string{envConfig, envTesting},
		Flags:   cmd.Flags(),
	})
	if err != nil {
		return Config{}, nil, err
	}
	if err := cfg.Validate(); err != nil {
		return Config{}, nil, fmt.Errorf("configuration: %w", err)
	}
	return cfg, origins, nil
}

// newLogger returns a logger in the form that was asked for. An unknown level, which Validate refuses, is info.
func newLogger(cfg LogConfig, w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(cfg.Level))
	options := &slog.HandlerOptions{Level: level}
	if cfg.Format == logJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
