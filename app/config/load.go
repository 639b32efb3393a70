package config

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"echosieve/app/config/schema"
	"echosieve/app/files"
	"echosieve/pipeline/decode"
)

const (
	envPrefix  = "ECHOSIEVE_"
	envFile    = envPrefix + "CONFIG" // names the configuration file if --config is not given
	envTesting = envPrefix + "TEST_"  // variables of this prefix are read by tests; they are no settings
	fileFlag   = "config"
)

// mostDrain bounds the time to finish and commit at a rebalance or shutdown, which is half of the session timeout: a
// supervisor must wait longer before it kills the process.
const mostDrain = 10 * time.Second

// help.yaml has what is too long for a tag: the help of keys, by their names.
//
//go:embed help.yaml
var helpFile []byte

// Schema returns the schema of Config: the list of all keys.
var Schema = sync.OnceValue(func() *schema.Schema {
	var help map[string]string
	if err := yaml.Unmarshal(helpFile, &help); err != nil {
		panic(err) // a mistake in the program
	}
	return schema.New(envPrefix, Default(), help)
})

// AddFlags adds --config and a flag for each setting. A command that uses settings of some sections only
// names these: its help then lists no others.
func AddFlags(flags *pflag.FlagSet, sections ...string) {
	flags.String(fileFlag, "", "YAML file with settings (default: the file that "+envFile+" names)")
	Schema().AddFlags(flags, sections...)
}

// Load reads the configuration from the file, the environment and the flags, and validates it. The flags must
// have been added by AddFlags and parsed. The error names all mistakes of the first source that has any. With
// the flag of AddShadowFlag the configuration is that of the shadow.
func Load(flags *pflag.FlagSet) (Config, error) {
	cfg, _, err := LoadOrigins(flags)
	if f := flags.Lookup(shadowFlag); err == nil && f != nil && f.Value.String() == "true" {
		cfg = cfg.AsShadow()
	}
	return cfg, err
}

// LoadOrigins is Load, and also returns where each value comes from.
func LoadOrigins(flags *pflag.FlagSet) (Config, schema.Origins, error) {
	file, err := flags.GetString(fileFlag)
	if err != nil {
		return Config{}, nil, err
	}
	if file = cmp.Or(file, os.Getenv(envFile)); file != "" {
		if err := files.Check(file, files.HoldsSettings); err != nil {
			return Config{}, nil, fmt.Errorf("configuration: %w", err)
		}
	}
	cfg := Default()
	origins, err := Schema().Load(&cfg, schema.Sources{
		File:    file,
		Environ: os.Environ(),
		Ignored: []string{envFile, envTesting},
		Flags:   flags,
	})
	if err != nil {
		return Config{}, nil, err
	}
	if err := cfg.Validate(); err != nil {
		return Config{}, nil, fmt.Errorf("configuration: %w", err)
	}
	cfg.Kafka.Topics.Learnt = cfg.LearntTopic()
	cfg.Kafka.DrainTimeout = min(mostDrain, cfg.Kafka.SessionTimeout/2)
	if cfg.Input.Schemas, err = cfg.Input.Avro.Open(); err != nil {
		return Config{}, nil, fmt.Errorf("configuration: %w", err)
	}
	cfg.Input.MaxBytes, cfg.Input.Memory = cfg.Kafka.MaxMessageBytes, decode.NewMemory(cfg.Kafka.MaxInFlightBytes/8)
	return cfg, origins, nil
}

// Environ returns an environment for a child process that runs with exactly this configuration: the environment of this
// process, without its settings, and all settings of c. It contains secrets.
func (c Config) Environ() []string {
	others := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, envPrefix) && !strings.HasPrefix(v, envTesting)
	})
	return append(others, Schema().Environ(&c)...)
}

const referenceHead = `# All settings of Echosieve with their defaults. Keep what you change, delete the rest.
# A setting can also come from the environment (the name at the end of the line above it) or from a flag
# (--kafka.brokers); later sources win: this file < environment < flags. Lists in the environment are
# separated by commas. Durations: 168h, 30s, 250ms. Sizes: bytes or with a unit of 1024, 64MiB. A relative name of a
# file is relative to the folder of this file; in the environment or a flag, to the working directory.
`

// Reference returns a YAML file with every setting and its default: deploy/echosieve.reference.yaml.
func Reference() []byte { return append([]byte(referenceHead), Schema().Reference()...) }
