package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

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
