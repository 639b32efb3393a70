// Package config is the configuration of echosieve: the struct of all settings with their defaults and
// limits, and Load, which reads them. How a struct becomes flags, variables and a YAML file is the business
// of the package schema.
package config

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"echosieve/app/registry"
	"echosieve/consumer/broker"
	"echosieve/pipeline"
	"echosieve/pipeline/article"
	"echosieve/pipeline/decode"
	"echosieve/pipeline/recipe"
	"echosieve/redisindex/connection"
	"echosieve/redisindex/keyspace"
)

// Config holds all settings. Package schema makes flags, environment variables and the reference file from
// the tags of the fields.
type Config struct {
	Kafka     broker.Config         `setting:"kafka" help:"Where articles come from and verdicts go."`
	Redis     RedisConfig           `setting:"redis" help:"The index of earlier articles."`
	Window    time.Duration         `setting:"window" range:"1m..876000h"`
	Recipe    string                `setting:"recipe"`
	Detection recipe.Config         `setting:"detection"`
	Policy    article.Policy        `setting:"policy"`
	Input     InputConfig           `setting:"input" help:"How a record's value holds the article."`
	Output    pipeline.OutputConfig `setting:"output" help:"How an output states its verdict."`
	HTTP      HTTPConfig            `setting:"http" help:"Metrics and health."`
	Log       LogConfig             `setting:"log" help:"The log, written to standard error."`
}

// RedisConfig says where the index is and how it is laid out.
type RedisConfig struct {
	Namespace          string `setting:"namespace"`
	connection.Options `setting:",squash"`
	Index              keyspace.Config `setting:",squash"`
}

// InputConfig says how a record's value holds the article, and where the schemas of Avro values are.
type InputConfig struct {
	decode.Config `setting:",squash"`
	Records       pipeline.RecordConfig `setting:",squash"`
	Avro          registry.Config       `setting:",squash"`
}

// Validate returns the mistakes, each with its key first.
func (c InputConfig) Validate() error {
	return errors.Join(c.Config.Validate(), c.Records.Validate(), c.Avro.Validate(c.Format == decode.FormatAvro,
		c.Framing == decode.FramingConfluent))
}

// HTTPConfig holds the settings of the listener for metrics and health.
type HTTPConfig struct {
	Listen string   `setting:"listen" help:"Address of /metrics, /healthz and /readyz; loopback unless you open it."`
	Hosts  []string `setting:"hosts"`
	Pprof  bool     `setting:"pprof" help:"Serve /debug/pprof/ too; profiles show what the process works on."`

	Look    bool `setting:"look"`
	Console bool `setting:"console"`

	ConfigFile string   `setting:"config_file"`
	TokenFile  string   `setting:"token_file"`
	Generated  bool     `setting:"generated_login"`
	Open       []string `setting:"open" help:"Which of /metrics, /healthz and /readyz need no login."`
}

// ShowsArticles returns the setting that serves articles or what the index has of them; empty: none does.
func (c HTTPConfig) ShowsArticles() string {
	switch {
	case c.Console:
		return "http.console"
	case c.Look:
		return "http.look"
	default:
		return ""
	}
}

// openPaths are the values of http.open.
var openPaths = []string{"/metrics", "/healthz", "/readyz"}

// LogConfig holds the settings of the log.
type LogConfig struct {
	Level  string `setting:"level" help:"Least level written: debug, info, warn or error."`
	Format string `setting:"format" help:"Form of a line: text (key=value) or json."`
}

// Default returns the default of every setting. Kafka and Redis are on this machine.
func Default() Config {
	return Config{
		Kafka: broker.DefaultConfig(),
		Redis: RedisConfig{
			Namespace: "echosieve",
			Options:   connection.DefaultOptions(),
			Index:     keyspace.DefaultConfig(),
		},
		Window:    168 * time.Hour,
		Recipe:    "news",
		Detection: recipe.DefaultConfig(),
		Policy:    article.DefaultPolicy(),
		Input:     InputConfig{Config: decode.DefaultConfig(), Records: pipeline.DefaultRecordConfig()},
		Output:    pipeline.DefaultOutputConfig(),
		HTTP:      HTTPConfig{Listen: "127.0.0.1:9464", Open: slices.Clone(openPaths)},
		Log:       LogConfig{Level: "info", Format: LogText},
	}
}

