package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// ShadowConfig holds the names that belong to a shadow alone. A shadow is a second service that reads the
// same input with other settings and publishes its verdicts to a topic of its own.
type ShadowConfig struct {
	Group     string `setting:"group" hidden:"true"`
	Namespace string `setting:"namespace" hidden:"true"`
	Topic     string `setting:"topic" hidden:"true"`
}

// shadowSuffix ends the names of every shadow, and no such name of a service. A shadow therefore never shares
// group, keys or output topic with a service, even if the two read different files and neither knows the
// names of the other.
const shadowSuffix = "shadow"

const shadowFlag = "shadow"

// AddShadowFlag adds --shadow to a command. Load heeds it.
func AddShadowFlag(flags *pflag.FlagSet, usage string) { flags.Bool(shadowFlag, false, usage) }

// AsShadow returns the configuration with which the shadow of this service runs: with group, transactional
// ids, namespace and topic of its own.
func (c Config) AsShadow() Config {
	s := c.shadowNames()
	if c.Kafka.TransactionalIDPrefix != "" { // otherwise it is the group
		c.Kafka.TransactionalIDPrefix += "-" + shadowSuffix
	}
	c.Kafka.Group, c.Redis.Namespace, c.Kafka.Topics.Shadow = s.Group, s.Namespace, s.Topic
	return c
}

// IsShadow says whether AsShadow has made this configuration.
func (c Config) IsShadow() bool { return c.Kafka.Topics.Shadow != "" }

// shadowNames returns the names of the shadow, with the defaults in place of empty ones.
func (c Config) shadowNames() ShadowConfig {
	s := c.Shadow
	s.Group = cmp.Or(s.Group, c.Kafka.Group+"-"+shadowSuffix)
	s.Namespace = cmp.Or(s.Namespace, c.Redis.Namespace+"-"+shadowSuffix)
	s.Topic = cmp.Or(s.Topic, c.Kafka.Topics.First()+"-"+shadowSuffix)
	return s
}

// validateShadow checks that every name of the shadow ends in shadowSuffix, and that the service has no such
// name. c must not come from AsShadow.
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
	s := c.shadowNames()
	for _, f := range []struct{ key, name string }{
		{"shadow.group", s.Group},
		{"shadow.namespace", s.Namespace},
		{"shadow.topic", s.Topic},
	} {
		if !strings.HasSuffix(f.name, shadowSuffix) {
			errs = append(errs, fmt.Errorf("%s is %q, but must end in %s, so that no service has the same name",
				f.key, f.name, shadowSuffix))
		}
	}
	if slices.Contains(topics.Inputs, s.Topic) {
		errs = append(errs, errors.New("shadow.topic must differ from kafka.topics.input"))
	}
	return errors.Join(errs...)
}