// RecipeConfig returns the settings of the recipe, which are c.Detection and the name c.Recipe.
func (c Config) RecipeConfig() recipe.Config {
	r := c.Detection
	r.Name = c.Recipe
	return r
}

// IndexConfig returns the settings of the index for a recipe: c.Redis.Index and everything that other
// sections decide, such as the namespace and the window. The recipe of the configuration must be valid.
func (c Config) IndexConfig(recipeID string) keyspace.Config {
	index := c.Redis.Index
	index.Namespace = c.Redis.Namespace + ":" + recipeID
	index.Window = c.Window
	index.Policy = c.Policy
	index.Search = c.RecipeConfig().Search()
	// When a process dies, Kafka notices it after one session timeout and gives its partitions to another
	// process. After a second session timeout that process has had time to decide the articles that the dead
	// one left undecided.
	index.UndecidedTimeout = 2 * c.Kafka.SessionTimeout
	return index
}

// LearntTopic returns the name of the topic in which processes share which sentences publishers repeat; empty: nothing
// is learnt.
func (c Config) LearntTopic() string {
	if !c.Detection.Learn || c.Recipe != recipe.News {
		return ""
	}
	return c.Kafka.Topics.First() + "-learnt"
}

// LoadRecipe loads the recipe with its dictionaries. An error says which setting to correct.
func (c Config) LoadRecipe() (*recipe.Recipe, error) {
	recipe, err := recipe.Load(c.RecipeConfig())
	if err != nil {
		return nil, fmt.Errorf(
			"%w; correct detection.user_dictionary or detection.stop_words", err)
	}
	return recipe, nil
}

// Validate returns the mistakes of the configuration, joined; each begins with the key of its setting. Numbers out of
// range come alone: what else is wrong may follow from them. It connects to no server and reads no file.
func (c Config) Validate() error {
	if err := Schema().OutOfRange(c); err != nil {
		return err
	}
	_, _, listen := net.SplitHostPort(c.HTTP.Listen)
	var level slog.Level
	badLevel := level.UnmarshalText([]byte(c.Log.Level))
	errs := []error{
		c.Kafka.Validate(),
		c.validateHTTP(),
		inSection("redis", c.Redis.Validate()),
		c.validateDetection(),
		inSection("policy", c.Policy.Validate()),
		inSection("input", c.Input.Validate()),
		inSection("output", c.Output.Validate(c.Input.Config)),
		c.validateShadow(),
	}
	for _, f := range []struct {
		key string
		ok  bool
		why string
	}{
		{"redis.namespace", c.Redis.Namespace != "", "must not be empty"},
		{"redis.namespace", !c.Redis.Cluster || !strings.ContainsAny(c.Redis.Namespace, "{}"),
			"has braces, which would put every key on one server of the cluster: leave them out"},
		{"http.listen", listen == nil, `must be an address such as "127.0.0.1:9464" or ":9464"`},
		{"log.level", badLevel == nil, "must be debug, info, warn or error"},
		{"log.format", c.Log.Format == LogText || c.Log.Format == LogJSON, "must be text or json"},
	} {
		if !f.ok {
			errs = append(errs, fmt.Errorf("%s %s", f.key, f.why))
		}
	}
	return errors.Join(errs...)
}

// hostName matches a name of http.hosts: a host, or the end of one from a dot on.
var hostName = regexp.MustCompile(`^\.?[\w-]+(\.[\w-]+)*$`)

func (c Config) validateHTTP() error {
	var errs []error
	for _, name := range c.HTTP.Hosts {
		if !hostName.MatchString(name) {
			errs = append(errs, fmt.Errorf(
				"http.hosts has %q, must be a name without scheme and port, such as echosieve.internal", name))
		}
	}
	for _, path := range c.HTTP.Open {
		if !slices.Contains(openPaths, path) {
			errs = append(errs, fmt.Errorf("http.open has %q, must name some of %s", path,
				strings.Join(openPaths, ", ")))
		}
	}
	return errors.Join(errs...)
}

// validateDetection validates the recipe, and then the index, which uses settings of the recipe.
func (c Config) validateDetection() error {
	if names := recipe.Names(); !slices.Contains(names, c.Recipe) {
		return fmt.Errorf("recipe is %q, must be one of %s", c.Recipe, strings.Join(names, ", "))
	}
	if err := c.RecipeConfig().Validate(); err != nil {
		return inSection("detection", err)
	}
	return inSection("redis", c.IndexConfig("recipe").Validate())
}

// inSection puts "section." before each of the joined errors. Each of them begins with a key of that section.
func inSection(section string, err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var errs []error
		for _, e := range joined.Unwrap() {
			errs = append(errs, inSection(section, e))
		}
		return errors.Join(errs...)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s.%w", section, err)
}

// shadowSuffix ends the names of every shadow, and no such name of a service. A shadow is a second service that reads
// the same input with other settings and publishes its verdicts to a topic of its own. It never shares group, keys or
// output topic with a service, even if the two read different files and neither knows the names of the other.
const shadowSuffix = "-shadow"

const shadowFlag = "shadow"

// AddShadowFlag adds --shadow to a command. Load heeds it.
func AddShadowFlag(flags *pflag.FlagSet, usage string) { flags.Bool(shadowFlag, false, usage) }

// AsShadow returns the configuration with which the shadow of this service runs: with group, transactional
// ids, namespace and topic of its own.
func (c Config) AsShadow() Config {
	if c.Kafka.TransactionalIDPrefix != "" { // otherwise it is the group
		c.Kafka.TransactionalIDPrefix += shadowSuffix
	}
	c.Kafka.Group, c.Redis.Namespace = c.Kafka.Group+shadowSuffix, c.Redis.Namespace+shadowSuffix
	c.Kafka.Topics.Shadow = c.Kafka.Topics.First() + shadowSuffix
	return c
}

// IsShadow says whether AsShadow has made this configuration.
func (c Config) IsShadow() bool { return c.Kafka.Topics.Shadow != "" }

// validateShadow checks that the service has no name of a shadow, and does not read the topic of its own one. c must
// not come from AsShadow.
func (c Config) validateShadow() error {
	topics := c.Kafka.Topics
	var errs []error
	for _, f := range []struct{ key, name string }{
		{"kafka.group", c.Kafka.Group},
		{"redis.namespace", c.Redis.Namespace},
		{"kafka.topics.unique", topics.Unique},
		{"kafka.topics.duplicate", topics.Duplicate},
		{"kafka.topics.possible", topics.Possible},
		{"kafka.topics.dead", topics.Dead},
	} {
		if strings.HasSuffix(f.name, shadowSuffix) {
			errs = append(errs, fmt.Errorf(
				"%s is %q, but names that end in %s are for shadows: choose another name, or start the shadow "+
					"with --shadow", f.key, f.name, shadowSuffix))
		}
	}
	if slices.Contains(topics.Inputs, c.AsShadow().Kafka.Topics.Shadow) {
		errs = append(errs, errors.New("kafka.topics.input has the topic to which a shadow publishes"))
	}
	return errors.Join(errs...)
}

// The values of log.format.
const (
	LogText = "text"
	LogJSON = "json"
)

// NewLogger returns a logger that writes to w, and its level, which may be set while the logger is used. The
// configuration must be valid.
func (c LogConfig) NewLogger(w io.Writer) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(c.SlogLevel())
	options := &slog.HandlerOptions{Level: level}
	if c.Format == LogJSON {
		return slog.New(slog.NewJSONHandler(w, options)), level
	}
	return slog.New(slog.NewTextHandler(w, options)), level
}

// SlogLevel returns the least level that is written. The configuration must be valid.
func (c LogConfig) SlogLevel() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // Validate has refused unknown levels
	return level
}
